"""`loracheck score`: the verdict for recorded outputs, no model needed."""

from __future__ import annotations

from typing import TextIO

import click

_LONGEST_LINE = 64 * 2**20


@click.command(epilog="\b\nExamples:\n  loracheck score recorded.jsonl\n  cat recorded.jsonl | loracheck score -")
@click.argument("file", type=click.File("r", encoding="utf-8-sig", errors="replace"))
@click.pass_context
def score(ctx: click.Context, file: TextIO) -> None:
    """Judge recorded answers, one JSON object a line, and print one JSON result a line.

    A line holds cases, base_outputs and ft_outputs (lists of equal length), and may hold null_stats, seed,
    allowed_tools and the assert_* limits. A bad line is reported with its number on standard error; the good ones are
    still scored, and the exit code is 2.
    """
    import json

    from loracheck.errors import InputError
    from loracheck.report.text import visible
    from loracheck.scoring import score_recorded

    bad = 0
    # A line without an end, as /dev/zero has, would fill the memory.
    for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE), ""), 1):
        if len(line) == _LONGEST_LINE:
            raise InputError(f"{file.name}:{number}: a line of more than {_LONGEST_LINE:,} characters")
        if not line.strip():
            continue
        try:
            result = score_recorded(json.loads(line))
        except (ValueError, RecursionError) as error:
            bad += 1
            click.echo(f"{file.name}:{number}: {visible(str(error))}", err=True)
            continue
        click.echo(json.dumps(result))
    if bad:
        click.echo(f"{bad} bad line{'s' if bad > 1 else ''}", err=True)
        ctx.exit(2)
