"""The report for a terminal, 80 columns wide."""

from __future__ import annotations

import os
import sys
from io import StringIO
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from loracheck.report.judged import is_right, judged_probes
from loracheck.report.signals import signals, transitions
from loracheck.report.statements import statements
from loracheck.report.text import visible

if TYPE_CHECKING:
    from loracheck.report.model import CaseReport, ProbeReport, Report, Verdict

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


def show(report: Report, console: Console | None = None, *, examples: int = 10, color: bool | None = None) -> None:
    """Print the report, with at most `examples` of the cases that changed; the JSON report has them all."""
    console = console or plain_console(color)
    shown = judged_probes(report)
    for probe in shown:
        _show_probe(probe, console, examples)
    for warning in report.warnings:
        console.print(Text(f"Warning: {visible(warning)}", "yellow"))
    if len(shown) > 1:
        line = Text(report.verdict.upper(), COLOURS[report.verdict])
        console.print(line.append(f"  all together{_score(report.score)}", "not bold default"))


def as_text(report: Report, *, color: bool = False) -> str:
    """What `show` prints on 80 columns."""
    out = StringIO()
    show(report, plain_console(color, file=out, width=80))
    return out.getvalue()


def _show_probe(probe: ProbeReport, console: Console, examples: int) -> None:
    head = Text(probe.verdict.upper(), COLOURS[probe.verdict])
    head.append(f"  {visible(probe.name)}{_score(probe.score)}", "not bold default")
    console.print(head)
    console.print(Text(visible(probe.message)))
    console.print()
    if probe.kind == "tool_use_fidelity":
        console.print(_signals(probe))
        console.print()
        said = list(statements(probe))
        for line in said:
            console.print(Text(line))
        if said:
            console.print()
        if changed := _transitions(probe):
            console.print(changed)
            console.print()
    if probe.cases:
        _show_changed(probe, console, examples)


def _score(score: float | None) -> str:
    return "" if score is None else f"  score {score:.2f}"


def _signals(probe: ProbeReport) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    for column in ("base", "ft", "change"):
        table.add_column(column, justify="right")
    table.add_column("limit")
    for signal in signals(probe):
        limit = Text(signal.limit)
        if signal.kept is not None:
            limit = Text("kept   ", "green") + limit if signal.kept else Text("MISSED ", "bold red") + limit
        table.add_row(signal.name, signal.base, signal.ft, signal.change, limit)
    return table


def _transitions(probe: ProbeReport) -> Table | None:
    found = transitions(probe)
    if found is None:
        return None
    columns, rows = found
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("base ↓  ft →")
    for column in columns:
        table.add_column(column, justify="right")
    for before, counts in rows:
        table.add_row(before, *(str(many) if many else "·" for many in counts))
    return table


def _show_changed(probe: ProbeReport, console: Console, examples: int) -> None:
    changed = [case for case in probe.cases if case.base.outcome != case.ft.outcome]
    if not changed:
        console.print(f"No case changed its outcome ({len(probe.cases)} cases).")
        return
    console.print(f"{len(changed)} of {len(probe.cases)} cases changed their outcome:")
    for case in changed[:examples]:
        _show_case(case, console)
    if len(changed) > examples:
        console.print(f"  … and {len(changed) - examples} more; --json FILE keeps every answer")


def _show_case(case: CaseReport, console: Console) -> None:
    # An answer may be a megabyte; a line holds no more letters than it has columns, those where the answers part.
    width, parts_at = console.width, case.differs_at or 0
    start = parts_at - 20 if parts_at > width // 2 else 0
    lines = [Text(f"  {visible(f'{case.id}: {case.prompt}'[:width])}")]
    for label, answer in (("base", case.base), ("ft", case.ft)):
        line = Text(f"    {label:<4} ")
        line.append(f"{answer.outcome:<13} ", "green" if is_right(case, answer) else "red")
        text = answer.text[start : start + width] if start else answer.text.strip()[:width]
        lines.append(line.append(f"{'…' if start else ''}{visible(text)}" or "(empty)"))
    for line in lines:
        console.print(line, no_wrap=True, overflow="ellipsis")
