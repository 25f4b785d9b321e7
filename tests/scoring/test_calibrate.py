import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.scoring import Calibration, NullSample
from loracheck.scoring.calibrate import (
    calibrate,
    deciding_rank,
    null_p_value,
    unless_base_falls_short,
    unless_saturated,
    why_no_z,
    z_score,
)

sides = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def test_null_adapters_that_never_call_give_a_finite_honest_z():
    # p = 0.5 / 7 = 1/14; std = sqrt(1/14 * 13/14 / 2) = sqrt(13/392)
    null = calibrate(NullSample((0, 0, 0), 2), z_floor=3.0)
    assert (null.mean, null.n, null.rates) == (0.0, 3, (0.0, 0.0, 0.0))
    assert null.std == pytest.approx(math.sqrt(13 / 392))
    assert (null.usable, null.why) == (True, None)
    assert z_score(1.0, null) == pytest.approx(5.4912, abs=1e-4)
    assert z_score(0.5, null) == pytest.approx(2.7456, abs=1e-4)


def test_the_spread_of_the_rates_counts_when_it_is_the_larger():
    # rates 0, 1/2, 1: population variance 1/6, against 0.5 * 0.5 / 2 = 1/8
    null = calibrate(NullSample((0, 1, 2), 2), z_floor=1.0)
    assert null.mean == 0.5
    assert null.std == pytest.approx(math.sqrt(1 / 6))
    assert null.usable


def test_the_binomial_error_counts_when_it_is_the_larger():
    # rates 0, 0, 1/2: population variance 1/18, against 3/14 * 11/14 / 2 = 33/392
    null = calibrate(NullSample((0, 0, 1), 2), z_floor=2.8)
    assert null.mean == pytest.approx(1 / 6)
    assert null.std == pytest.approx(math.sqrt(33 / 392))
    assert null.usable


def test_a_limit_no_adapter_could_reach_makes_the_calibration_unusable():
    # the best z is (1 - 1/6) / sqrt(33/392) = 2.872
    null = calibrate(NullSample((0, 0, 1), 2), z_floor=2.9)
    assert not null.usable
    assert null.why is not None
    assert "z +2.9, under the limit of 2.9" in null.why
    assert null.std == pytest.approx(math.sqrt(33 / 392)), "the statistics are still reported"
    assert z_score(1.0, null) is None


def test_null_adapters_that_change_nothing_are_saturated():
    null = calibrate(NullSample((2, 2, 2), 2), z_floor=3.0)
    assert (null.mean, null.usable) == (1.0, False)
    assert null.why is not None
    assert "100% valid calls" in null.why


def test_more_calibration_cases_make_a_finer_yardstick():
    # p = 0.5 / 31 = 1/62; std = sqrt(1/62 * 61/62 / 10)
    assert calibrate(NullSample((0, 0, 0), 10), 3.0).std == pytest.approx(math.sqrt(61 / 38440))


@pytest.mark.parametrize(("counts", "cases"), [((), 2), ((0, 0), 0)])
def test_nothing_measured_gives_no_statistics(counts, cases):
    null = calibrate(NullSample(counts, cases), 3.0)
    assert (null.mean, null.std, null.usable) == (None, None, False)
    assert null.why
    assert z_score(1.0, null) is None


@pytest.mark.parametrize("counts", [(3,), (-1,)])
def test_counts_that_do_not_fit_the_cases_are_refused(counts):
    with pytest.raises(ValueError, match="do not fit 2 cases"):
        calibrate(NullSample(counts, 2), 3.0)


@pytest.mark.parametrize(
    ("mean", "std"),
    [
        (None, 0.1),
        (0.1, None),
        (math.nan, 0.1),
        (0.1, math.nan),
        (math.inf, 0.1),
        (0.1, math.inf),
        (0.1, 0.0),
        (0.1, 9.9e-7),
        (0.1, -0.1),
    ],
)
def test_statistics_that_cannot_carry_a_z_give_none(mean, std):
    assert z_score(1.0, Calibration(mean, std, 3)) is None


def test_the_smallest_spread_that_counts():
    assert z_score(1.0, Calibration(0.0, 1e-6, 3)) == pytest.approx(1e6)


def test_no_calibration_gives_no_z():
    assert z_score(1.0, None) is None


@given(
    st.integers(1, 50).flatmap(
        lambda m: st.tuples(st.lists(st.integers(0, m), min_size=1, max_size=10), st.just(m), st.floats(-9, 9))
    )
)
def test_a_perfect_adapter_reaches_the_limit_of_every_usable_calibration(case):
    counts, cases_per_run, z_floor = case
    null = calibrate(NullSample(tuple(counts), cases_per_run), z_floor)
    z = z_score(1.0, null)
    assert null.usable is (z is not None)
    assert null.std is not None
    assert null.std > 0
    if z is not None:
        assert z >= z_floor
    else:
        assert z_score(1.0, Calibration(null.mean, null.std, null.n)) < z_floor


def test_the_rank_nearest_to_the_adapters_own_decides_and_the_smaller_of_two_as_near():
    assert deciding_rank([4.0, 0.5, 2.0]) == 0.5
    assert deciding_rank([1.5, 0.5]) == deciding_rank([0.5, 1.5]) == 0.5
    assert deciding_rank([2.0]) == 2.0


def test_statistics_from_elsewhere_are_saturated_by_the_same_rule():
    harmless = unless_saturated(Calibration(0.5, 0.25, 3), z_floor=2.5)
    assert (harmless.mean, harmless.std, harmless.n, harmless.usable) == (0.5, 0.25, 3, False)
    assert harmless.why == (
        "null adapters still give 50% valid calls, so even a perfect adapter would only reach z +2.0, "
        "under the limit of 2.5"
    )
    reachable = Calibration(0.5, 0.25, 3)
    assert unless_saturated(reachable, z_floor=2.0) is reachable


