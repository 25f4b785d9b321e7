"""The report for a terminal: on a short screen, or with --verbose all of it."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from loracheck.probes.probe import Row
from loracheck.report.brief import print_brief
from loracheck.report.console import COLOURS, plain_console, plain_table
from loracheck.report.content import Content, content_of, together
from loracheck.report.next_steps import Origin
from loracheck.report.outcomes import OUTCOME_NAMES, outcome_name
from loracheck.results import CaseReport, ProbeReport, Report, Verdict
from loracheck.text import visible

EXAMPLES = 10
"""Of the cases that changed; the page and the JSON have them all."""
NOWHERE = Origin()


def show(
    report: Report,
    console: Console | None = None,
    *,
    color: bool | None = None,
    verbose: bool = False,
    origin: Origin = NOWHERE,
) -> None:
    """Print the report on a short screen, or with `verbose` all of it; `origin` is where to see more of it."""
    console = console or plain_console(color)
    if verbose:
        _print_whole(report, console)
    else:
        print_brief(report, console, origin)


def as_text(report: Report, *, color: bool = False, verbose: bool = False, origin: Origin = NOWHERE) -> str:
    """What `show` prints on 80 columns."""
    out = StringIO()
    show(report, plain_console(color, file=out, width=80), verbose=verbose, origin=origin)
    return out.getvalue()


def _print_whole(report: Report, console: Console) -> None:
    probes = report.judged
    if report.provenance.candidate:
        _print_notes((" against ".join(report.provenance.compared),), console)
    for probe in probes:
        content = content_of(probe)
        _print_verdict(content.verdict, probe.name, probe.score, content.grade, console)
        if len(probes) == 1:
            _print_notes((report.judged_again_note,), console)
        _print_probe(probe, content, console)
    for warning in report.warnings:
        console.print(Text(f"Warning: {visible(warning)}", "yellow"))
    if len(probes) > 1:
        _print_verdict(report.verdict, "all together", report.score, None, console)
        _print_notes((report.judged_again_note, together(report)), console)


def _print_verdict(verdict: Verdict, name: str, score: float | None, grade: str | None, console: Console) -> None:
    beside = [name, *([] if score is None else [f"score {score:.2f}"]), *([grade] if grade else [])]
    line = Text(verdict.upper(), COLOURS[verdict])
    console.print(line.append("".join(f"  {visible(each)}" for each in beside), "not bold default"))


def _print_notes(notes: Iterable[str | None], console: Console) -> None:
    for note in notes:
        if note:
            console.print(Text(visible(note)))


def _print_probe(probe: ProbeReport, content: Content, console: Console) -> None:
    for line in content.why:
        console.print(Text(visible(line)))
    if content.caution:
        console.print(Text(visible(content.caution), "yellow"))
    console.print()
    if content.rows:
        console.print(_rows_table(content.rows, content.subject))
        console.print()
    paragraphs = content.paragraphs + content.details
    for paragraph in paragraphs:
        console.print(Text(visible(paragraph)))
    if paragraphs:
        console.print()
    if content.transitions and content.transitions.any_changed:
        console.print(_matrix(content))
        console.print()
    if probe.cases:
        _print_changed(probe, console)


def _rows_table(rows: Iterable[Row], subject: str) -> Table:
    # What it says about limits only just fits the line.
    table = plain_table("", ("base", subject, "change"), gap=1)
    table.add_column("limit")
    for row in rows:
        limit = Text(visible(row.limit_and_note))
        if row.kept is not None:
            limit = Text("kept   ", "green") + limit if row.kept else Text("MISSED ", "bold red") + limit
        table.add_row(*map(visible, (row.name, row.base, row.adapter, row.change)), limit)
    return table


def _matrix(content: Content) -> Table:
    transitions = content.transitions
    assert transitions is not None
    table = plain_table(content.matrix_corner, [OUTCOME_NAMES[column] for column in transitions.columns])
    for before, counts in transitions.rows:
        table.add_row(OUTCOME_NAMES[before], *(str(many) if many else "·" for many in counts))
    return table


def _print_changed(probe: ProbeReport, console: Console) -> None:
    changed = [case for case in probe.cases if case.base.outcome != case.ft.outcome]
    if not changed:
        console.print(f"No case changed its outcome ({len(probe.cases)} cases).")
        return
    console.print(f"{len(changed)} of {len(probe.cases)} cases changed their outcome:")
    for case in changed[:EXAMPLES]:
        _print_case(case, probe.comparison.subject, console)
    if len(changed) > EXAMPLES:
        console.print(f"  … and {len(changed) - EXAMPLES} more; --json FILE keeps every answer")


def _print_case(case: CaseReport, subject: str, console: Console) -> None:
    # An answer may be a megabyte; a line holds no more letters than it has columns, those where the answers part.
    width, parts_at = console.width, case.differs_at or 0
    start = parts_at - 20 if parts_at > width // 2 else 0
    lines = [Text(f"  {visible(f'{case.id}: {case.prompt}'[:width])}")]
    for label, answer in (("base", case.base), (subject, case.ft)):
        line = Text(f"    {label:<{len(subject)}} ")
        line.append(f"{outcome_name(case, answer):<15} ", "green" if case.is_right(answer) else "red")
        text = answer.text[start : start + width] if start else answer.text.strip()[:width]
        lines.append(line.append(f"{'…' if start else ''}{visible(text)}" or "(empty)"))
    for line in lines:
        console.print(line, no_wrap=True, overflow="ellipsis")
