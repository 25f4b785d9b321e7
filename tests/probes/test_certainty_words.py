"""How sure a verdict is, in words."""

from __future__ import annotations

from typing import Any

import pytest

from loracheck.probes import KINDS
from loracheck.probes.certainty_words import caution, chances, doubt_about_validity, how_often, nothing_compared
from loracheck.probes.tool_use_words import paragraphs, reasons, rows
from loracheck.results import CaseReport, ProbeReport
from loracheck.scoring import NullSample
from loracheck.scoring.evidence import Evidence, Flips
from report.reports import answer, broken_case, case, probe

KIND = KINDS["tool_use_fidelity"]


def judged(*cases: CaseReport, evidence: dict[str, Any] | None = None, **limits: float) -> ProbeReport:
    """As a check judges these cases, by the default limits unless told otherwise."""
    given = probe(*cases, **({"evidence": evidence} if evidence else {}))
    return KIND.judge_again(given, limits, seed=0)


def cases(right: int, lost: int = 0, gained: int = 0, misnamed: int = 0, both_misnamed: int = 0) -> list[CaseReport]:
    wrong = answer("", "wrong_tool")
    return [
        *(case(f"right{n}") for n in range(right)),
        *(broken_case(f"lost{n}") for n in range(lost)),
        *(case(f"gained{n}", base=answer("", "no_call")) for n in range(gained)),
        *(case(f"misnamed{n}", wrong) for n in range(misnamed)),
        *(case(f"both{n}", wrong, wrong) for n in range(both_misnamed)),
    ]


# What to bear in mind


def test_a_verdict_that_hangs_on_too_few_cases_says_how_many_it_takes() -> None:
    assert caution(judged(*cases(34, lost=1))) == (
        "Too few cases to be sure: the change may be -15 to +7 points (95% interval), and the limit is -5.0 points. "
        "It takes about 398 cases in all for even odds of being sure, and about 1,020 for four in five."
    )


def test_a_change_on_the_limit_is_not_settled_by_any_number_of_cases() -> None:
    said = caution(judged(*cases(19, lost=1)))
    assert said is not None
    assert said.endswith("and the limit is -5.0 points.")


def test_a_fail_by_another_limit_in_doubt_says_which() -> None:
    assert caution(judged(*cases(28, misnamed=4))) == (
        "Too few cases to be sure: wrong tool names may be 5.0% to 28.1% (95% interval), and the limit is 10.0%."
    )


def test_a_fail_with_one_limit_surely_missed_needs_no_caution() -> None:
    surely = judged(*cases(2, misnamed=30))
    assert (surely.verdict, caution(surely)) == ("fail", None)
    # Whether valid calls kept theirs is still told among the numbers.
    assert doubt_about_validity(surely.comparison) in list(paragraphs(surely))


def test_a_pass_in_doubt_about_wrong_names_alone_says_so() -> None:
    said = caution(judged(*cases(76, misnamed=4)))
    assert said is not None
    assert said.startswith("Too few cases to be sure: wrong tool names may be 2.0% to 12.2%")


def test_a_z_in_doubt_is_told_as_z() -> None:
    samples = {"rank_1.00": NullSample((0, 0, 0), 2)}
    gained = cases(0, gained=50) + [case(f"no{n}", answer("", "no_call"), answer("", "no_call")) for n in range(30)]
    made = judged(*gained, evidence={"null": {"samples": samples, "rates": [0.0, 0.0, 0.0]}})
    said = caution(made)
    assert said is not None
    assert said.startswith("Too few cases to be sure: z may be +2.8 to +4.0 (95% interval), and the limit is +3.0.")


def test_a_verdict_that_is_established_needs_no_caution() -> None:
    assert caution(judged(*cases(80))) is None
    assert caution(judged(*cases(22, lost=10))) is None


# What chance alone would do


def test_what_it_takes_to_fail_is_one_line() -> None:
    assert list(chances(judged(*cases(12)).comparison)) == [
        "A check of 12 cases FAILs from 1 lost case; a true drop of 13 points FAILs 4 runs in 5; p < 0.05 needs 58. "
        "If 1 answer in 50 flips by chance, that alone FAILs 22% of runs."
    ]


def test_too_few_for_a_small_p_are_told_without_it() -> None:
    (said,) = chances(judged(*cases(5)).comparison)
    assert "p < 0.05" not in said
    assert said.startswith("A check of 5 cases FAILs from 1 lost case; a true drop of 28 points FAILs 4 runs in 5.")


def test_a_base_with_nothing_to_lose_has_no_such_line() -> None:
    assert list(chances(judged(*cases(0, gained=12)).comparison)) == []


def test_measured_flips_are_told_and_counted_with() -> None:
    evidence = judged(*cases(80)).comparison
    power = evidence.power.model_copy(update={"flip_rate": 1.5 / 81, "chance_of_fail": 0.0584})
    flips = Flips(answers=0.0625, outcomes=0.0125, cases=80, width=1)
    said = list(chances(evidence.model_copy(update={"flips": flips, "power": power})))
    assert said[0].endswith("If 1.9% of answers flip by chance, as measured, that alone FAILs 5.8% of runs.")
    assert (
        said[1] == "Asked once more, 1 case at a time, the base changed 6.2% of its answers and 1.2% of their outcomes."
    )


