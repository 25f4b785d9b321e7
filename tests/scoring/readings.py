"""Answers to one small case, read, for tests of what is made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loracheck.scoring import Answer, Expectation, Reading, Trial, read_answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loracheck.scoring import Outcome

GOOD = '{"name": "t", "arguments": {}}'
OTHER = '{"name": "u", "arguments": {}}'
BAD = "no"

_CASE = Expectation({"name": "t"}, "t")


def read(text: str) -> Reading:
    return read_answer(_CASE, Answer(text), None)


def trials_of(base: Sequence[str], ft: Sequence[str], *, expects_call: bool = True) -> list[Trial]:
    """One trial a pair of texts."""
    return [Trial(read(before), read(after), expects_call) for before, after in zip(base, ft, strict=True)]


def came_out(outcome: Outcome, **more: Any) -> Reading:
    """An answer of which only this much is known."""
    return Reading(None, outcome in ("valid", "wrong_tool"), outcome, **more)
