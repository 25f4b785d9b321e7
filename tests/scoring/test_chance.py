"""What so many cases can tell, and what chance alone would make of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.scoring import Limits, Trial
from loracheck.scoring.chance import (
    chance_of_any,
    chance_of_fail,
    chance_of_wrong_names,
    fails_from,
    power_of,
)
from loracheck.scoring.evidence import Flips, Power

from .readings import came_out

sizes = st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))
floors = st.floats(-1.2, 1.2)


def verdict_misses(n, base_valid, lost, gained, floor):
    return (base_valid - lost + gained) / n - base_valid / n < floor


def trials(*pairs):
    return [Trial(came_out(base), came_out(ft)) for base, ft, times in pairs for _ in range(times)]


# How few lost cases FAIL


@pytest.mark.parametrize(("n", "lost"), [(8, 1), (12, 1), (20, 1), (32, 2), (80, 4), (101, 6), (200, 10)])
def test_so_many_lost_cases_fail(n, lost):
    assert fails_from(n, n, -0.05) == lost


def test_a_change_that_is_the_limit_itself_fails_by_rounding_for_some_bases_and_not_for_others():
    # Four of 80 are five points. 0.95 - 1.0 lies a rounding error under -0.05, 0.9 - 0.95 one over it.
    assert [base_valid for base_valid in (80, 76) if fails_from(80, base_valid, -0.05) == 4] == [80]
    assert sum(fails_from(80, base_valid, -0.05) == 4 for base_valid in range(4, 81)) == 32


@given(sizes, floors)
def test_it_is_the_fewest_that_the_verdict_calls_a_miss(size, floor):
    n, base_valid = size
    misses = [lost for lost in range(base_valid + 1) if verdict_misses(n, base_valid, lost, 0, floor)]
    assert fails_from(n, base_valid, floor) == (misses[0] if misses else None)


def test_a_base_with_too_few_calls_to_lose_cannot_fail_by_losing_them():
    assert fails_from(80, 3, -0.05) is None
    assert fails_from(80, 0, -0.05) is None


@pytest.mark.parametrize(("floor", "fewest"), [(1e308, 0), (-1e308, None), (0.5, 0)])
def test_any_floor_gives_an_answer(floor, fewest):
    assert fails_from(80, 80, floor) == fewest


# How often chance alone FAILs


@pytest.mark.parametrize(("n", "percent"), [(12, 21.5), (32, 13.4), (80, 7.7), (200, 0.75)])
def test_one_flip_in_fifty_fails_this_often(n, percent):
    assert 100 * chance_of_fail(n, n, -0.05, 0.02) == pytest.approx(percent, abs=0.05)


def test_three_probes_of_twelve_cases_fail_every_other_time():
    assert chance_of_any([chance_of_fail(12, 12, -0.05, 0.02)] * 3) == pytest.approx(0.52, abs=0.005)
    assert (chance_of_any([]), chance_of_any([0.25])) == (0.0, 0.25)


@pytest.mark.parametrize(
    ("n", "base_valid", "floor", "rate"), [(12, 12, -0.05, 0.02), (32, 20, -0.05, 0.1), (80, 40, -0.02, 0.03)]
)
def test_flipping_answers_at_random_fails_as_often(n, base_valid, floor, rate):
    rng = np.random.default_rng(n)
    base = np.arange(n) < base_valid  # (n,)
    flipped = rng.random((40_000, n)) < rate  # (runs, n)
    delta = (base ^ flipped).sum(axis=1) / n - base_valid / n  # (runs,)
    assert chance_of_fail(n, base_valid, floor, rate) == pytest.approx((delta < floor).mean(), abs=0.008)


@given(sizes, floors, st.floats(0, 1))
def test_it_is_a_chance(size, floor, rate):
    assert 0 <= chance_of_fail(*size, floor, rate) <= 1


@given(sizes, st.floats(-1, -0.001))
def test_answers_that_never_flip_never_fail(size, floor):
    assert chance_of_fail(*size, floor, 0.0) == 0.0
    assert chance_of_fail(*size, 0.5, 0.0) == 1.0  # a floor that asks for more than the base does


def test_without_cases_there_is_no_chance():
    assert chance_of_fail(0, 0, -0.05, 0.02) is chance_of_wrong_names(0, 0.1, 0.1) is None
    assert power_of([], Limits(), None) == Power()


def test_a_base_at_the_cap_makes_a_harmless_adapter_fail_in_two_runs_of_five():
    assert chance_of_wrong_names(70, 0.1, 0.1) == pytest.approx(0.40, abs=0.005)
    assert chance_of_wrong_names(70, 0.0, 0.1) == 0.0
    assert chance_of_wrong_names(70, 1.0, 0.1) == 1.0


# All of it


def test_power_is_told_for_the_cases_at_hand():
    power = power_of(trials(("valid", "valid", 11), ("valid", "no_call", 1)), Limits(), None)
    assert (power.fails_from, power.flip_rate, power.inconclusive) == (1, 0.02, True)
    assert 100 * power.failing_drop == pytest.approx(12.6, abs=0.05)
    assert 100 * power.detectable_drop == pytest.approx(57.8, abs=0.05)
    assert power.chance_of_fail == chance_of_fail(12, 12, -0.05, 0.02)
    assert power.chance_of_fail_by_names == 0.0


@pytest.mark.parametrize(("outcomes", "rate"), [(0.0, 0.5 / 81), (0.0125, 1.5 / 81), (0.1, 8.5 / 81)])
def test_measured_flips_take_the_place_of_one_in_fifty(outcomes, rate):
    flips = Flips(answers=0.25, outcomes=outcomes, cases=80, width=1)
    power = power_of(trials(("valid", "valid", 12)), Limits(), flips)
    assert power.flip_rate == pytest.approx(rate)
    assert power.chance_of_fail == pytest.approx(1 - (1 - rate) ** 12)


@pytest.mark.parametrize("flips", [None, Flips(), Flips(outcomes=0.1), Flips(outcomes=0.1, cases=0)])
def test_flips_that_nobody_counted_are_assumed(flips):
    assert power_of(trials(("valid", "valid", 12)), Limits(), flips).flip_rate == 0.02


def test_the_bases_own_wrong_names_are_taken_for_the_adapters():
    power = power_of(trials(("valid", "valid", 63), ("wrong_tool", "valid", 7)), Limits(), None)
    assert power.chance_of_fail_by_names == chance_of_wrong_names(70, 0.1, 0.1)
    silent = power_of(trials(("no_call", "valid", 12)), Limits(), None)
    assert silent.chance_of_fail_by_names is silent.fails_from is silent.failing_drop is None


def test_no_number_of_cases_without_a_valid_call_is_conclusive():
    for n in (12, 500):
        assert power_of(trials(("no_call", "truncated", n)), Limits(), None).inconclusive
    assert not power_of(trials(("no_call", "truncated", 499), ("valid", "valid", 1)), Limits(), None).inconclusive
