"""The table of outcomes: where each answer of the base went."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from loracheck.report.html.cases import OUTCOMES, called
from loracheck.report.html.evidence import counts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from loracheck.report.model import ProbeReport

Tone = Literal["same", "loss", "gain", "other"]


@dataclass(frozen=True, slots=True)
class Cell:
    count: int
    tone: Tone
    heat: int
    """0 to 4, by its share of all cases."""
    kind: str
    """The filter that finds its cases."""
    said: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """From each outcome the base had, down, to each the adapter has, across."""

    outcomes: list[str]
    lines: list[tuple[str, list[Cell]]]
    total: int


def matrix(probe: ProbeReport) -> Matrix | None:
    moves = _transitions(probe)
    if not moves:
        return None
    total = sum(moves.values())
    before, after = ([outcome for outcome in OUTCOMES if outcome in met] for met in zip(*moves, strict=True))
    return Matrix(
        [OUTCOMES[ft] for ft in after],
        [(OUTCOMES[base], [_cell(base, ft, moves.get((base, ft), 0), total) for ft in after]) for base in before],
        total,
    )


def _transitions(probe: ProbeReport) -> Mapping[tuple[str, str], int]:
    """How many cases went from one outcome to another, as the evidence has it where the cases are gone."""
    if cases := called(probe.cases):
        return Counter((case.base.outcome, case.ft.outcome) for case in cases)
    return {
        (base, ft): many
        for base in OUTCOMES
        for ft, many in counts(probe.evidence, "transitions", base).items()
        if ft in OUTCOMES
    }


def _cell(base: str, ft: str, many: int, total: int) -> Cell:
    tone: Tone = "same" if base == ft else "loss" if base == "valid" else "gain" if ft == "valid" else "other"
    heat = 0 if not many else 1 + min(3, int(4 * many / total))
    return Cell(many, tone, heat, f"{base}-{ft}", f"{OUTCOMES[base]} → {OUTCOMES[ft]}")
