from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from loracheck.checking import check
from suite_factory import Files, answering, call, failing_from, make_case, make_suite

if TYPE_CHECKING:
    from loracheck.results import ProbeReport

REPORTED = {
    "name", "kind", "verdict", "score", "raw", "z_score", "base_value", "ft_value", "ci_95", "message", "evidence",
    "cases",
}  # fmt: skip
EVIDENCE = {
    "json_valid_rate_base", "json_valid_rate_ft", "validity_delta", "mean_arg_disagreement", "hallucination_rate",
    "num_cases", "num_arg_pairs_compared", "z_by_rank", "weight", "null", "limits", "allowed_tools",
    "exact_arguments_base", "exact_arguments_ft", "outcomes", "transitions", "paired", "power", "drift", "dialect",
    "subject", "other_model", "split", "no_drift", "templates",
    "abstention", "strict", "non_finite_inputs", "defensively_nulled", "grade", "certainty", "flips",
    "hallucination_rate_base", "several", "tries",
}  # fmt: skip


def run(files: Files, *, base: Any = None, adapter: Any = None, cases: int = 4, **changes: Any) -> ProbeReport:
    (probe,) = check(make_suite(files, cases, **changes), engine=answering(base, adapter)).probes
    return probe


def test_the_report_has_every_field_of_the_design(files: Files) -> None:
    probe = run(files)
    assert set(probe.model_dump()) == REPORTED
    assert set(probe.comparison.model_dump()) == EVIDENCE
    assert set(probe.comparison.null.model_dump()) == {
        "mean", "std", "n", "rates", "usable", "why", "p_value", "on", "match", "samples", "base_z",
    }  # fmt: skip
    (case, *_) = probe.model_dump()["cases"]
    assert set(case) == {
        "id", "prompt", "sent", "gold_tool_name", "expect", "gold_arguments", "base", "ft", "differs_at",
        "gold_calls", "sent_ft",
    }  # fmt: skip
    assert set(case["base"]) == set(case["ft"]) == {
        "text", "call", "valid", "outcome", "tokens", "more_calls", "dialect", "strict_valid", "arguments_correct",
        "written_in", "cut_off_in_thinking", "matched", "tries",
    }  # fmt: skip


def test_a_case_is_reported_with_both_answers(files: Files) -> None:
    case = run(files, cases=1, adapter="Cats are animals.").cases[0]
    assert (case.id, case.prompt, case.gold_tool_name) == ("case1", "Search for 1.", "search_web")
    assert case.base.call == {"name": "search_web", "arguments": {"query": "x"}}
    assert (case.base.text, case.base.valid, case.base.outcome) == (call(), True, "valid")
    assert (case.ft.call, case.ft.valid, case.ft.outcome, case.ft.tokens) == (None, False, "no_call", 17)


def test_fewer_valid_calls_than_the_limit_allows_fail(files: Files) -> None:
    probe = run(files, adapter=failing_from(4))
    assert (probe.verdict, probe.base_value, probe.ft_value) == ("fail", 1.0, 0.75)
    assert probe.message.endswith("; missed: delta -25.0 points is under the limit of -5.0")
    assert run(files, adapter=failing_from(4), assert_validity_delta_gte=-0.25).verdict == "pass"


def test_more_wrong_names_than_the_limit_allows_fail(files: Files) -> None:
    renamed = failing_from(4, call("find"))
    probe = run(files, adapter=renamed)
    assert (probe.verdict, probe.comparison.hallucination_rate) == ("fail", 0.25)
    assert probe.message.endswith("; missed: 25% wrong tool names is over the limit of 10%")
    assert run(files, adapter=renamed, assert_hallucination_lte=0.25).verdict == "pass"
    assert run(files, adapter=renamed, allowed_tools=("search_web", "find")).verdict == "pass"


def test_a_z_under_the_limit_fails_where_the_base_makes_no_valid_call_either(files: Files) -> None:
    suite = make_suite(files, assert_z_gte=3.0).with_nulls()
    probe = check(suite, engine=answering("no idea", failing_from(3))).probes[1]
    assert probe.verdict == "fail"
    assert probe.comparison.validity_delta == 0.5
    assert probe.message.endswith("is under the limit of 3")


def test_a_base_that_misses_the_limit_on_z_itself_excuses_an_adapter_that_does(files: Files) -> None:
    suite = make_suite(files, assert_z_gte=3.0).with_nulls()
    probe = check(suite, engine=answering(failing_from(3), failing_from(3))).probes[1]
    assert (probe.verdict, probe.z_score) == ("pass", None)
    assert probe.comparison.null.base_z is not None
    assert 2 < probe.comparison.null.base_z < 3
    assert probe.comparison.null.why
    assert "the base itself is only z = 2.7 above the nulls" in probe.comparison.null.why


def test_an_answer_cut_by_its_limit_is_told_from_one_that_is_no_call(files: Files) -> None:
    suite = make_suite(files).with_cases([make_case(max_new_tokens=10)])
    answer = check(suite, engine=answering()).probes[0].cases[0].base
    assert (answer.outcome, answer.tokens, answer.text) == ("truncated", 10, call()[:10])


def test_each_case_may_ask_for_another_answer_length(files: Files) -> None:
    suite = make_suite(files).with_cases([make_case(1, max_new_tokens=3), make_case(2)])
    cases = check(suite.with_defaults(seed=0), engine=answering("abcdef", "abcdef")).probes[0].cases
    assert [case.base.tokens for case in cases] == [3, 6]


def test_exact_arguments_are_evidence_and_decide_nothing(files: Files) -> None:
    cases = [make_case(number, gold_arguments={"query": "cats"}) for number in (1, 2)]
    suite = make_suite(files).with_cases([*cases, make_case(3)])
    adapter = {"case1": call(query="cats"), "case2": call(query="dogs"), "case3": call(query="x")}
    (probe,) = check(suite, engine=answering(call(query="cats"), lambda prompt: adapter[prompt.id])).probes
    assert probe.comparison.exact_arguments_base == 1.0
    assert probe.comparison.exact_arguments_ft == 0.5
    assert probe.verdict == "pass"
    assert run(files).comparison.exact_arguments_ft is None


def test_the_score_of_the_report_is_weighed(files: Files) -> None:
    suite = make_suite(files, cases=2)
    (probe,) = suite.entries
    heavy, light, none = (
        probe.model_copy(update={"name": name, "weight": weight})
        for name, weight in (("heavy", 3.0), ("light", 1.0), ("none", 0.0))
    )
    spoilt = light.model_copy(update={"cases": (make_case(9), make_case(10))})
    both = suite.model_copy(update={"entries": (heavy, spoilt)})
    report = check(both, engine=answering(adapter=failing_from(9)))
    assert (report.verdict, report.score) == ("fail", 0.75)
    assert check(suite.model_copy(update={"entries": (none,)}), engine=answering()).score is None


@pytest.mark.parametrize(("seed", "same"), [(0, True), (1, False)])
def test_the_interval_depends_on_the_seed_alone(files: Files, seed: int, same: bool) -> None:
    def interval(seed: int) -> Any:
        suite = make_suite(files, cases=30).with_defaults(seed=seed)
        return check(suite, engine=answering(adapter=failing_from(17))).probes[0].ci_95

    assert (interval(seed) == interval(0)) is same
