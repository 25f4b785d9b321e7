"""What every screen of ours is printed with."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.table import Table

from loracheck.results import Verdict

COLOURS: dict[Verdict, str] = {
    "pass": "bold green",
    "fail": "bold red",
    "warn": "bold yellow",
    "skip": "bold",
    "error": "bold red",
}


class _Console(Console):
    def on_broken_pipe(self) -> None:
        # The reader, such as `head`, has seen enough; the verdict still becomes the exit code.
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def plain_console(color: bool | None = None, **settings: Any) -> Console:
    """A console that prints what it is given; without a `color`, coloured on a terminal where NO_COLOR is not set."""
    if color is None and os.environ.get("NO_COLOR"):
        color = False
    if color is not None:
        settings |= {"force_terminal": color, "no_color": not color, "color_system": "standard" if color else None}
    return _Console(highlight=False, emoji=False, markup=False, **settings)


def plain_table(names: str, numbers: Iterable[str], gap: int = 2) -> Table:
    """A table without lines: a column of names, and columns of numbers set to the right."""
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0))
    table.add_column(names)
    for column in numbers:
        table.add_column(column, justify="right")
    return table
