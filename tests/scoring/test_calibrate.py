import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.scoring import Calibration, calibrate, z_score


def test_null_adapters_that_never_call_give_a_finite_honest_z():
    # p = 0.5 / 7 = 1/14; std = sqrt(1/14 * 13/14 / 2) = sqrt(13/392)
    null = calibrate([0, 0, 0], cases_per_run=2, z_floor=3.0)
    assert (null.mean, null.n, null.rates) == (0.0, 3, (0.0, 0.0, 0.0))
    assert null.std == pytest.approx(math.sqrt(13 / 392))
    assert (null.usable, null.why) == (True, None)
    assert z_score(1.0, null) == pytest.approx(5.4912, abs=1e-4)
    assert z_score(0.5, null) == pytest.approx(2.7456, abs=1e-4)


def test_the_spread_of_the_rates_counts_when_it_is_the_larger():
    # rates 0, 1/2, 1: population variance 1/6, against 0.5 * 0.5 / 2 = 1/8
    null = calibrate([0, 1, 2], cases_per_run=2, z_floor=1.0)
    assert null.mean == 0.5
    assert null.std == pytest.approx(math.sqrt(1 / 6))
    assert null.usable


def test_the_binomial_error_counts_when_it_is_the_larger():
    # rates 0, 0, 1/2: population variance 1/18, against 3/14 * 11/14 / 2 = 33/392
    null = calibrate([0, 0, 1], cases_per_run=2, z_floor=2.8)
    assert null.mean == pytest.approx(1 / 6)
    assert null.std == pytest.approx(math.sqrt(33 / 392))
    assert null.usable


def test_a_limit_no_adapter_could_reach_makes_the_calibration_unusable():
    # the best z is (1 - 1/6) / sqrt(33/392) = 2.872
    null = calibrate([0, 0, 1], cases_per_run=2, z_floor=2.9)
    assert not null.usable
    assert null.why is not None
    assert "z +2.9, under the limit of 2.9" in null.why
    assert null.std == pytest.approx(math.sqrt(33 / 392)), "the statistics are still reported"
    assert z_score(1.0, null) is None


def test_noise_that_changes_nothing_is_saturated():
    null = calibrate([2, 2, 2], cases_per_run=2, z_floor=3.0)
    assert (null.mean, null.usable) == (1.0, False)
    assert null.why is not None
    assert "100% valid calls" in null.why


def test_more_calibration_cases_make_a_finer_yardstick():
    # p = 0.5 / 31 = 1/62; std = sqrt(1/62 * 61/62 / 10)
    assert calibrate([0, 0, 0], 10, 3.0).std == pytest.approx(math.sqrt(61 / 38440))


@pytest.mark.parametrize(("counts", "cases"), [([], 2), ([0, 0], 0)])
def test_nothing_measured_gives_no_statistics(counts, cases):
    null = calibrate(counts, cases, 3.0)
    assert (null.mean, null.std, null.usable) == (None, None, False)
    assert null.why
    assert z_score(1.0, null) is None


@pytest.mark.parametrize("counts", [[3], [-1]])
def test_counts_that_do_not_fit_the_cases_are_refused(counts):
    with pytest.raises(ValueError, match="do not fit 2 cases"):
        calibrate(counts, 2, 3.0)


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
    null = calibrate(counts, cases_per_run, z_floor)
    z = z_score(1.0, null)
    assert null.usable is (z is not None)
    assert null.std is not None
    assert null.std > 0
    if z is not None:
        assert z >= z_floor
    else:
        assert z_score(1.0, Calibration(null.mean, null.std, null.n)) < z_floor
