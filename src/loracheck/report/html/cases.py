"""The table of cases: what became of each, how to find it, and both answers."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from loracheck.report.html.diff import Span, compare
from loracheck.report.html.shown import Excerpt, excerpt
from loracheck.report.judged import is_right

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from loracheck.report.model import CaseReport, ViewAnswer

Fate = Literal["broken", "mended", "wrong", "right"]

# Broken cases come first in the table: they are what the reader came for.
FATES: dict[Fate, str] = {
    "broken": "broken by the adapter",
    "mended": "mended by the adapter",
    "wrong": "wrong in both",
    "right": "right in both",
}

OUTCOMES = {
    "valid": "valid call",
    "wrong_tool": "wrong tool",
    "bad_arguments": "bad arguments",
    "malformed": "broken JSON",
    "truncated": "cut off",
    "no_call": "no call",
}

# All texts of the page together stay a few megabytes, however many cases there are.
_MOST_CHARACTERS, _LEAST_CHARACTERS, _ALL_CHARACTERS = 20_000, 1_000, 6_000_000


@dataclass(frozen=True, slots=True)
class Side:
    """One view's answer."""

    answer: ViewAnswer
    outcome: str
    right: bool
    spans: tuple[Span, ...]
    text: Excerpt


@dataclass(frozen=True, slots=True)
class Row:
    case: CaseReport
    fate: Fate
    kinds: str
    """The filters that find it, with blanks between."""
    base: Side
    ft: Side
    sent: Excerpt
    expected: str

    @property
    def same(self) -> bool:
        return self.case.base.text == self.case.ft.text


@dataclass(frozen=True, slots=True)
class Choice:
    """One line of the filter."""

    kind: str
    words: str
    count: int


def called(cases: Iterable[CaseReport]) -> list[CaseReport]:
    """The cases that should bring a call, over which the rates are taken."""
    return [case for case in cases if case.expect == "call"]


def fate(case: CaseReport) -> Fate:
    before, after = is_right(case, case.base), is_right(case, case.ft)
    if before:
        return "right" if after else "broken"
    return "mended" if after else "wrong"


def rows(cases: Sequence[CaseReport]) -> list[Row]:
    limit = min(max(_ALL_CHARACTERS // max(len(cases), 1), _LEAST_CHARACTERS), _MOST_CHARACTERS)
    order = list(FATES)
    return sorted((row(case, limit) for case in cases), key=lambda made: order.index(made.fate))


def row(case: CaseReport, limit: int) -> Row:
    base, ft = excerpt(case.base.text, limit), excerpt(case.ft.text, limit)
    base_spans, ft_spans = compare(base.text, ft.text)
    return Row(
        case=case,
        fate=fate(case),
        kinds=" ".join(_kinds(case)),
        base=Side(case.base, OUTCOMES[case.base.outcome], is_right(case, case.base), base_spans, base),
        ft=Side(case.ft, OUTCOMES[case.ft.outcome], is_right(case, case.ft), ft_spans, ft),
        sent=excerpt(case.sent, limit),
        expected=_expected(case),
    )


def _expected(case: CaseReport) -> str:
    if case.expect == "no_call":
        return "no call"
    if case.gold_arguments is None:
        return case.gold_tool_name or "a call"
    return f"{case.gold_tool_name} {json.dumps(case.gold_arguments, ensure_ascii=False)[:1000]}"


def _kinds(case: CaseReport) -> Iterable[str]:
    yield "all"
    yield fate(case)
    if case.base.text != case.ft.text:
        yield "differs"
    if case.base.arguments_correct and case.ft.arguments_correct is False:
        yield "arguments"
    if case.expect == "no_call":
        yield "abstain"
    else:
        # Only these are in the table of outcomes, whose numbers must be those of the filter.
        yield f"{case.base.outcome}-{case.ft.outcome}"
    yield f"base-{case.base.outcome}"
    yield f"ft-{case.ft.outcome}"


def choices(table: Sequence[Row]) -> dict[str, list[Choice]]:
    """The lines of the filter by group; only those that find something."""
    found = Counter(kind for made in table for kind in made.kinds.split())
    groups: dict[str, dict[str, str]] = {
        "What the adapter did": {
            **{str(kind): said for kind, said in FATES.items()},
            "differs": "any other answer",
            "arguments": "lost the right arguments",
            "abstain": "no call expected",
        },
        "Base → adapter": {
            f"{base}-{ft}": f"{before} → {after}" for base, before in OUTCOMES.items() for ft, after in OUTCOMES.items()
        },
        "Adapter": {f"ft-{outcome}": said for outcome, said in OUTCOMES.items()},
        "Base": {f"base-{outcome}": said for outcome, said in OUTCOMES.items()},
    }
    return {
        group: lines
        for group, kinds in groups.items()
        if (lines := [Choice(kind, said, found[kind]) for kind, said in kinds.items() if found[kind]])
    }
