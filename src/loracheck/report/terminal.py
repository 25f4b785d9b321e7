"""The report for a terminal, 80 columns wide."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from io import StringIO
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from loracheck.probes.probe import Row
from loracheck.report.content import Content, content_of, together
from loracheck.results import CaseReport, ProbeReport, Report, Verdict
from loracheck.text import visible

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


def show(
    report: Report,
    console: Console | None = None,
    *,
    examples: int = 10,
    color: bool | None = None,
    verbose: bool = False,
) -> None:
    """Print the report, with at most `examples` of the cases that changed; the JSON report has them all."""
    console = console or plain_console(color)
    probes = report.judged
    if report.provenance.candidate:
        _print_notes((" against ".join(report.provenance.compared),), console)
    for probe in probes:
        content = content_of(probe)
        _print_verdict(content.verdict, probe.name, probe.score, content.grade, console)
        if len(probes) == 1:
            _print_notes((report.judged_again_note,), console)
        _print_probe(probe, content, console, examples, verbose=verbose)
    for warning in report.warnings:
        console.print(Text(f"Warning: {visible(warning)}", "yellow"))
    if len(probes) > 1:
        _print_verdict(report.verdict, "all together", report.score, None, console)
        _print_notes((report.judged_again_note, together(report)), console)


def as_text(report: Report, *, color: bool = False, verbose: bool = False) -> str:
    """What `show` prints on 80 columns."""
    out = StringIO()
    show(report, plain_console(color, file=out, width=80), verbose=verbose)
    return out.getvalue()


def plain_table(names: str, numbers: Iterable[str], gap: int = 2) -> Table:
    """A table without lines: a column of names, and columns of numbers set to the right."""
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0))
    table.add_column(names)
    for column in numbers:
        table.add_column(column, justify="right")
    return table


def _print_verdict(verdict: Verdict, name: str, score: float | None, grade: str | None, console: Console) -> None:
    beside = [name, *([] if score is None else [f"score {score:.2f}"]), *([grade] if grade else [])]
    line = Text(verdict.upper(), COLOURS[verdict])
    console.print(line.append("".join(f"  {visible(each)}" for each in beside), "not bold default"))


def _print_notes(notes: Iterable[str | None], console: Console) -> None:
    for note in notes:
        if note:
            console.print(Text(visible(note)))


def _print_probe(probe: ProbeReport, content: Content, console: Console, examples: int, *, verbose: bool) -> None:
    for line in content.why:
        console.print(Text(visible(line)))
    if content.caution:
        console.print(Text(visible(content.caution), "yellow"))
    console.print()
    if content.rows:
        console.print(_rows_table(content.rows, content.subject))
        console.print()
    paragraphs = content.paragraphs + (content.details if verbose else [])
    for paragraph in paragraphs:
        console.print(Text(visible(paragraph)))
    if paragraphs:
        console.print()
    if content.transitions and content.transitions.any_changed:
        console.print(_matrix(content))
        console.print()
    if probe.cases:
        _print_changed(probe, console, examples)


def _rows_table(rows: Iterable[Row], subject: str) -> Table:
    # What it says about limits only just fits the line.
    table = plain_table("", ("base", subject, "change"), gap=1)
    table.add_column("limit")
    for row in rows:
        limit = Text(visible(row.limit))
        if row.kept is not None:
            limit = Text("kept   ", "green") + limit if row.kept else Text("MISSED ", "bold red") + limit
        table.add_row(*map(visible, (row.name, row.base, row.adapter, row.change)), limit)
    return table


def _matrix(content: Content) -> Table:
    transitions = content.transitions
    assert transitions is not None
    table = plain_table(content.matrix_corner, transitions.columns)
    for before, counts in transitions.rows:
        table.add_row(before, *(str(many) if many else "·" for many in counts))
    return table


def _print_changed(probe: ProbeReport, console: Console, examples: int) -> None:
    changed = [case for case in probe.cases if case.base.outcome != case.ft.outcome]
    if not changed:
        console.print(f"No case changed its outcome ({len(probe.cases)} cases).")
        return
    console.print(f"{len(changed)} of {len(probe.cases)} cases changed their outcome:")
    for case in changed[:examples]:
        _print_case(case, probe.comparison.subject, console)
    if len(changed) > examples:
        console.print(f"  … and {len(changed) - examples} more; --json FILE keeps every answer")


def _print_case(case: CaseReport, subject: str, console: Console) -> None:
    # An answer may be a megabyte; a line holds no more letters than it has columns, those where the answers part.
    width, parts_at = console.width, case.differs_at or 0
    start = parts_at - 20 if parts_at > width // 2 else 0
    lines = [Text(f"  {visible(f'{case.id}: {case.prompt}'[:width])}")]
    for label, answer in (("base", case.base), (subject, case.ft)):
        line = Text(f"    {label:<{len(subject)}} ")
        line.append(f"{answer.outcome:<13} ", "green" if case.is_right(answer) else "red")
        text = answer.text[start : start + width] if start else answer.text.strip()[:width]
        lines.append(line.append(f"{'…' if start else ''}{visible(text)}" or "(empty)"))
    for line in lines:
        console.print(line, no_wrap=True, overflow="ellipsis")