def test_a_base_near_the_cap_is_told_what_that_does_to_a_harmless_adapter() -> None:
    said = list(chances(judged(*cases(63, both_misnamed=7)).comparison))
    assert said[1:] == [
        "The base itself names a wrong tool in 10.0% of its valid calls: an adapter that does no worse FAILs 40% of "
        "runs by the limit of 10.0%."
    ]
    assert len(list(chances(judged(*cases(69, both_misnamed=1)).comparison))) == 1


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.25, "25%"),
        (1.0, "100%"),
        (0.0, "0.0%"),
        (0.0075, "0.8%"),
        (0.00099, "under 0.1%"),
        (0.016, "1.6%"),
        (0.0996, "10%"),
    ],
)
def test_what_is_rare_keeps_a_digit(share: float, text: str) -> None:
    assert how_often(share) == text


def test_how_uneven_a_split_is_is_told_where_something_changed() -> None:
    first, *_ = paragraphs(judged(*cases(9, lost=3)))
    assert first.endswith(
        ". If changed cases were as likely gained as lost, a split this uneven would come up in 25% of checks."
    )
    first, *_ = paragraphs(judged(*cases(12)))
    assert first == "Valid calls: 0 lost, 0 gained of 12; change +0 points, 95% interval -24 to +24."


# The limit itself


def test_a_change_that_is_the_limit_itself_is_said_to_be() -> None:
    fails, passes = judged(*cases(76, lost=4)), judged(*cases(72, lost=4), *silent(4))
    assert (fails.verdict, passes.verdict) == ("fail", "pass")
    assert reasons(fails)[0].detail.endswith("a change of -5.0 points, exactly at the limit: rounding decides.")
    assert reasons(passes)[0].detail == "Valid calls are exactly at the limit: rounding decides."
    assert "exactly" not in reasons(judged(*cases(75, lost=5)))[0].detail


def silent(times: int, outcome: Any = "no_call") -> list[CaseReport]:
    return [case(f"silent{n}", answer("", outcome), answer("", outcome)) for n in range(times)]


# Nothing compared


@pytest.mark.parametrize(
    ("outcomes", "detail"),
    [
        ({"base": {"no_call": 12}, "ft": {"no_call": 12}}, "All 24 answers are without a call."),
        (
            {"base": {"truncated": 10, "malformed": 2}, "ft": {"truncated": 11, "bad_arguments": 1}},
            "21 of 24 answers are cut off before the end, 2 calls that cannot be read, 1 calls with bad arguments.",
        ),
        ({}, ""),
    ],
)
def test_why_nothing_was_compared_is_what_became_of_the_answers(outcomes: Any, detail: str) -> None:
    assert nothing_compared(Evidence(outcomes=outcomes)).detail == detail


def test_a_z_of_nothing_is_no_reason() -> None:
    samples = {"rank_1.00": NullSample((0, 0, 0), 2)}
    made = judged(*silent(12), evidence={"null": {"samples": samples}})
    assert (made.verdict, made.z_score) == ("fail", 0.0)
    assert [reason.headline for reason in reasons(made)] == ["Nothing was compared: neither view makes a valid call."]
    assert (caution(made), doubt_about_validity(made.comparison)) == (None, None)


def test_a_call_where_none_fits_is_a_reason_even_then() -> None:
    loud = case("loud", answer("", "valid"), answer("", "no_call"), expect="no_call")
    made = judged(*silent(12), loud, assert_abstention_gte=0.9)
    assert [reason.headline.split(":")[0] for reason in reasons(made)] == [
        "Nothing was compared",
        "1 of 1 requests that fit no tool bring a call.",
    ]


# Rows


def row(made: ProbeReport, name: str) -> Any:
    return next((row for row in rows(made) if row.name == name), None)


def test_the_base_has_its_own_z_and_its_own_wrong_names() -> None:
    samples = {"rank_1.00": NullSample((0, 0, 0), 2)}
    made = judged(*cases(7, both_misnamed=1), evidence={"null": {"samples": samples, "on": "sentinels"}})
    assert (row(made, "above null adapters").base, row(made, "above null adapters").adapter) == ("z +5.5", "z +5.5")
    assert (row(made, "wrong tool names").base, row(made, "wrong tool names").adapter) == ("12.5%", "12.5%")


def test_a_p_against_answers_to_other_questions_is_not_shown() -> None:
    for on, shown in (("cases", True), ("sentinels", False), (None, False)):
        made = probe(*cases(4), evidence={"null": {"p_value": 0.01, "on": on}})
        assert (row(made, "p, null adapters") is not None) is shown


def test_the_interval_of_a_rate_of_100_percent_has_a_width() -> None:
    made = judged(*cases(32))
    assert made.ci_95 == (1.0, 1.0)
    assert row(made, "95% interval").limit == "89% to 100% valid calls, of 32"
