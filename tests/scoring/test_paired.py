import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.scoring.paired import Paired, delta_interval, mcnemar_p, pair, score_statistic

counts = st.integers(0, 400)
tables = st.builds(Paired, counts, counts, counts, counts)
some = tables.filter(lambda table: table.n > 0)


def mirrored(table):
    return Paired(table.both, table.gained, table.lost, table.neither)


def test_cases_are_counted_by_what_each_view_made_of_them():
    base = [True, True, True, False, False, True]
    ft = [True, False, False, True, False, True]
    assert pair(base, ft) == Paired(both=2, lost=2, gained=1, neither=1)
    assert pair([], []) == Paired(0, 0, 0, 0)


def test_views_of_different_length_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        pair([True, False], [True])


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1))
def test_the_delta_is_the_difference_of_the_rates(flags):
    table = pair(*zip(*flags, strict=True))
    assert table.n == len(flags)
    rate_base, rate_ft = (sum(side) / len(flags) for side in zip(*flags, strict=True))
    assert table.delta == pytest.approx(rate_ft - rate_base, abs=1e-12)


@pytest.mark.parametrize(
    ("lost", "gained", "p"),
    [
        # Fagerland, Lydersen, Laake (2014), Statistics in Medicine 33:2850, airway hyper-responsiveness:
        # 2 (C(8,0) + C(8,1)) / 2^8 = 18 / 256
        (7, 1, 0.0703125),
        # Fagerland, Lydersen, Laake (2017), Statistical Analysis of Contingency Tables, chapter 8
        (16, 6, 0.052479),
        # 150 against 86 (Agresti, Categorical Data Analysis, approval ratings): z^2 = 17.36 there, so p is about 3e-5
        (150, 86, 3.7158e-05),
        (5, 0, 0.0625),
        (6, 0, 0.03125),
        (3, 3, 1.0),
        (0, 0, 1.0),
    ],
)
def test_mcnemar_gives_the_published_p(lost, gained, p):
    assert mcnemar_p(lost, gained) == pytest.approx(p, rel=1e-4)


@given(st.integers(0, 300), st.integers(0, 300))
def test_mcnemar_is_the_exact_binomial_tail(lost, gained):
    n = lost + gained
    tail = Fraction(sum(math.comb(n, k) for k in range(min(lost, gained) + 1)), 2**n)
    assert mcnemar_p(lost, gained) == pytest.approx(float(min(Fraction(1), 2 * tail)), rel=1e-12)


def test_mcnemar_neither_overflows_nor_stalls_on_large_counts():
    # The normal approximation with continuity correction, good to a few in a thousand here.
    z = (50_500 - 49_500 - 1) / math.sqrt(100_000)
    assert mcnemar_p(50_500, 49_500) == pytest.approx(math.erfc(z / math.sqrt(2)), rel=5e-3)
    assert mcnemar_p(100_000, 0) == 0.0


@pytest.mark.parametrize(
    ("table", "low", "high", "digits"),
    [
        # (right in both, only in the first, only in the second, in neither), first less second; as published,
        # and as the R packages ratesci and contingencytables check their own against the sources:
        ((1, 1, 7, 12), -0.517, -0.026, 3),  # Fagerland, Lydersen, Laake (2014)
        ((59, 6, 16, 80), -0.1240, -0.0054, 4),  # Fagerland, Lydersen, Laake (2017), chapter 8
        ((53, 16, 8, 9), -0.020, 0.207, 3),  # Agresti, Min (2005), Statistics in Medicine 24:729
        ((4, 9, 3, 16), -0.027, 0.390, 3),  # Tango (1998), Statistics in Medicine 17:891
        ((8, 3, 1, 2), -0.1670, 0.4327, 4),  # Tang et al. (2010)
        ((7, 25, 2, 68), 0.139, 0.321, 3),  # Chang et al. (2024)
    ],
)
def test_the_interval_is_the_published_one(table, low, high, digits):
    both, gained, lost, neither = table
    interval = delta_interval(Paired(both, lost, gained, neither))
    assert interval == pytest.approx((low, high), abs=0.5001 * 10**-digits)


def test_tangos_crossover_example_at_90_percent():
    # Tango (1998): 43 pairs right in both and one only in the second give -0.096 to 0.037.
    z_90 = 1.6448536269514722
    assert score_statistic(1, 0, 44, -0.096) == pytest.approx(z_90, abs=0.02)
    assert score_statistic(1, 0, 44, 0.037) == pytest.approx(-z_90, abs=0.02)


@pytest.mark.parametrize("n", [1, 8, 60, 500])
def test_no_change_at_all_gives_the_wilson_bound_of_zero_out_of_n_on_either_side(n):
    bound = 1.959963984540054**2 / (n + 1.959963984540054**2)
    assert delta_interval(Paired(n, 0, 0, 0)) == pytest.approx((-bound, bound), abs=1e-12)


