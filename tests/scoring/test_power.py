import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.scoring.paired import Paired, delta_interval, mcnemar_p
from loracheck.scoring.power import cases_needed, detectable_drop, straddles

counts = st.integers(0, 400)
some = st.builds(Paired, counts, counts, counts, counts).filter(lambda table: table.n > 0)
floors = st.floats(-0.5, 0.5)


def test_six_lost_cases_are_the_fewest_that_show():
    assert detectable_drop(6, 6) == pytest.approx(0.8 ** (1 / 6))
    assert detectable_drop(100, 5) is None
    assert detectable_drop(0, 0) is None


@pytest.mark.parametrize(("n", "base_valid"), [(8, 8), (24, 24), (60, 48), (128, 128), (500, 260)])
def test_the_detectable_drop_shows_in_four_runs_of_five(n, base_valid):
    drop = detectable_drop(n, base_valid)
    rng = np.random.default_rng(n)

    def shown(drop):
        lost = rng.binomial(base_valid, drop * n / base_valid, size=20_000)  # (runs,)
        values, times = np.unique(lost, return_counts=True)
        significant = [mcnemar_p(int(value), 0) < 0.05 for value in values]
        return (times * significant).sum() / lost.size

    assert shown(drop) == pytest.approx(0.8, abs=0.015)
    assert shown(0.9 * drop) < 0.785


@given(st.integers(6, 10_000).flatmap(lambda n: st.tuples(st.just(n), st.integers(6, n))))
def test_the_detectable_drop_is_no_larger_than_what_the_base_can_lose(case):
    n, base_valid = case
    drop = detectable_drop(n, base_valid)
    assert 0 < drop <= base_valid / n


@given(st.integers(6, 5_000))
def test_more_cases_show_smaller_drops(n):
    assert detectable_drop(n + 1, n + 1) < detectable_drop(n, n)


@pytest.mark.parametrize(
    ("interval", "floor", "open_question"),
    [
        ((-0.10, 0.02), -0.05, True),
        ((-0.04, 0.02), -0.05, False),
        ((-0.20, -0.06), -0.05, False),
        ((-0.05, 0.02), -0.05, False),  # every change in it is at the floor or above: a pass
        ((-0.20, -0.05), -0.05, True),  # the best of them just passes
        ((0.0, 0.0), 0.0, False),
    ],
)
def test_an_interval_straddles_a_floor_when_it_holds_passes_and_misses(interval, floor, open_question):
    assert straddles(interval, floor) is open_question


@pytest.mark.parametrize("n", [8, 24, 72])
def test_without_any_change_73_cases_settle_a_floor_of_five_points(n):
    # Nothing lost: p(lost) = 0.05 is the likeliest at the floor, so n = z^2 * 0.05 * 0.95 / 0.05^2 = 72.99
    assert cases_needed(Paired(n, 0, 0, 0), -0.05) == 73
    assert straddles(delta_interval(Paired(n, 0, 0, 0)), -0.05)
    assert not straddles(delta_interval(Paired(73, 0, 0, 0)), -0.05)


@pytest.mark.parametrize("floor", [-0.05, 0.0, 0.1])
def test_a_change_on_the_floor_is_never_settled(floor):
    lost, gained = (20, 20 + int(200 * floor))
    assert cases_needed(Paired(100, lost, gained, 100 - lost - gained), floor) is None


def test_more_than_a_hundred_thousand_cases_are_no_advice():
    # 0.1 points from the floor with 4 % discordant: about 3.84 * 0.04 / 1e-6 cases
    assert cases_needed(Paired(9600, 200, 200, 0), -0.0005) is None
    assert cases_needed(Paired(9600, 200, 200, 0), -0.005) < 10_000


def test_without_cases_nothing_can_be_said():
    assert cases_needed(Paired(0, 0, 0, 0), -0.05) is None


@pytest.mark.parametrize("floor", [-7.0, -1.0, 1.5])
def test_a_floor_that_no_change_can_cross_needs_no_evidence(floor):
    table = Paired(3, 1, 0, 0)
    assert cases_needed(table, floor) == 1
    assert not straddles(delta_interval(table), floor)


def test_the_ends_of_the_scale():
    assert cases_needed(Paired(0, 4, 0, 0), -1.0) == 1  # all lost is still no less than -1
    assert cases_needed(Paired(0, 0, 4, 0), 1.0) is None  # all gained sits on the floor
    assert cases_needed(Paired(1, 0, 3, 0), 1.0) == 1  # one case that was not gained rules it out


@given(some, floors)
def test_more_cases_are_needed_exactly_while_the_interval_straddles(table, floor):
    needed = cases_needed(table, floor)
    if straddles(delta_interval(table), floor):
        assert needed is None or needed >= table.n
    else:
        assert needed is not None
        assert needed <= table.n


@given(some, floors, st.integers(2, 40))
def test_as_many_cases_at_the_same_rates_settle_it_and_fewer_do_not(table, floor, times):
    more = Paired(times * table.both, times * table.lost, times * table.gained, times * table.neither)
    needed = cases_needed(table, floor)
    if needed is None:
        assert straddles(delta_interval(more), floor) or more.n > 100_000
    elif abs(more.n - needed) > 1:
        assert straddles(delta_interval(more), floor) is (more.n < needed)


@given(some, st.floats(allow_nan=False, allow_infinity=False))
def test_any_floor_gives_an_answer(table, floor):
    needed = cases_needed(table, floor)
    assert needed is None or 1 <= needed <= 100_000