@pytest.mark.parametrize(
    ("base", "rate", "excused"),
    [(0.5, 0.5, True), (0.59, 0.0, True), (0.5, 0.6, False), (0.6, 0.5, False), (0.0, 0.0, False), (None, 0.5, False)],
)
def test_a_base_that_falls_short_of_the_limit_excuses_an_adapter_that_does(base, rate, excused):
    # 0.6 is three times 0.2.
    nulls = Calibration(0.0, 0.2, 3)
    excuse = unless_base_falls_short(nulls, base, rate, z_floor=3.0 - 1e-9)
    assert excuse.usable is not excused
    assert (excuse is nulls) is not excused


@pytest.mark.parametrize(("base", "said"), [(0.55, "z = 2.7 "), (0.597, "z = 2.9 "), (0.01, "z = 0.0 ")])
def test_the_excuse_never_rounds_up_to_the_limit(base, said):
    why = unless_base_falls_short(Calibration(0.0, 0.2, 3), base, 0.1, z_floor=3.0).why
    assert why == f"the base itself is only {said}above the nulls"


def test_what_gives_no_z_anyway_keeps_its_own_reason():
    for nulls in (
        Calibration(None, None, 0),
        Calibration(0.5, 0.0, 3),
        Calibration(0.9, 0.5, 3, usable=False, why="x"),
    ):
        assert unless_base_falls_short(nulls, 0.5, 0.5, z_floor=3.0) is nulls


@pytest.mark.parametrize(
    ("mean", "std", "why"),
    [
        (None, 0.1, "were not measured"),
        (0.1, None, "were not measured"),
        (math.inf, 0.1, "are not finite"),
        (math.nan, 0.1, "are not finite"),
        (0.1, math.inf, "are not finite"),
        (0.1, 0.0, "have no spread (standard deviation under 1e-06)"),
    ],
)
def test_statistics_that_give_no_z_keep_their_own_reason(mean, std, why):
    calibration = Calibration(mean, std, 3)
    assert unless_saturated(calibration, z_floor=3.0) is calibration
    assert why_no_z(calibration).startswith("the null adapters" if "not finite" not in why else "the statistics of")
    assert why_no_z(calibration).endswith(why)


def test_an_unusable_calibration_tells_why_as_well_as_it_can():
    assert why_no_z(Calibration(0.1, 0.2, 3, usable=False, why="too loud")) == "too loud"
    assert why_no_z(Calibration(0.1, 0.2, 3, usable=False)) == "the calibration is not usable"
    assert why_no_z(Calibration(0.1, 0.2, 3)) is None


def exact(ft_valid, ft_n, null_valid, null_n):
    hits = ft_valid + null_valid
    ways = sum(math.comb(ft_n, k) * math.comb(null_n, hits - k) for k in range(ft_valid, min(ft_n, hits) + 1))
    return float(Fraction(ways, math.comb(ft_n + null_n, hits)))


def test_the_lady_tasting_tea():
    # Fisher (1935), The Design of Experiments: three of four cups right gives 17/70, all four give 1/70.
    assert null_p_value(3, 4, 1, 4) == pytest.approx(17 / 70)
    assert null_p_value(4, 4, 0, 4) == pytest.approx(1 / 70)


def test_twelve_good_answers_against_three_silent_nulls_of_two_sentinels():
    # 1 / C(18, 6): all twelve valid answers of eighteen fell to ft.
    assert null_p_value(12, 12, 0, 6) == pytest.approx(1 / 18564)


@given(sides, sides)
def test_it_is_fishers_exact_test(ft, null):
    assert null_p_value(*ft, *null) == pytest.approx(exact(*ft, *null), rel=1e-9)


@given(sides, sides)
def test_one_more_valid_answer_makes_null_adapters_less_likely_to_do_as_well(ft, null):
    valid, n = ft
    if valid < n:
        assert null_p_value(valid + 1, n, *null) <= null_p_value(valid, n, *null) + 1e-12


@given(sides, sides)
def test_both_tails_and_the_table_itself_make_one(ft, null):
    (valid, n), (null_valid, null_n) = ft, null
    hits = valid + null_valid
    at = math.comb(n, valid) * math.comb(null_n, null_valid) / math.comb(n + null_n, hits)
    other_tail = null_p_value(null_valid, null_n, valid, n)
    assert null_p_value(*ft, *null) + other_tail - at == pytest.approx(1)


def test_large_counts_neither_overflow_nor_stall():
    assert null_p_value(10_000, 10_000, 0, 100_000) == 0.0
    assert null_p_value(0, 10_000, 100_000, 100_000) == 1.0
    assert null_p_value(5_000, 10_000, 99_000, 100_000) == pytest.approx(1)
    assert null_p_value(9_000, 10_000, 90_000, 100_000) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("sizes", [(0, 0, 1, 6), (3, 4, 0, 0), (0, 0, 0, 0)])
def test_no_answers_give_no_p_value(sizes):
    assert null_p_value(*sizes) is None


def test_the_same_answers_everywhere_say_nothing():
    assert null_p_value(12, 12, 6, 6) == 1.0
    assert null_p_value(0, 12, 0, 6) == 1.0


@pytest.mark.parametrize("sizes", [(5, 4, 1, 6), (-1, 4, 1, 6), (1, 4, 7, 6), (1, 4, -1, 6)])
def test_more_valid_answers_than_answers_are_refused(sizes):
    with pytest.raises(ValueError, match="more valid than answers"):
        null_p_value(*sizes)
