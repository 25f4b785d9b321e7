"""`loracheck report`: show a saved report again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from loracheck.cli.options import INPUT

if TYPE_CHECKING:
    from pathlib import Path


@click.command(epilog="\b\nExample:\n  loracheck report out.json")
@click.argument("file", type=INPUT)
def report(file: Path) -> None:
    """Show a report that `loracheck check --json` wrote."""
    from loracheck.report.json import read_report
    from loracheck.report.terminal import show

    show(read_report(file))
