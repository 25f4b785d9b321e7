"""Two sweeps side by side: cells that stand at the same place are compared as two reports are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from loracheck.errors import ReportError
from loracheck.report.console import COLOURS, plain_console, plain_table
from loracheck.report.diff import Diff, diff
from loracheck.report.html.parts import page
from loracheck.report.json import json_text
from loracheck.sweeping.results import Sweep, SweepCell
from loracheck.text import counted, percent, visible

_BAD = ("fail", "error")


@dataclass(frozen=True, slots=True)
class CellDiff:
    a: SweepCell
    b: SweepCell
    diff: Diff | None
    """None where one of them has no report."""

    @property
    def worse(self) -> tuple[str, ...]:
        return self.diff.worse if self.diff else _verdict_change(self.a, self.b)

    @property
    def better(self) -> tuple[str, ...]:
        return self.diff.better if self.diff else _verdict_change(self.b, self.a)


def _verdict_change(before: SweepCell, after: SweepCell) -> tuple[str, ...]:
    is_worse = before.passed and after.verdict in _BAD
    return (f"the verdict: {before.verdict} to {after.verdict}",) if is_worse else ()


@dataclass(frozen=True, slots=True)
class SweepDiff:
    a: Sweep
    b: Sweep
    cells: tuple[CellDiff, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]

    @property
    def worse(self) -> tuple[CellDiff, ...]:
        return tuple(cell for cell in self.cells if cell.worse)

    @property
    def better(self) -> tuple[CellDiff, ...]:
        return tuple(cell for cell in self.cells if cell.better)

    @property
    def differences(self) -> list[str]:
        """What besides the adapters differs, once for all cells."""
        return list(dict.fromkeys(each for cell in self.cells if cell.diff for each in cell.diff.differences))


def diff_sweeps(a: Sweep, b: Sweep) -> SweepDiff:
    """ReportError when the two have no cell in common."""
    others = {cell.key: cell for cell in b.cells}
    known = {cell.key for cell in a.cells}
    pairs = [(cell, others[cell.key]) for cell in a.cells if cell.key in others]
    if not pairs:
        raise ReportError(
            "the two sweeps have no cell in common, so there is nothing to compare; "
            "cells are matched by the names of their base and adapters, by quantization and scale"
        )
    return SweepDiff(
        a,
        b,
        tuple(CellDiff(one, other, _reports(one, other)) for one, other in pairs),
        tuple(a.name_of(cell) for cell in a.cells if cell.key not in others),
        tuple(b.name_of(cell) for cell in b.cells if cell.key not in known),
    )


def _reports(one: SweepCell, other: SweepCell) -> Diff | None:
    return diff(one.report, other.report) if one.report and other.report else None


def headline(both: SweepDiff) -> str:
    if both.worse:
        return f"B is worse than A in {len(both.worse)} of {counted(len(both.cells), 'cell')}"
    better = f", and better in {len(both.better)}" if both.better else ""
    return f"B is not worse than A in any of {counted(len(both.cells), 'cell')}{better}"


def rows(both: SweepDiff) -> list[tuple[str, ...]]:
    """Cell, verdicts, valid calls and wrong names of both."""
    return [
        (
            both.b.name_of(cell.b),
            f"{cell.a.verdict} → {cell.b.verdict}",
            f"{percent(cell.a.figures.valid_calls)} → {percent(cell.b.figures.valid_calls)}",
            f"{percent(cell.a.figures.wrong_names)} → {percent(cell.b.figures.wrong_names)}",
            "worse" if cell.worse else "better" if cell.better else "",
        )
        for cell in both.cells
    ]


COLUMNS = ("cell", "verdict", "valid calls", "wrong names", "")


def notes(both: SweepDiff) -> list[str]:
    alone = (("A", both.only_a), ("B", both.only_b))
    return [f"cells in {label} alone: {', '.join(names)}" for label, names in alone if names] + both.differences


def show_sweep_diff(both: SweepDiff, console: Console | None = None, *, color: bool | None = None) -> None:
    console = console or plain_console(color)
    for note in notes(both):
        console.print(Text(f"NOT THE SAME: {visible(note)}", "bold yellow"))
    table = plain_table(COLUMNS[0], COLUMNS[1:])
    for row in rows(both):
        table.add_row(*map(visible, row))
    console.print(table)
    console.print()
    console.print(Text(f"{headline(both)}.", COLOURS["fail" if both.worse else "pass"]))
    for cell in both.cells:
        for label, reasons in (("worse", cell.worse), ("better", cell.better)):
            for why in reasons:
                console.print(Text(f"  {visible(f'{both.b.name_of(cell.b)}, {label}: {why}')}"))


def to_json(both: SweepDiff) -> str:
    return json_text(
        {
            "schema_version": 1,
            "kind": "sweep diff",
            "differences": notes(both),
            "only_in_a": both.only_a,
            "only_in_b": both.only_b,
            "cells": [_as_data(cell) for cell in both.cells],
        }
    )


def _as_data(cell: CellDiff) -> dict[str, Any]:
    places = cell.b.model_dump(include={"base", "quantization", "adapter", "scale"})
    sides = {
        name: {"verdict": side.verdict, "figures": side.figures.model_dump()}
        for name, side in (("a", cell.a), ("b", cell.b))
    }
    return {**places, **sides, "worse": cell.worse, "better": cell.better}


def to_html(both: SweepDiff, a: str = "A", b: str = "B") -> str:
    """`a` and `b` are what the reader knows the sweeps by, such as file names."""
    return page(
        "sweep_diff.jinja",
        both=both,
        names={"A": a, "B": b},
        headline=headline(both),
        notes_of_both=notes(both),
        columns=COLUMNS,
        rows=rows(both),
        version=both.b.loracheck_version,
    )
