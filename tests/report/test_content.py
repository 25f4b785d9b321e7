"""What every form has to show, whatever the kind of probe."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest

from loracheck import probes
from loracheck.probes import KINDS
from loracheck.probes.probe import Reason, Row, Words
from loracheck.report import FORMS
from loracheck.report.ci import annotations
from loracheck.report.content import content_of, together
from loracheck.report.terminal import as_text
from loracheck.results import CaseReport, ProbeReport, overall
from loracheck.scoring.certainty import GRADES
from report.reports import FULL_EVIDENCE, LIMITS, answer, broken_case, case, full_report, probe, report

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loracheck.results import Report

FOR_PEOPLE = ("terminal", "markdown", "html")


def words(made: Report, form: str) -> str:
    """What a person reads in one of the forms, without tags and line breaks."""
    text = as_text(made, verbose=True) if form == "terminal" else FORMS[form].render(made)
    text = re.sub(r"<(style|script)>.*?</\1>", "", text, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", text)).split())


def judged(*cases: CaseReport, name: str = "tools_intact") -> ProbeReport:
    """As a check judges these cases, by the default limits and without null adapters."""
    return KINDS["tool_use_fidelity"].judge_again(probe(*cases, name=name), {}, seed=0)


def silent(outcome: str, times: int) -> list[CaseReport]:
    """Cases in which neither view makes a valid call."""
    return [case(f"{outcome}{n}", answer("", outcome), answer("", outcome)) for n in range(times)]


class OtherWords(Words):
    """How a kind of probe from elsewhere reads."""

    def reasons(self, report: ProbeReport) -> list[Reason]:
        return [Reason("It answers slowly.", "That is 3 seconds a case.")]

    def caution(self, report: ProbeReport) -> str | None:
        return "The machine was busy."

    def rows(self, report: ProbeReport) -> Iterable[Row]:
        yield Row("latency", "1.0", "3.0", "+2.0", "at most 2.0", kept=False)
        yield Row("cores", limit="not judged; 8 of them")

    def paragraphs(self, report: ProbeReport) -> Iterable[str]:
        yield "The first case is left out."
        yield "The machine was busy."


@pytest.mark.parametrize("form", FOR_PEOPLE)
def test_a_kind_from_elsewhere_shows_its_reasons_figures_and_paragraphs(
    monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setitem(probes.KINDS, "speed", OtherWords())
    slow = ProbeReport(name="fast_enough", kind="speed", verdict="fail", message="slow", evidence={"seconds": 3.0})
    text = words(report(slow), form)
    for sentence in (
        "It answers slowly.",
        "That is 3 seconds a case.",
        "The machine was busy.",
        "latency",
        "+2.0",
        "at most 2.0",
        "not judged; 8 of them",
        "The first case is left out.",
    ):
        assert text.count(sentence) == 1, sentence
    assert "missed" in text.lower()
    assert "Against null adapters" not in text


@pytest.mark.parametrize("form", FOR_PEOPLE)
def test_a_kind_nobody_knows_has_its_message(form: str) -> None:
    newer = ProbeReport(name="p", kind="something_new", verdict="warn", message="what it saw", evidence={"a": [1]})
    assert words(report(newer), form).count("what it saw") == 1


@pytest.mark.parametrize("form", [*FOR_PEOPLE, "junit"])
def test_a_report_that_was_judged_again_says_so(form: str) -> None:
    limits = {"assert_validity_delta_gte": -0.1, "assert_z_gte": 2.0}
    note = "Judged again with assert_validity_delta_gte = -0.1, assert_z_gte = 2 in place of the suite's own limits."
    for made in (full_report(), report(probe(case()), probe(case(), name="again"))):
        assert note in words(made.model_copy(update={"judged_with": limits}), form)
        assert "Judged again" not in words(made, form)


def test_a_failed_verdict_that_was_judged_again_says_so_in_its_annotation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    again = full_report().model_copy(update={"judged_with": {"assert_z_gte": 2.0}})
    assert "Judged again with assert_z_gte = 2 in place of the suite's own limits." in next(annotations(again))


@pytest.mark.parametrize("form", [*FOR_PEOPLE, "junit"])
def test_people_read_adapter_and_null_adapters(form: str) -> None:
    text = words(full_report(), form)
    assert not re.search(r"\bft\b", text)
    assert not re.search(r"against noise|noise (adapter|baseline)|random adapter", text, re.IGNORECASE)
    assert "adapter" in text


def test_the_caution_is_beside_the_verdict_where_that_hangs_on_it_and_a_paragraph_elsewhere() -> None:
    decisive = content_of(full_report().probes[0])
    assert decisive.caution
    assert decisive.caution not in decisive.paragraphs
    surely = {**FULL_EVIDENCE["certainty"], "assert_hallucination_lte": {"grade": "established"}}
    misnamed = probe(broken_case(), evidence={**FULL_EVIDENCE, "hallucination_rate": 0.9, "certainty": surely})
    assert content_of(misnamed).caution is None
    assert decisive.caution in content_of(misnamed).paragraphs


EVERY_FORM = (*FOR_PEOPLE, "junit")


@pytest.mark.parametrize("form", EVERY_FORM)
@pytest.mark.parametrize(
    ("lost", "of", "grade"), [(1, 12, "may be chance"), (5, 32, "a real drop, size unsure"), (0, 80, "established")]
)
def test_every_form_says_how_sure_the_verdict_is(form: str, lost: int, of: int, grade: str) -> None:
    made = judged(*(case(f"{n}") for n in range(of - lost)), *(broken_case(f"broken{n}") for n in range(lost)))
    text = words(report(made), form)
    assert grade in text
    assert not any(other in text for other in GRADES.values() if other != grade)


def test_an_annotation_says_how_sure_the_verdict_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    made = report(judged(*(case(f"{n}") for n in range(11)), broken_case()))
    assert "title=fail%2C may be chance%3A tools_intact::" in next(annotations(made))


@pytest.mark.parametrize("form", FOR_PEOPLE)
def test_where_nothing_was_compared_every_form_says_so_first(form: str) -> None:
    made = judged(*silent("no_call", 20), *silent("truncated", 4))
    text = words(report(made, verdict=overall([made])[0]), form)
    assert "PASS" not in text
    assert text.index("WARN") < text.index("Nothing was compared: neither view makes a valid call.")
    assert "40 of 48 answers are without a call, 8 cut off before the end." in text


def test_where_nothing_was_compared_ci_is_warned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (line,) = annotations(report(judged(*silent("malformed", 12))))
    assert line.startswith("::warning title=warn%2C nothing was compared%3A tools_intact::Nothing was compared")
    assert "All 24 answers are calls that cannot be read." in line


@pytest.mark.parametrize("form", EVERY_FORM)
def test_several_probes_say_that_they_are_several_tries(form: str) -> None:
    cases = [case(f"{n}") for n in range(12)]
    lossy = [case(f"{n}") for n in range(4)] + [broken_case(f"b{n}") for n in range(8)]
    three = [judged(*cases, name="a"), judged(*lossy, name="b"), judged(*cases, name="c")]
    text = words(report(*three), form)
    assert "3 probes are 3 tries: if 1 answer in 50 flips by chance, at least one of them FAILs in 52% of runs." in text
    # 2 / 2**8 for the eight, three times.
    assert "Corrected for that (Holm), p is 0.023 in b." in text
    assert "tries" not in words(report(three[0]), form)


def test_only_so_many_corrected_p_values_are_listed() -> None:
    lossy = [broken_case(f"{n}") for n in range(12)]
    said = together(report(*(judged(*lossy, name=f"probe{n}") for n in range(7))))
    assert said is not None
    assert said.endswith("0.0034 in probe3, 0.0034 in probe4, ….")


def test_outcomes_are_those_of_the_cases_that_ask_for_a_call() -> None:
    quiet = case("quiet", answer(outcome="valid"), answer(outcome="no_call"), expect="no_call")
    made = content_of(probe(case(), broken_case(), quiet)).transitions
    assert made
    assert made.columns == ["valid", "no_call"]
    assert made.rows == [("valid", [1, 1])]
    assert made.any_changed


@pytest.mark.parametrize("counted", [{}, {"valid": {}}, {"valid": {"valid": 0}}, {"what": {"valid": 3}}, "words", None])
def test_a_report_without_cases_and_counts_has_no_outcomes(counted: Any) -> None:
    assert content_of(probe(evidence={"limits": LIMITS, "transitions": counted})).transitions is None
