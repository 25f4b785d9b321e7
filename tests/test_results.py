"""The report as data: what it knows of itself, and what comes back from a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from loracheck.checking import check
from loracheck.results import (
    CaseReport,
    FileRecord,
    NullAdapterEvidence,
    ProbeReport,
    Provenance,
    Report,
    ViewAnswer,
    differences,
    overall,
)
from loracheck.scoring import Evidence
from suite_factory import Files, answering, call, failing_from, make_case, make_suite

if TYPE_CHECKING:
    from loracheck.results import Verdict


def probe(verdict: Verdict = "pass", score: float | None = 1.0, **fields: Any) -> ProbeReport:
    values = {"name": "tools", "kind": "tool_use_fidelity", "message": "", **fields}
    return ProbeReport(verdict=verdict, score=score, **values)


def answer(outcome: str) -> ViewAnswer:
    return ViewAnswer(text="", call=None, valid=outcome in ("valid", "wrong_tool"), outcome=outcome, tokens=1)  # type: ignore[arg-type]


def case(base: str, adapter: str, expect: str = "call") -> CaseReport:
    return CaseReport.model_validate(
        {
            "id": "1",
            "prompt": "",
            "sent": "",
            "gold_tool_name": None,
            "expect": expect,
            "base": answer(base),
            "ft": answer(adapter),
        }
    )


def a_report(files: Files) -> Report:
    cases = [*(make_case(number) for number in range(1, 9)), make_case(9, expect="no_call")]
    suite = make_suite(files).with_cases(cases).with_nulls()
    return check(suite, engine=answering(adapter=failing_from(5)))


# Kept and read back


def test_a_report_comes_back_from_a_file_as_it_was(files: Files) -> None:
    report = a_report(files)
    back = Report.model_validate_json(report.model_dump_json())
    assert back == report
    nulls, tools = back.probes
    assert isinstance(nulls.evidence, NullAdapterEvidence)
    assert isinstance(tools.evidence, Evidence)


def test_what_a_newer_loracheck_adds_is_let_be(files: Files) -> None:
    report = a_report(files)
    data = json.loads(report.model_dump_json())
    for place in (
        data,
        data["provenance"],
        data["provenance"]["model"],
        *data["probes"],
        data["probes"][1]["evidence"],
    ):
        place["of the future"] = {"a": 1}
    data["probes"][1]["cases"][0]["of the future"] = 1
    assert Report.model_validate(data) == report


@pytest.mark.parametrize("missing", ["verdict", "probes", "provenance", "loracheck_version"])
def test_a_report_without_its_essentials_is_none(files: Files, missing: str) -> None:
    data = json.loads(a_report(files).model_dump_json())
    del data[missing]
    with pytest.raises(ValidationError):
        Report.model_validate(data)


@pytest.mark.parametrize("rubbish", [None, 7, "words", [1], {"path": 7, "sha256": []}])
def test_provenance_that_is_something_else_counts_as_not_there(rubbish: Any) -> None:
    provenance = Provenance.model_validate({"model": rubbish, "ft_adapters": rubbish, "seeds": 3, "llama_cpp": [1]})
    assert provenance == Provenance()
    assert provenance.compared == ("adapter", "base")


def test_evidence_of_a_kind_that_nobody_knows_is_kept_as_it_is() -> None:
    # Even where it has the names of ours.
    for evidence in ({"new": [1, {"a": 2}]}, {"num_cases": 3, "null": {"n": 2}}, {"on": "cases"}, {}):
        strange = probe(kind="of the future", evidence=evidence)
        assert strange.evidence == evidence
        assert ProbeReport.model_validate_json(strange.model_dump_json()) == strange
        assert strange.comparison == Evidence()
        assert strange.is_judged


def test_a_probe_without_evidence_is_still_of_its_kind() -> None:
    assert probe().evidence == Evidence()
    nulls = probe(kind="null_adapter", verdict="skip")
    assert nulls.evidence == NullAdapterEvidence()
    assert not nulls.is_judged


# What it knows of itself


@pytest.mark.parametrize(
    ("base", "adapter", "expect", "broke", "mended"),
    [
        ("valid", "valid", "call", False, False),
        ("valid", "no_call", "call", True, False),
        ("valid", "wrong_tool", "call", True, False),
        ("malformed", "valid", "call", False, True),
        ("no_call", "bad_arguments", "call", False, False),
        ("no_call", "no_call", "no_call", False, False),
        ("no_call", "valid", "no_call", True, False),
        ("no_call", "malformed", "no_call", True, False),
        ("valid", "no_call", "no_call", False, True),
    ],
)
def test_a_case_breaks_when_the_base_does_it_right_and_the_adapter_does_not(
    base: str, adapter: str, expect: str, broke: bool, mended: bool
) -> None:
    one = case(base, adapter, expect)
    assert (one.broke, one.mended) == (broke, mended)
    assert probe(cases=(one,)).broken == ([one] if broke else [])


def test_rates_are_taken_over_the_cases_that_should_bring_a_call() -> None:
    cases = (case("valid", "valid"), case("no_call", "no_call", "no_call"))
    assert probe(cases=cases).asked == [cases[0]]


def test_null_adapters_are_not_judged(files: Files) -> None:
    report = a_report(files)
    assert [each.kind for each in report.probes] == ["null_adapter", "tool_use_fidelity"]
    assert report.judged == [report.probes[1]]


def test_a_report_is_inconclusive_when_one_of_its_probes_is(files: Files) -> None:
    assert check(make_suite(files, 8), engine=answering()).inconclusive
    assert not check(make_suite(files, 80), engine=answering()).inconclusive


def test_a_pass_in_which_nothing_was_compared_is_a_warning(files: Files) -> None:
    report = check(make_suite(files, 80), engine=answering("No.", "No."))
    (tools,) = report.probes
    assert (tools.verdict, tools.score, tools.effective_verdict) == ("pass", 1.0, "warn")
    assert (report.verdict, report.inconclusive, tools.grade_in_words) == ("warn", True, "nothing was compared")
    assert report.warnings


def test_a_fail_in_which_nothing_was_compared_stays_one(files: Files) -> None:
    report = check(make_suite(files, 80).with_nulls(), engine=answering("No.", "No."))
    assert (report.verdict, report.inconclusive, report.judged[0].effective_verdict) == ("fail", True, "fail")


@pytest.mark.parametrize("adapter", [call(), "No."])
def test_one_valid_call_is_something_to_compare(files: Files, adapter: str) -> None:
    (tools,) = check(make_suite(files, 80), engine=answering(adapter=adapter)).probes
    assert tools.effective_verdict == tools.verdict
    assert tools.grade_in_words == "established"


def test_a_report_of_an_older_loracheck_has_no_grade() -> None:
    assert probe().grade_in_words is None
    assert probe(kind="of the future", evidence={"grade": "established"}).grade_in_words is None


def lost(name: str, cases: int, p: float | None, **fields: Any) -> ProbeReport:
    test = {"both": 0, "lost": cases, "gained": 0, "neither": 0, "mcnemar_p": p}
    return probe(name=name, evidence={"paired": {"validity": test}}, **fields)


def test_the_p_of_several_probes_is_corrected_for_their_number(files: Files) -> None:
    nulls, one = a_report(files).probes
    report = a_report(files).model_copy(
        update={"probes": (nulls, lost("a", 8, 0.01), lost("b", 6, 0.04), lost("c", 0, None))}
    )
    assert report.holm_p == {"a": 0.02, "b": 0.04}
    assert json.loads(report.model_dump_json())["holm_p"] == {"a": 0.02, "b": 0.04}
    assert Report.model_validate_json(report.model_dump_json()) == report
    assert report.model_copy(update={"probes": (nulls, one)}).holm_p is None


def test_an_answer_read_back_can_be_judged_again(files: Files) -> None:
    suite = make_suite(files).with_cases([make_case(1, gold_arguments={"query": "x"})]).with_defaults(schema="strict")
    said = check(suite, engine=answering()).probes[0].cases[0].ft
    reading = said.reading
    assert (reading.call, reading.valid, reading.outcome) == (json.loads(call()), True, "valid")
    assert (reading.arguments_correct, reading.strict_valid, reading.exact) == (True, True, True)


@pytest.mark.parametrize(
    ("path", "name"),
    [("a/b.gguf", "b.gguf"), ("C:\\a\\b.gguf", "b.gguf"), ("b", "b"), ("peft/run-1/", "run-1"), (None, "?"), ("", "?")],
)
def test_a_file_is_called_by_the_last_part_of_its_path(path: str | None, name: str) -> None:
    assert FileRecord(path=path).name == name


def test_what_was_compared_is_told_by_the_names_of_the_files() -> None:
    provenance = Provenance.model_validate(
        {
            "model": {"path": "/m/base.gguf"},
            "base_adapters": [{"path": "/m/sft.gguf", "scale": 1.0}],
            "ft_adapters": [{"path": "/m/a.gguf", "scale": 0.5}, {"path": "/m/b.gguf", "scale": 1}],
        }
    )
    assert provenance.compared == ("a.gguf@0.5 + b.gguf", "base.gguf + sft.gguf")


# All probes together


@pytest.mark.parametrize(
    ("verdicts", "worst"),
    [
        (["pass", "fail", "error"], "error"),
        (["pass", "warn", "fail"], "fail"),
        (["skip", "pass", "warn"], "warn"),
        (["skip", "pass"], "pass"),
        (["skip"], "skip"),
        ([], "skip"),
    ],
)
def test_the_worst_verdict_is_that_of_the_report(verdicts: list[Verdict], worst: str) -> None:
    assert overall([probe(verdict) for verdict in verdicts])[0] == worst
    assert overall([probe(verdict) for verdict in reversed(verdicts)])[0] == worst


def test_the_score_is_the_mean_by_weight_of_those_that_have_one() -> None:
    heavy, light = probe(score=1.0, evidence={"weight": 3.0}), probe(score=0.5)
    silent = probe(score=None, evidence={"weight": 50.0})
    assert overall([heavy, light, silent])[1] == pytest.approx(3.5 / 4)
    assert overall([silent])[1] is None
    assert overall([probe(evidence={"weight": 0.0})])[1] is None


@pytest.mark.parametrize("kind", ["tool_use_fidelity", "of the future"])
@pytest.mark.parametrize("weight", ["x", None, -1, float("nan"), [2]])
def test_a_weight_that_is_none_counts_as_one(kind: str, weight: Any) -> None:
    assert probe(kind=kind, evidence={"weight": weight}).weight == 1.0
    assert probe(kind=kind, evidence={"weight": 2}).weight == 2.0


# Two runs


def test_two_runs_that_found_the_same_differ_in_nothing(files: Files) -> None:
    first, second = a_report(files), a_report(files)
    back = Report.model_validate_json(first.model_dump_json())
    other_times = second.model_copy(update={"timing": {}, "warnings": ("late",), "loracheck_version": "99"})
    assert list(differences(back, other_times)) == []


def test_what_two_runs_found_differently_is_named_by_its_place(files: Files) -> None:
    first = check(make_suite(files), engine=answering())
    second = check(make_suite(files), engine=answering(adapter=failing_from(4)))
    places = list(differences(first, second))
    assert {"verdict", "score", "probes[0].verdict", "probes[0].cases[3].ft.text"} <= set(places)
    assert "probes[0].evidence.json_valid_rate_ft" in places
    assert not any(place.startswith("probes[0].cases[0]") for place in places)
    assert list(differences(first, check(make_suite(files, cases=2), engine=answering())))
