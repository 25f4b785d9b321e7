"""The table of cases: what became of each, how to find it, and both answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from loracheck.report.calls import CallLine, call_lines, expected_call, lost_a_call, whole_answer
from loracheck.report.content import broken_example
from loracheck.report.html.parts import Span, compare
from loracheck.report.outcomes import NOT_ASKED_FOR, OUTCOME_NAMES, outcome_name
from loracheck.report.tries import Mark, differs, marks
from loracheck.results import CaseReport, ProbeReport, ViewAnswer
from loracheck.scoring.evidence import Subject
from loracheck.scoring.several import ExpectedCall

Fate = Literal["broken", "mended", "wrong", "right"]

# Broken cases come first in the table: they are what the reader came for.
FATES: dict[Fate, str] = {
    "broken": "broken by the {subject}",
    "mended": "mended by the {subject}",
    "wrong": "wrong in both",
    "right": "right in both",
}

# All texts of the page together stay a few megabytes, however many cases there are.
_MOST_CHARACTERS, _LEAST_CHARACTERS, _ALL_CHARACTERS = 20_000, 1_000, 6_000_000
_EXAMPLE_CHARACTERS = 600


@dataclass(frozen=True, slots=True)
class CaseView:
    case: CaseReport
    letters: int
    """How many are shown of each of its texts."""
    fate: Fate
    kinds: str
    """The filters that find it, with blanks between."""
    spans: tuple[tuple[Span, ...], tuple[Span, ...]]
    """The base's answer and the adapter's, with what differs marked."""
    expected: str
    calls: list[CallLine]
    """Where several calls are expected: these beside those that were made."""
    whole_answers: tuple[str, str]
    """What the calls of each view come to all together."""
    marks: tuple[list[Mark], list[Mark]]
    """The tries of each view; empty where it was asked once."""


def case_table(cases: Sequence[CaseReport]) -> list[CaseView]:
    letters = min(max(_ALL_CHARACTERS // max(len(cases), 1), _LEAST_CHARACTERS), _MOST_CHARACTERS)
    order = list(FATES)
    return sorted((_case_view(case, letters) for case in cases), key=lambda view: order.index(view.fate))


def example(probe: ProbeReport) -> CaseView | None:
    broken = broken_example(probe)
    return _case_view(broken, _EXAMPLE_CHARACTERS) if broken else None


def _case_view(case: CaseReport, letters: int) -> CaseView:
    spans = compare(case.base.text[:letters], case.ft.text[:letters])
    return CaseView(
        case,
        letters,
        _fate(case),
        " ".join(_kinds(case)),
        spans,
        _expected(case),
        call_lines(case),
        (whole_answer(case.base.matched), whole_answer(case.ft.matched)),
        (marks(case, case.base), marks(case, case.ft)),
    )


def _fate(case: CaseReport) -> Fate:
    if case.broke:
        return "broken"
    if case.mended:
        return "mended"
    return "right" if case.is_right(case.ft) else "wrong"


def _expected(case: CaseReport) -> str:
    if not case.expects_call:
        return "no call"
    if case.gold_tool_name is None:
        return "any call"
    one = ExpectedCall(case.gold_tool_name, case.gold_arguments)
    return " and ".join(map(expected_call, case.gold_calls or (one,)))


def _kinds(case: CaseReport) -> Iterable[str]:
    yield "all"
    yield _fate(case)
    if case.base.text != case.ft.text:
        yield "differs"
    if case.base.arguments_correct and case.ft.arguments_correct is False:
        yield "arguments"
    if lost_a_call(case):
        yield "calls"
    if differs(case):
        yield "tries"
    if not case.expects_call:
        yield "abstain"
    else:
        # Only these are in the table of outcomes, whose numbers must be those of the filter.
        yield f"{case.base.outcome}-{case.ft.outcome}"
    yield f"base-{_outcome_kind(case, case.base)}"
    yield f"adapter-{_outcome_kind(case, case.ft)}"


def _outcome_kind(case: CaseReport, answer: ViewAnswer) -> str:
    return "not-asked-for" if outcome_name(case, answer) == NOT_ASKED_FOR else answer.outcome


def choices(table: Sequence[CaseView], subject: Subject = "adapter") -> dict[str, list[tuple[str, str, int]]]:
    """The lines of the filter by group: kind, label and count; only those that find something."""
    counts = Counter(kind for view in table for kind in view.kinds.split())
    names = OUTCOME_NAMES.items()
    of_one_view = [*names, ("not-asked-for", NOT_ASKED_FOR)]
    groups: dict[str, dict[str, str]] = {
        f"What the {subject} did": {
            **{str(fate): label.format(subject=subject) for fate, label in FATES.items()},
            "differs": "any other answer",
            "arguments": "lost the right arguments",
            "calls": "lost one of several calls",
            "tries": "other tries come out right",
            "abstain": "no call expected",
        },
        f"Base → {subject}": {f"{was}-{is_now}": f"{old} → {new}" for was, old in names for is_now, new in names},
        subject.capitalize(): {f"adapter-{outcome}": name for outcome, name in of_one_view},
        "Base": {f"base-{outcome}": name for outcome, name in of_one_view},
    }
    return {
        group: lines
        for group, kinds in groups.items()
        if (lines := [(kind, label, counts[kind]) for kind, label in kinds.items() if counts[kind]])
    }
