"""`loracheck doctor` and `cache`: what this machine has."""

from __future__ import annotations

import click

from loracheck.cli.options import Commands
from loracheck.text import byte_size, counted, visible

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
        click.echo(f"{finding.what:<{width}}  {visible(finding.found)}")
        if finding.fix:
            click.echo(f"{'':<{width}}  fix: {finding.fix}")
    if any(finding.fatal for finding in findings):
        ctx.exit(NO_ENGINE)


@click.group(cls=Commands, epilog="\b\nExamples:\n  loracheck cache info\n  loracheck cache clear")
def cache() -> None:
    """Show or empty what is kept between runs: answers, converted adapters, quantized models, the demo's models.

    It is in the user's cache folder; LORACHECK_CACHE moves it. Losing it costs time, never a result.
    """


@cache.command(epilog="\b\nExample:\n  loracheck cache info")
def info() -> None:
    """Show where the cache is and what it holds."""
    from loracheck.cache import look

    cached = look()
    click.echo(f"folder   {cached.folder}")
    click.echo(f"answers  {counted(cached.answers, 'answer')}, {byte_size(cached.store_bytes)}")
    if cached.converted:
        adapters, size = counted(len(cached.converted), "converted adapter"), sum(cached.converted.values())
        click.echo(f"adapters {adapters}, {byte_size(size)}")
    if cached.quantized:
        quantized, size = counted(len(cached.quantized), "quantized model"), sum(cached.quantized.values())
        click.echo(f"quants   {quantized}, {byte_size(size)}")
    for name, size in cached.unquantized.items():
        click.echo(f"part     {name}, {byte_size(size)}; being quantized, or left by a process that was killed")
    for name, size in cached.models.items():
        click.echo(f"model    {name}, {byte_size(size)}")
    for name, size in cached.unfinished.items():
        click.echo(f"part     {name}, {byte_size(size)}; the next fetch goes on from there")
    if not cached.models:
        click.echo("models   none fetched")
    for warning in cached.warnings:
        click.echo(f"Warning: {warning}", err=True)


@cache.command(epilog="\b\nExamples:\n  loracheck cache clear\n  loracheck cache clear --models")
@click.option("--models", is_flag=True, help="Remove the fetched models as well.")
def clear(models: bool) -> None:
    """Remove the stored answers, the converted adapters and the quantized models."""
    from loracheck.cache import remove

    removed = remove(models=models)
    for path in removed:
        click.echo(f"removed {path}")
    if not removed:
        click.echo("nothing to remove")
