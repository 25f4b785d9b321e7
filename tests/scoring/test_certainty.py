"""How sure a verdict is."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.scoring import Calibration, Limits, NullSample, Trial, judge
from loracheck.scoring.certainty import GRADES, Spread, grade_of_limit, grade_of_verdict
from loracheck.scoring.limits import LimitCheck
from loracheck.scoring.statistics import Paired, delta_interval, log_choose

from .readings import came_out

SILENT = {1.0: NullSample((0, 0, 0), 2)}

grades = st.sampled_from(list(GRADES))


def trials(*groups, expects_call=True):
    """Base, adapter, how often."""
    return [Trial(came_out(base), came_out(ft), expects_call) for base, ft, times in groups for _ in range(times)]


def judged(*groups, **options):
    return judge(trials(*groups), **options)


def graded(*groups, **options):
    judgement = judged(*groups, **options)
    return judgement.verdict, judgement.evidence.grade


# One limit


@pytest.mark.parametrize(
    ("interval", "real", "grade"),
    [
        ((-0.4, -0.06), True, "established"),
        ((-0.04, 0.1), False, "established"),
        ((-0.05, 0.1), False, "established"),  # every change in it keeps the floor
        ((-0.4, -0.05), True, "real_drop"),
        ((-0.4, -0.01), True, "real_drop"),
        ((-0.4, 0.1), False, "may_be_chance"),
    ],
)
def test_a_floor_is_in_doubt_while_the_interval_holds_passes_and_misses(interval, real, grade):
    assert grade_of_limit(LimitCheck(-0.1, -0.05, kept=False), Spread(interval, real)) == grade


@pytest.mark.parametrize(
    ("interval", "grade"),
    [
        ((0.11, 0.4), "established"),
        ((0.0, 0.1), "established"),
        ((0.1, 0.4), "may_be_chance"),
        ((0.0, 0.11), "may_be_chance"),
    ],
)
def test_a_cap_is_in_doubt_the_other_way_round(interval, grade):
    assert grade_of_limit(LimitCheck(0.2, 0.1, kept=False, is_cap=True), Spread(interval, is_real_drop=False)) == grade


def test_what_is_not_judged_has_no_grade():
    spread = Spread((0.0, 1.0), is_real_drop=False)
    assert grade_of_limit(LimitCheck(None, 0.5, kept=None), spread) is None
    assert grade_of_limit(LimitCheck(0.5, None, kept=None), spread) is None


# The verdict


def verdict_grade(missed, kept):
    checks = {f"m{n}": LimitCheck(0, 1, kept=False) for n in range(len(missed))}
    checks |= {f"k{n}": LimitCheck(1, 0, kept=True) for n in range(len(kept))}
    return grade_of_verdict(checks, dict(zip(checks, [*missed, *kept], strict=True)))


@given(st.lists(grades, min_size=1), st.lists(grades))
def test_a_fail_is_as_sure_as_the_surest_limit_it_missed(missed, kept):
    assert verdict_grade(missed, kept) == next(grade for grade in GRADES if grade in missed)


@given(st.lists(grades, min_size=1))
def test_a_pass_is_established_only_where_no_limit_is_in_doubt(kept):
    grade = verdict_grade([], kept)
    assert (grade == "established") is (set(kept) == {"established"})
    assert (grade == "real_drop") is ("real_drop" in kept)


def test_nothing_judged_has_no_grade():
    assert verdict_grade([], []) is None
    assert judge([]).evidence.grade is None
    assert graded(("no_call", "valid", 4))[1] is not None
    assert judge(trials(("no_call", "no_call", 4), expects_call=False)).evidence.grade is None


# From cases to a grade


@pytest.mark.parametrize(
    ("groups", "verdict", "grade"),
    [
        ([("valid", "valid", 11), ("valid", "no_call", 1)], "fail", "may_be_chance"),
        ([("valid", "valid", 26), ("valid", "no_call", 5), ("no_call", "no_call", 1)], "fail", "real_drop"),
        ([("valid", "valid", 22), ("valid", "no_call", 10)], "fail", "established"),
        ([("valid", "valid", 12)], "pass", "may_be_chance"),
        ([("valid", "valid", 80)], "pass", "established"),
        ([("valid", "valid", 193), ("valid", "no_call", 7)], "pass", "real_drop"),
        ([("no_call", "valid", 80)], "pass", "established"),
    ],
)
def test_valid_calls_are_graded_by_the_interval_of_their_change(groups, verdict, grade):
    assert graded(*groups) == (verdict, grade)


@pytest.mark.parametrize(
    ("groups", "grade"),
    [
        ([("valid", "valid", 28), ("valid", "wrong_tool", 4)], "may_be_chance"),
        ([("valid", "valid", 70), ("valid", "wrong_tool", 10)], "real_drop"),
        # As many of the base's own: the adapter did nothing.
        ([("valid", "valid", 70), ("wrong_tool", "wrong_tool", 10)], "may_be_chance"),
        ([("valid", "valid", 60), ("valid", "wrong_tool", 20)], "established"),
        # A base that makes no call has no names to hold the adapter's against.
        ([("no_call", "valid", 70), ("no_call", "wrong_tool", 10)], "may_be_chance"),
    ],
)
def test_wrong_names_are_graded_by_the_interval_of_their_rate_and_against_the_bases_own(groups, grade):
    assert graded(*groups) == ("fail", grade)


def test_a_pass_of_80_cases_may_hang_on_its_wrong_names():
    evidence = judged(("valid", "valid", 76), ("valid", "wrong_tool", 4)).evidence
    assert {name: each.grade for name, each in evidence.certainty.items()} == {
        "assert_validity_delta_gte": "established",
        "assert_hallucination_lte": "may_be_chance",
    }
    low, high = evidence.certainty["assert_hallucination_lte"].interval_95
    assert low < 0.05 < 0.1 < high
    assert evidence.grade == "may_be_chance"


@pytest.mark.parametrize(
    ("valid", "grade"), [(30, "established"), (19, "may_be_chance"), (16, "may_be_chance"), (4, "established")]
)
def test_z_is_graded_by_the_interval_of_the_adapters_rate(valid, grade):
    # Three times 18 % over silent null adapters is 55 %.
    judgement = judged(("no_call", "valid", valid), ("no_call", "no_call", 32 - valid), samples=SILENT)
    certainty = judgement.evidence.certainty["assert_z_gte"]
    assert certainty.grade == grade
    low, high = certainty.interval_95
    assert low < judgement.z_score < high


def test_a_z_that_fell_with_the_valid_calls_is_a_real_drop():
    groups = [("valid", "valid", 16), ("valid", "no_call", 16)]
    assert judged(*groups, samples=SILENT).evidence.certainty["assert_z_gte"].grade == "real_drop"


def test_without_a_z_there_is_no_grade_of_it():
    harmless = {1.0: NullSample((2, 2, 2), 2)}
    assert "assert_z_gte" not in judged(("valid", "valid", 80), samples=harmless).evidence.certainty


def test_limits_that_a_suite_adds_are_graded_too():
    exact = [
        Trial(came_out("valid", arguments_correct=True), came_out("valid", arguments_correct=right))
        for right in [True] * 30 + [False] * 50
    ]
    limits = Limits(assert_exact_arguments_gte=0.5, assert_abstention_gte=0.9)
    evidence = judge(
        exact + trials(("no_call", "no_call", 9), ("no_call", "valid", 1), expects_call=False), limits=limits
    ).evidence
    assert evidence.certainty["assert_exact_arguments_gte"].grade == "established"
    assert evidence.certainty["assert_abstention_gte"].grade == "may_be_chance"
    assert evidence.grade == "established"


def test_where_neither_view_makes_a_valid_call_there_is_no_grade():
    for options in ({}, {"samples": SILENT}):
        judgement = judged(("no_call", "truncated", 80), **options)
        assert judgement.evidence.compares_nothing
        assert judgement.evidence.grade is None
        assert judgement.evidence.power.inconclusive
        assert judgement.message.startswith("nothing was compared: adapter 0% valid, base 0%")


def test_the_grade_stands_in_front_of_the_message():
    assert judged(("valid", "valid", 11), ("valid", "no_call", 1)).message.startswith("may be chance: adapter 91.7%")
    assert judged(("valid", "valid", 80)).message.startswith("established: adapter 100% valid")
    assert judged(("valid", "valid", 193), ("valid", "no_call", 7)).message.startswith("a real drop, size unsure: ")


def test_numbers_that_are_not_finite_have_no_grade(monkeypatch):
    sound = judged(("valid", "valid", 80)).evidence
    broken = sound.model_copy(update={"json_valid_rate_ft": math.nan})
    monkeypatch.setattr("loracheck.scoring.verdict.measure", lambda _asked: broken)
    assert graded(("valid", "valid", 80)) == ("error", None)


def test_statistics_made_elsewhere_are_graded_like_any():
    nulls = {1.0: Calibration(0.1, 0.2, 3)}
    assert judged(("valid", "valid", 80), calibrations=nulls).evidence.certainty["assert_z_gte"].grade == "established"


# How often a grade is wrong


def binomial(n, p):
    if p == 0:
        return [1.0] + [0.0] * n
    return [math.exp(log_choose(n, k) + k * math.log(p) + (n - k) * math.log1p(-p)) for k in range(n + 1)]


def chances_of(grade, n, base_valid, flip_rate, floor=-0.05):
    """How often an adapter that only flips answers at random FAILs with this grade; over all that may come out."""
    total = 0.0
    for lost, p_lost in enumerate(binomial(base_valid, flip_rate)):
        for gained, p_gained in enumerate(binomial(n - base_valid, flip_rate)):
            misses = (base_valid - lost + gained) / n - base_valid / n < floor
            if misses and (p := p_lost * p_gained) > 1e-9:
                low, high = delta_interval(Paired(base_valid - lost, lost, gained, n - base_valid - gained))
                spread = Spread((low, high), high < 0)
                total += p * (grade_of_limit(LimitCheck(-1.0, floor, kept=False), spread) == grade)
    return total


@pytest.mark.parametrize("n", [12, 32, 80, 200])
@pytest.mark.parametrize("flip_rate", [0.0, 0.01, 0.02, 0.03])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_an_unchanged_adapter_is_hardly_ever_an_established_fail(n, flip_rate, share):
    assert chances_of("established", n, int(share * n), flip_rate) < 0.025


@pytest.mark.parametrize("n", [12, 32, 80, 200])
def test_a_drop_is_hardly_ever_called_real_where_as_much_is_gained(n):
    # Of a base that is all right, flips only take away: its drop is a real one.
    assert chances_of("real_drop", n, n // 2, 0.03) < 0.025


@pytest.mark.parametrize("n", [12, 32])
def test_nearly_every_fail_of_a_few_cases_by_chance_says_that_it_may_be(n):
    by_grade = {grade: chances_of(grade, n, n, 0.02) for grade in GRADES}
    assert by_grade["may_be_chance"] > 0.95 * sum(by_grade.values()) > 0.12


@pytest.mark.parametrize("n", [32, 80, 200])
def test_an_adapter_that_breaks_a_third_of_the_calls_is_an_established_fail(n):
    broken = binomial(n, 1 / 3)
    established = sum(
        p for lost, p in enumerate(broken) if lost and delta_interval(Paired(n - lost, lost, 0, 0))[1] < -0.05
    )
    assert established > 0.95
