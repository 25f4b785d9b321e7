"""A case that takes several calls: what was expected, beside what either view made of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from loracheck.results import CaseReport, ViewAnswer
from loracheck.scoring.several import ExpectedCall, Matched

_LETTERS = 1000


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call that one of the views made."""

    text: str
    fate: Literal["right", "other arguments", "not expected"]


@dataclass(frozen=True, slots=True)
class CallLine:
    """An expected call and those that were made for it; or one that nobody expected."""

    expected: str | None
    base: MadeCall | None
    adapter: MadeCall | None


def call_lines(case: CaseReport) -> list[CallLine]:
    """The expected calls in their order, then what was made beside them; none where a case takes one call."""
    if case.gold_calls is None:
        return []
    base, adapter = _Made(case.base), _Made(case.ft)
    lines = [
        CallLine(expected_call(call), base.for_expected.get(place), adapter.for_expected.get(place))
        for place, call in enumerate(case.gold_calls)
    ]
    return [*lines, *_not_expected(base.beside, adapter.beside)]


def expected_call(call: ExpectedCall) -> str:
    return call.name if call.arguments is None else _written(call.name, call.arguments)


def whole_answer(matched: Matched | None) -> str:
    """What all the calls of one answer come to."""
    if matched is None:
        return ""
    if matched.right:
        return "all calls right"
    counts = {
        "missing": len(matched.missing),
        "with other arguments": matched.wrong_arguments,
        "not expected": len(matched.extra),
    }
    return ", ".join(f"{many} {what}" for what, many in counts.items() if many) or "in another order"


def lost_a_call(case: CaseReport) -> bool:
    """The base makes all the calls right and the adapter does not."""
    return bool(case.base.matched and case.base.matched.right and case.ft.matched and not case.ft.matched.right)


class _Made:
    """The calls of one answer by what they were made for."""

    def __init__(self, answer: ViewAnswer) -> None:
        matched = answer.matched or Matched((), (), (), (), right=False)
        # By number: a file may be edited by hand, and name calls that are not there.
        calls = dict(enumerate(() if answer.call is None else (answer.call, *answer.more_calls)))
        self.for_expected = {
            expected: MadeCall(_call(calls[made]), "right" if right else "other arguments")
            for (expected, made), right in zip(matched.pairs, matched.right_arguments, strict=False)
            if made in calls
        }
        self.beside = [MadeCall(_call(calls[made]), "not expected") for made in matched.extra if made in calls]


def _not_expected(base: list[MadeCall], adapter: list[MadeCall]) -> Iterator[CallLine]:
    """What both views made alike is on one line."""
    rest = list(adapter)
    for call in base:
        alike = call if call in rest else None
        if alike:
            rest.remove(alike)
        yield CallLine(None, call, alike)
    yield from (CallLine(None, None, call) for call in rest)


def _call(call: Any) -> str:
    return _written(call.get("name"), call.get("arguments")) if isinstance(call, dict) else _spelled(call)


def _written(name: Any, arguments: Any) -> str:
    return f"{name if isinstance(name, str) else _spelled(name)} {_spelled(arguments)}"[:_LETTERS]


def _spelled(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
