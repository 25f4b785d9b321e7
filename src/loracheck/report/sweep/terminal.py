"""A sweep for a terminal: what one wants to know, then the table."""

from __future__ import annotations

from io import StringIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from loracheck.report.console import COLOURS, plain_console
from loracheck.report.content import to_act_on
from loracheck.report.sweep.table import FIGURES, columns, headline, lines, troubles
from loracheck.sweeping.results import Sweep
from loracheck.text import visible


def show_sweep(sweep: Sweep, console: Console | None = None, *, color: bool | None = None) -> None:
    console = console or plain_console(color)
    console.print(Text(headline(sweep), COLOURS[sweep.verdict]))
    for sentence in sweep.findings:
        console.print(Text(visible(sentence)))
    console.print()
    console.print(_table(sweep))
    # What a failing cell failed by stands in its line.
    told = [trouble for trouble in troubles(sweep) if trouble.verdict in ("error", "skip")]
    if told:
        console.print()
    for trouble in told:
        word = Text(trouble.verdict.upper(), COLOURS[trouble.verdict])
        console.print(word.append(visible(f"  {trouble.names}: {trouble.reason}"), "not bold default"))
    reports = [cell.report for cell in sweep.cells if cell.report]
    for warning in to_act_on(sweep.warnings, reports):
        console.print(Text(f"Warning: {visible(warning)}", "yellow"))


def as_text(sweep: Sweep, *, color: bool = False) -> str:
    """What `show_sweep` prints on 80 columns."""
    out = StringIO()
    show_sweep(sweep, plain_console(color, file=out, width=80))
    return out.getvalue()


def _table(sweep: Sweep) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for axis in columns(sweep):
        table.add_column(axis, justify="right" if axis == "scale" else "left", overflow="fold")
    for name in FIGURES:
        # The long ones break, the names of cells should not have to.
        table.add_column(name, justify="left" if name == "verdict" else "right", max_width=9)
    for line in lines(sweep):
        verdict = Text(line.figures[0], COLOURS[line.cell.verdict])
        table.add_row(*map(visible, line.places), verdict, *line.figures[1:])
    return table
