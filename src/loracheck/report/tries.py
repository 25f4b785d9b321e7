"""Several tries at a case, a mark each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from loracheck.results import CaseReport, ViewAnswer

Mark: TypeAlias = Literal["right", "valid", "wrong"]

MEANINGS: dict[Mark, str] = {"right": "as expected", "valid": "another valid call", "wrong": "wrong"}
MOST_MARKS = 40
"""A strip of more fits no line."""


def marks(case: CaseReport, answer: ViewAnswer) -> list[Mark]:
    """One for each try of a view, in their order, which is the same in both."""
    return [_mark(case, drawn) for drawn in answer.tries]


def lost_tries(base: Sequence[Mark], adapter: Sequence[Mark]) -> int:
    """How many more come out right in the base."""
    return base.count("right") - adapter.count("right")


def differs(case: CaseReport) -> bool:
    return marks(case, case.base) != marks(case, case.ft)


def _mark(case: CaseReport, answer: ViewAnswer) -> Mark:
    if not case.expects_call:
        return "right" if case.is_right(answer) else "wrong"
    return "right" if answer.reading.exact else "valid" if answer.valid else "wrong"
