"""Cases that expect several calls in one answer, from the suite to the words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from loracheck.cases.case import Case
from loracheck.checking import check
from loracheck.judge import judge_again
from loracheck.probes import words_of
from loracheck.report.json import render
from loracheck.results import Report
from suite_factory import SEARCH, Files, answering, make_suite

if TYPE_CHECKING:
    from loracheck.results import ProbeReport

NEWS = {"name": "read_news", "parameters": {"type": "object", "properties": {"topic": {"type": "string"}}}}
FIRST = {"name": "search_web", "arguments": {"query": "cats"}}
SECOND = {"name": "read_news", "arguments": {"topic": "dogs"}}


def several(number: int = 1, **changes: Any) -> Case:
    fields = {"id": f"case{number}", "prompt": f"Cats and dogs {number}.", "tools": [SEARCH, NEWS]}
    return Case.model_validate(fields | {"gold_calls": [FIRST, SECOND]} | changes)


def run(files: Files, base: list[Any], adapter: list[Any], *cases: Case, **limits: float) -> Report:
    suite = make_suite(files).with_cases(cases or [several(number) for number in range(8)])
    entries = tuple(entry.model_copy(update=limits) for entry in suite.entries)
    suite = suite.model_copy(update={"entries": entries})
    return check(suite, engine=answering(json.dumps(base), json.dumps(adapter)))


def probe_of(report: Report) -> ProbeReport:
    """As a reader of the file would find it."""
    [probe] = Report.model_validate_json(render(report)).judged
    return probe


def test_an_adapter_that_forgets_the_second_call_passes_and_the_report_says_what_is_missing(files: Files) -> None:
    probe = probe_of(run(files, [FIRST, SECOND], [FIRST]))
    assert probe.verdict == "pass", "the first call decides"
    evidence = probe.comparison.several
    assert evidence is not None
    assert (evidence.cases, evidence.right_base, evidence.right_ft) == (8, 1.0, 0.0)
    assert (evidence.missing_base, evidence.missing_ft, evidence.extra_ft) == (0, 8, 0)
    assert evidence.paired
    assert evidence.paired.counts == (0, 8, 0, 0)
    rows = {row.name: row for row in words_of(probe.kind).rows(probe)}
    assert (rows["all calls right"].base, rows["all calls right"].adapter) == ("100.0%", "0.0%")
    assert (rows["calls missing"].base, rows["calls missing"].adapter) == ("0", "8")


def test_a_limit_on_all_calls_is_judged_where_it_is_given(files: Files) -> None:
    report = run(files, [FIRST, SECOND], [FIRST], assert_all_calls_gte=0.9)
    probe = probe_of(report)
    assert (probe.verdict, probe.comparison.grade) == ("fail", "established")
    assert probe.message.endswith("0% answers with all their calls right is under the limit of 90%")
    (reason,) = words_of(probe.kind).reasons(probe)
    assert "8 were not made" in reason.detail


def test_another_limit_on_all_calls_is_judged_without_a_model(files: Files) -> None:
    report = run(files, [FIRST, SECOND], [FIRST])
    assert judge_again(report, {"assert_all_calls_gte": 0.5}).verdict == "fail"
    assert judge_again(report, {"assert_all_calls_gte": 0.0}).verdict == "pass"


@pytest.mark.parametrize(("order", "verdict"), [("any", "pass"), ("strict", "fail")])
def test_calls_in_another_order_are_wrong_only_where_their_order_is_strict(
    files: Files, order: str, verdict: str
) -> None:
    cases = [several(number, order=order) for number in range(8)]
    probe = probe_of(run(files, [FIRST, SECOND], [SECOND, FIRST], *cases))
    assert probe.verdict == verdict
    assert probe.comparison.several
    assert probe.comparison.several.right_ft == (1.0 if order == "any" else 0.0)


def test_each_answer_keeps_which_call_was_made_for_which(files: Files) -> None:
    case = probe_of(run(files, [FIRST, SECOND], [SECOND, {"name": "search_web", "arguments": {"query": "x"}}])).cases[0]
    assert case.gold_calls
    assert [call.name for call in case.gold_calls] == ["search_web", "read_news"]
    assert case.ft.matched
    assert (case.ft.matched.pairs, case.ft.matched.right_arguments) == (((0, 1), (1, 0)), (False, True))


def test_where_any_call_will_do_only_a_tool_that_is_not_on_offer_is_wrong(files: Files) -> None:
    cases = [several(number, gold_calls=None, expect="any_call") for number in range(8)]
    right = probe_of(run(files, [FIRST], [SECOND], *cases))
    assert (right.verdict, right.comparison.hallucination_rate, right.comparison.num_cases) == ("pass", 0.0, 8)
    invented = probe_of(run(files, [FIRST], [{"name": "read_newspaper", "arguments": {"query": "x"}}], *cases))
    assert (invented.verdict, invented.comparison.hallucination_rate) == ("fail", 1.0)
    assert right.comparison.several is None
