from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.scoring import Limits
from loracheck.scoring.limits import LimitCheck, check_limits, is_exactly_at, missed_in_words, percent

NAMES = [field.name for field in fields(Limits)]
EVERY_LIMIT = Limits(-0.05, 0.10, 3.0, 0.5, 0.5, 0.5, -0.1)
MEASURES = {
    "assert_validity_delta_gte": "delta",
    "assert_hallucination_lte": "hallucination",
    "assert_z_gte": "z",
    "assert_exact_arguments_gte": "exact_arguments",
    "assert_abstention_gte": "abstention",
    "assert_all_calls_gte": "all_calls",
    "assert_pass_hat_k_delta_gte": "pass_hat_k_delta",
}
SHARES = ("exact_arguments", "abstention", "all_calls")
KEPT = {"delta": 0.0, "hallucination": 0.0, "z": 9.0, **dict.fromkeys(SHARES, 1.0), "pass_hat_k_delta": 0.0}
MISSED = {"delta": -1.0, "hallucination": 1.0, "z": 0.0, **dict.fromkeys(SHARES, 0.0), "pass_hat_k_delta": -1.0}


def checks(limits=EVERY_LIMIT, **changes):
    return check_limits(limits, **{**KEPT, **changes})


def test_every_limit_has_its_check_in_the_order_of_the_suite_file():
    assert list(checks()) == NAMES == list(MEASURES)
    assert checks()["assert_z_gte"] == LimitCheck(value=9.0, bound=3.0, kept=True)


def test_the_defaults_are_those_of_the_contract():
    assert Limits() == Limits(-0.05, 0.10, 3.0, None, None, None, None)


@pytest.mark.parametrize("name", NAMES)
def test_each_limit_is_kept_missed_or_not_judged_on_its_own(name):
    measure = MEASURES[name]
    assert {check.kept for check in checks().values()} == {True}
    missed = checks(**{measure: MISSED[measure]})
    assert [limit for limit, check in missed.items() if check.kept is False] == [name]
    unknown = checks(**{measure: None})
    # Without a delta no call was asked for, and no name could be wrong.
    silent = {"assert_validity_delta_gte", "assert_hallucination_lte"} if measure == "delta" else {name}
    assert {limit for limit, check in unknown.items() if check.kept is None} == silent
    assert unknown[name].value is None
    assert missed_in_words(unknown) == []


@pytest.mark.parametrize("name", NAMES)
def test_each_limit_is_kept_by_meeting_it_exactly(name):
    measure, bound = MEASURES[name], getattr(EVERY_LIMIT, name)
    beyond = 1e-9 if name.endswith("_lte") else -1e-9
    assert checks(**{measure: bound})[name].kept is True
    assert checks(**{measure: bound + beyond})[name].kept is False


@pytest.mark.parametrize("measure", [*SHARES, "pass_hat_k_delta"])
def test_the_limits_that_are_off_when_left_out_are_not_judged(measure):
    check = check_limits(Limits(), **MISSED)[f"assert_{measure}_gte"]
    assert check == LimitCheck(value=MISSED[measure], bound=None, kept=None)


def test_what_is_not_a_number_keeps_no_limit():
    assert {check.kept for check in checks(**dict.fromkeys(KEPT, float("nan"))).values()} == {False}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"delta": -0.25}, "delta -25.0 points is under the limit of -5.0"),
        ({"delta": 0.95 - 1.0}, "delta -5.0000000000000044 points is under the limit of -5.0"),
        ({"hallucination": 1 / 3}, "33.3% wrong tool names is over the limit of 10%"),
        ({"z": 2.0}, "z +2.00 is under the limit of 3"),
        ({"z": -0.5}, "z -0.50 is under the limit of 3"),
        ({"exact_arguments": 0.25}, "25% exact arguments is under the limit of 50%"),
        ({"abstention": 0.125}, "12.5% abstention is under the limit of 50%"),
        ({"pass_hat_k_delta": -0.25}, "pass^k -25.0 points is under the limit of -10.0"),
    ],
)
def test_a_missed_limit_is_told_in_words(changes, words):
    assert missed_in_words(checks(**changes)) == [words]


def test_several_missed_limits_are_told_in_the_order_of_the_suite_file():
    words = missed_in_words(checks(**MISSED))
    assert [line.split(" is ")[0] for line in words] == [
        "delta -100.0 points",
        "100% wrong tool names",
        "z +0.00",
        "0% exact arguments",
        "0% abstention",
        "0% answers with all their calls right",
        "pass^k -100.0 points",
    ]
    assert missed_in_words(checks()) == []


numbers = st.none() | st.floats(-2, 2)


@given(st.builds(Limits, *[st.floats(-2, 2)] * 3, *[numbers] * 4), st.fixed_dictionaries(dict.fromkeys(KEPT, numbers)))
def test_exactly_the_missed_limits_are_told(limits, measures):
    judged = check_limits(limits, **measures)
    assert len(missed_in_words(judged)) == sum(check.kept is False for check in judged.values())
    assert all((check.kept is None) is (check.value is None or check.bound is None) for check in judged.values())


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0%"), (1.0, "100%"), (1 / 3, "33.3%"), (0.0004, "0%"), (0.9996, "100%"), (0.005, "0.5%")]
)
def test_a_share_is_told_in_percent_with_a_tenth_where_there_is_one(share, text):
    assert percent(share) == text


@pytest.mark.parametrize(
    ("lost", "cases", "floor", "exactly"),
    [
        (4, 80, -0.05, True),
        (1, 20, -0.05, True),
        (1, 3, -1 / 3, False),
        (5, 80, -0.05, False),
        (0, 7, 0.0, True),
        (0, 0, 0.0, False),
    ],
)
def test_a_change_is_the_limit_itself_as_it_is_written_whatever_floats_make_of_it(lost, cases, floor, exactly):
    assert is_exactly_at(0, lost, cases, floor) is exactly
    assert is_exactly_at(lost, 0, cases, -floor) is exactly


def test_at_80_cases_five_points_exactly_fail_for_32_of_77_bases():
    fails = [(base - 4) / 80 - base / 80 < -0.05 for base in range(4, 81)]
    assert (len(fails), sum(fails)) == (77, 32)
    assert is_exactly_at(0, 4, 80, -0.05)
