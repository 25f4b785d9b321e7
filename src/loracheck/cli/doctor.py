"""`loracheck doctor`: versions, devices, what is missing and how to get it."""

from __future__ import annotations

import click

NO_ENGINE = 3


@click.command(epilog="\b\nExample:\n  loracheck doctor")
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Show what this installation has: versions, CPU, Metal and CUDA devices, model cache.

    Exit code 3 when llama.cpp cannot be loaded, so that no check could run.
    """
    from loracheck.doctor import examine

    findings = list(examine())
    width = max(len(finding.what) for finding in findings)
    for finding in findings:
        click.echo(f"{finding.what:<{width}}  {finding.found}")
        if finding.fix:
            click.echo(f"{'':<{width}}  fix: {finding.fix}")
    if any(finding.fatal for finding in findings):
        ctx.exit(NO_ENGINE)