@given(
    st.integers(1, 200).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))),
    st.floats(0.01, 0.99) | st.floats(-0.99, -0.01),
)
def test_the_statistic_uses_the_likeliest_table_with_that_change(case, delta):
    n, discordant = case
    lost = discordant // 3
    gained = discordant - lost
    # p(lost) over a fine grid, by brute force: the statistic at the likeliest of them, up to the grid's step.
    shares = max(0.0, -delta) + np.linspace(0, (1 - abs(delta)) / 2, 20_001)[1:-1]
    likelihood = (
        lost * np.log(shares) + gained * np.log(shares + delta) + (n - discordant) * np.log1p(-2 * shares - delta)
    )
    best = shares[likelihood.argmax()]
    spread = math.sqrt(n * (2 * best + delta - delta**2))
    assert score_statistic(lost, gained, n, delta) == pytest.approx((gained - lost - n * delta) / spread, rel=0.02)


@given(st.floats(5e-324, 0.5))
def test_the_statistic_is_finite_for_the_smallest_of_changes(delta):
    # Nothing changed in 24 cases: -24 delta / sqrt(24 delta (1 - delta))
    assert score_statistic(0, 0, 24, delta) == pytest.approx(-math.sqrt(24 * delta / (1 - delta)), rel=1e-6)


def test_without_cases_there_is_no_interval_and_no_delta():
    assert delta_interval(Paired(0, 0, 0, 0)) is None
    assert Paired(0, 0, 0, 0).delta is None


@given(some)
def test_the_interval_holds_the_delta_has_a_width_and_stays_in_range(table):
    low, high = delta_interval(table)
    assert -1 <= low <= table.delta <= high <= 1
    assert high - low > 1 / (table.n + 2)


@given(some)
def test_swapping_the_views_mirrors_the_interval(table):
    low, high = delta_interval(table)
    assert delta_interval(mirrored(table)) == (-high, -low)
    assert mcnemar_p(table.lost, table.gained) == mcnemar_p(table.gained, table.lost)


@given(some.filter(lambda table: table.both > 0))
def test_one_more_lost_case_moves_the_interval_down(table):
    worse = Paired(table.both - 1, table.lost + 1, table.gained, table.neither)
    assert delta_interval(worse) < delta_interval(table)
    assert delta_interval(worse)[1] < delta_interval(table)[1] + 1e-12


@given(some, st.integers(2, 9))
def test_more_cases_at_the_same_rates_narrow_the_interval(table, times):
    more = Paired(times * table.both, times * table.lost, times * table.gained, times * table.neither)
    wide, narrow = delta_interval(table), delta_interval(more)
    assert narrow[0] >= wide[0] - 1e-12
    assert narrow[1] <= wide[1] + 1e-12


@given(st.integers(0, 400), st.integers(0, 400), st.integers(0, 400))
def test_what_the_exact_test_finds_significant_the_interval_shows_too(lost, gained, both):
    if mcnemar_p(lost, gained) < 0.05:
        low, high = delta_interval(Paired(both, lost, gained, 0))
        assert high < 0 or low > 0


SIZES = (8, 12, 24, 32, 60, 128, 500)
SHARES = tuple((lost, gained) for lost in (0.0, 0.02, 0.05, 0.1, 0.2, 0.4) for gained in (0.0, 0.02, 0.1, 0.25))


def test_the_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(20)
    runs = 2000
    coverage = {}
    for n in SIZES:
        intervals = {}
        for share_lost, share_gained in SHARES[1:]:
            truth = share_gained - share_lost
            drawn = rng.multinomial(
                n, (share_lost, share_gained, 1 - share_lost - share_gained), size=runs
            )  # (runs, 3)
            covered = 0
            for (lost, gained, same), times in zip(*np.unique(drawn, axis=0, return_counts=True), strict=True):
                key = int(lost), int(gained)
                if key not in intervals:
                    intervals[key] = delta_interval(Paired(int(same), *key, 0))
                low, high = intervals[key]
                covered += int(times) * (low - 1e-9 <= truth <= high + 1e-9)
            coverage[n, share_lost, share_gained] = covered / runs
    mean = sum(coverage.values()) / len(coverage)
    assert mean == pytest.approx(0.95, abs=0.02)
    # Where a change is too rare to be seen at all, no honest interval misses it: only under-coverage misleads.
    # 1.5 points for the noise of 2,000 runs.
    assert min(coverage.values()) > 0.93 - 0.015
    large = [share for (n, lost, gained), share in coverage.items() if n * (lost + gained) >= 10]
    assert sum(large) / len(large) == pytest.approx(0.95, abs=0.01)
