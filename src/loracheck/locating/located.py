"""What a search for the harmful part of an adapter found, for whoever shows it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from loracheck.locating.grid import Grid
from loracheck.locating.search import Found
from loracheck.locating.views import Difference
from loracheck.results import CaseReport, Report

Ending: TypeAlias = Literal["passed", "nothing_broken", "not_judged", "part", "several_parts", "spread"]


@dataclass(frozen=True, slots=True)
class Writing:
    """The attempt to write a mended adapter."""

    path: Path
    report: Report
    """The check of the very file."""

    @property
    def written(self) -> bool:
        """Only what passes is written."""
        return self.report.verdict in ("pass", "warn")


@dataclass(frozen=True, slots=True)
class Located:
    report: Report
    """The check that it began with."""
    grid: Grid
    budget: int
    found: Found | None = None
    """None where there was nothing to look for."""
    difference: Difference | None = None
    """Between the parts together and the adapter as it is."""
    answers: int = 0
    """How many the search asked for."""
    asked: tuple[int, int] = (0, 0)
    """How many broken cases a trial asks, and how many others."""
    writing: Writing | None = None
    seconds: float = 0.0

    @property
    def ending(self) -> Ending:
        """How it came out. What lies in layers apart is several parts; an L of neighbouring layers is one."""
        if self.report.verdict in ("pass", "warn"):
            return "passed"
        if self.report.verdict != "fail":
            return "not_judged"
        if self.found is None:
            return "nothing_broken"
        if not self.found.carried or self.found.part is None:
            return "spread"
        return "part" if len(self.grid.runs(self.found.part.mend.removed)) == 1 else "several_parts"

    @property
    def broken(self) -> list[CaseReport]:
        return [case for probe in self.report.judged for case in probe.broken]

    @property
    def mended(self) -> bool:
        """Whether something was found that passes on all cases, and, where it was to be written, is."""
        if self.writing is not None:
            return self.writing.written
        return self.found is not None and self.found.mended is not None

    @property
    def full_grid(self) -> tuple[int, int]:
        """Views and answers that it would take to leave out every pair once and to try each alone, on all cases."""
        views = 2 * len(self.grid.places)
        return views, views * sum(len(probe.cases) for probe in self.report.judged)

    @property
    def exit_code(self) -> int:
        """0 when the adapter passes, as it is or mended; 3 when the check itself came to no number; otherwise 1."""
        if self.report.verdict == "error":
            return 3
        return 0 if self.ending == "passed" or self.mended else 1
