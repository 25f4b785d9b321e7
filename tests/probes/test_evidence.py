"""What stands beside the verdict, from cases and canned answers to the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from loracheck.cases.entries import NullAdapterEntry, ToolUseEntry
from loracheck.checking import check
from suite_factory import (
    CHAT_TEMPLATE,
    SEARCH,
    Files,
    answering,
    call,
    failing_from,
    make_case,
    make_suite,
    write_files,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from loracheck.cases.case import Case
    from loracheck.cases.suite import Suite
    from loracheck.engine import Prompt
    from loracheck.results import ProbeReport, Report

WEATHER = {
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["C", "F"]}},
        "required": ["city"],
        "additionalProperties": False,
    },
}
SURFACE: dict[str, Any] = {"tool_spec": None, "tools": [SEARCH, WEATHER]}


def report_of(files: Files, cases: list[Case], base: Any, ft: Any, **changes: Any) -> Report:
    suite = make_suite(files, **changes).with_cases(cases)
    return check(suite, engine=answering(by_case(base), by_case(ft)))


def run(files: Files, cases: list[Case], base: Any, ft: Any, **changes: Any) -> ProbeReport:
    (probe,) = report_of(files, cases, base, ft, **changes).probes
    return probe


def by_case(answers: Any) -> str | Callable[[Prompt], str]:
    return (lambda prompt: answers[prompt.id]) if isinstance(answers, dict) else answers


def test_a_call_is_checked_against_the_schema_of_the_tool_it_names(files: Files) -> None:
    case = make_case(**SURFACE, gold_tool_name="search_web")
    other = run(files, [case], call(), call("get_weather", city="Oslo")).cases[0].ft
    assert (other.valid, other.outcome) == (True, "wrong_tool")
    wrong = run(files, [case], call(), call("get_weather", query="x")).cases[0].ft
    assert (wrong.valid, wrong.outcome) == (False, "bad_arguments")


def test_an_invented_name_is_checked_against_the_tool_that_was_meant(files: Files) -> None:
    case = make_case(**SURFACE, gold_tool_name="search_web")
    probe = run(files, [case], call(), call("acme_search", query="x"))
    assert probe.comparison.hallucination_rate == 1.0
    assert (probe.cases[0].ft.valid, probe.cases[0].ft.outcome) == (True, "wrong_tool")


def test_cases_that_expect_no_call_count_in_abstention_alone(files: Files) -> None:
    cases = [make_case(1), make_case(2, expect="no_call"), make_case(3, expect="no_call")]
    ft = {"case1": call(), "case2": call(), "case3": "It is noon."}
    probe = run(files, cases, {**ft, "case2": "Hello!"}, ft)
    assert probe.comparison.abstention.model_dump() == {"cases": 2, "base": 1.0, "ft": 0.5}
    assert probe.comparison.num_cases == 1
    assert probe.verdict == "pass"
    assert [case.expect for case in probe.cases] == ["call", "no_call", "no_call"]
    assert probe.cases[1].gold_tool_name is None


def test_a_malformed_attempt_is_no_abstention(files: Files) -> None:
    cases = [make_case(1), make_case(2, expect="no_call")]
    probe = run(files, cases, {"case1": call(), "case2": "No."}, {"case1": call(), "case2": '{"name": "search_web", '})
    assert probe.comparison.abstention.model_dump() == {"cases": 1, "base": 1.0, "ft": 0.0}


def test_limits_on_arguments_and_abstention_decide_when_they_are_asked_for(files: Files) -> None:
    cases = [make_case(1, gold_arguments={"query": "cats"}), make_case(2, expect="no_call")]
    base, ft = {"case1": call(query="cats"), "case2": "No."}, {"case1": call(query="dogs"), "case2": call()}
    assert run(files, cases, base, ft).verdict == "pass"
    with_both = {"assert_exact_arguments_gte": 0.5, "assert_abstention_gte": 0.5}
    probe = run(files, cases, base, ft, **with_both)
    assert probe.verdict == "fail"
    assert probe.message.split("; missed: ")[1:] == [
        "0% exact arguments is under the limit of 50% and 0% abstention is under the limit of 50%"
    ]
    assert run(files, cases, base, base, **with_both).verdict == "pass"


@pytest.mark.parametrize("limit", ["assert_exact_arguments_gte", "assert_abstention_gte"])
def test_a_limit_that_no_case_speaks_to_is_refused(limit: str) -> None:
    with pytest.raises(ValidationError, match=f"{limit} needs cases with"):
        ToolUseEntry.model_validate({"name": "t", "cases": (make_case(),), limit: 0.5})


def test_gold_arguments_may_be_choices(files: Files) -> None:
    case = make_case(
        **SURFACE, gold_tool_name="get_weather", gold_arguments={"city": ["Oslo", "Oslo, Norway"], "unit": ["C", None]}
    )
    probe = run(files, [case], call("get_weather", city="Oslo"), call("get_weather", city="Bergen"))
    assert (probe.comparison.exact_arguments_base, probe.comparison.exact_arguments_ft) == (1.0, 0.0)
    assert (probe.cases[0].base.arguments_correct, probe.cases[0].ft.arguments_correct) == (True, False)


def test_strict_schemas_are_reported_beside_the_rate_that_decides(files: Files) -> None:
    cases = [make_case(n, tool_spec=WEATHER) for n in range(1, 3)]
    base = call("get_weather", city="Oslo", unit="C")
    ft = {"case1": base, "case2": call("get_weather", city="Oslo", unit="kelvin")}
    suite = make_suite(files).with_cases(cases).with_defaults(schema="strict")
    (probe,) = check(suite, engine=answering(base, by_case(ft))).probes
    assert probe.comparison.strict.model_dump() == {"base": 1.0, "ft": 0.5}
    assert (probe.ft_value, probe.verdict) == (1.0, "pass")
    assert [case.ft.strict_valid for case in probe.cases] == [True, False]
    assert run(files, cases, base, ft).comparison.strict is None


def test_outcomes_transitions_and_paired_tests_tell_what_changed(files: Files) -> None:
    cases = [make_case(n) for n in range(1, 11)]
    probe = run(files, cases, failing_from(10), failing_from(4, call("find")))
    evidence = probe.comparison
    assert evidence.outcomes == {"base": {"valid": 9, "no_call": 1}, "ft": {"wrong_tool": 7, "valid": 3}}
    assert evidence.transitions == {"valid": {"wrong_tool": 6, "valid": 3}, "no_call": {"wrong_tool": 1}}
    validity, exact = evidence.paired.validity, evidence.paired.exact_call
    assert validity.counts == (9, 0, 1, 0)
    assert exact.counts == (3, 6, 0, 1)
    assert exact.mcnemar_p == pytest.approx(2 / 2**6)
    low, high = exact.interval_95
    assert low < exact.delta == -0.6 < high < 0


def test_ten_cases_cannot_exclude_a_drop_of_five_points_and_say_how_many_could(files: Files) -> None:
    power = run(files, [make_case(n) for n in range(1, 11)], call(), call()).comparison.power
    assert power.inconclusive is True
    assert (power.cases_even_odds, power.cases_needed) == (73, 325)
    enough = run(files, [make_case(n) for n in range(1, 74)], call(), call()).comparison.power
    assert enough.inconclusive is False


def test_the_first_place_where_two_answers_differ_is_kept(files: Files) -> None:
    cases = run(files, [make_case(1), make_case(2)], call(), {"case1": call(query="y"), "case2": call()}).cases
    assert [case.differs_at for case in cases] == [call().index('x"}}'), None]


def test_an_adapter_that_switches_dialect_is_caught_and_named(tmp_path: Path) -> None:
    files = write_files(tmp_path, CHAT_TEMPLATE + '{# <tool_call>{"name" #}')
    cases = [make_case(n) for n in range(1, 9)]
    hermes = f"<tool_call>\n{call()}\n</tool_call>"
    probe = run(files, cases, hermes, {f"case{n}": call() if n > 2 else hermes for n in range(1, 9)})
    use = probe.comparison.dialect
    assert (use.name, use.ft_drift, use.base_drift) == ("hermes", {"json": 6}, {})
    assert "switched from" in use.message
    assert "6 of 8 answers" in use.message
    assert (probe.base_value, probe.ft_value, probe.verdict) == (1.0, 0.25, "fail")
    assert probe.cases[7].ft.dialect == "json"


def test_every_call_of_an_answer_is_reported_and_the_first_is_judged(tmp_path: Path) -> None:
    files = write_files(tmp_path, CHAT_TEMPLATE)
    suite = make_suite(files, 1).with_defaults(dialect="hermes")
    two = f"<tool_call>{call()}</tool_call><tool_call>{call('other')}</tool_call>"
    answer = check(suite, engine=answering(two, two)).probes[0].cases[0].ft
    assert answer.outcome == "valid"
    assert [more["name"] for more in answer.more_calls] == ["other"]


@pytest.mark.parametrize(
    ("base", "ft", "cases", "warning"),
    [
        ("No.", "No.", 8, "no valid call in either view"),
        ("No.", None, 8, "no case where both views make a valid call"),
        (None, None, 7, "only 7 cases"),
    ],
)
def test_vacuous_runs_are_loud(files: Files, base: str | None, ft: str | None, cases: int, warning: str) -> None:
    (said,) = check(make_suite(files, cases), engine=answering(base, ft)).warnings
    assert said.startswith(f"tools_intact: {warning}")


def test_a_saturated_baseline_is_loud(files: Files) -> None:
    suite = make_suite(files, 8).with_nulls()
    (said,) = check(suite, engine=answering(nulls=lambda prompt: SENTINEL_CALLS[prompt.id])).warnings
    assert said.startswith("tools_intact: the null adapters say nothing: null adapters still give 100% valid calls")


SENTINEL_CALLS = {"search_web": call(), "calculator": call("calculator", a=2, b=2)}


def test_a_base_that_speaks_another_dialect_is_told_which(files: Files) -> None:
    suite = make_suite(files, 8).with_defaults(dialect="hermes")
    warnings = check(suite, engine=answering()).warnings
    assert any("try --dialect json" in warning for warning in warnings)


def on_cases(suite: Suite) -> Suite:
    nulls = NullAdapterEntry(name="nulls", on="cases", runs=2)
    return suite.model_copy(update={"entries": (nulls, *suite.entries)})


def test_null_adapters_may_be_measured_on_the_cases_themselves(files: Files) -> None:
    engine = answering(nulls=failing_from(3))
    report = check(on_cases(make_suite(files, 8)), engine=engine)
    null = report.probes[1].comparison.null
    assert (null.rates, null.on, null.n) == ((0.25, 0.25), "cases", 2)
    assert null.p_value == pytest.approx(0.001, abs=0.001)
    assert ("null 1/2", "case1") in engine.asked
    assert not any(case == "calculator" for _, case in engine.asked)


def test_null_adapters_are_not_asked_where_no_call_is_expected(files: Files) -> None:
    engine = answering(nulls=call())
    suite = on_cases(make_suite(files)).with_cases([make_case(1), make_case(2, expect="no_call")])
    report = check(suite, engine=engine)
    assert [case for view, case in engine.asked if view.startswith("null")] == ["case1", "case1"]
    assert report.probes[1].comparison.null.rates == (1.0, 1.0)
