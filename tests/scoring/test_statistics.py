import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.scoring.statistics import (
    Paired,
    bootstrap_ci_95,
    cases_even_odds,
    cases_needed,
    delta_interval,
    detectable_drop,
    drop_that_loses,
    holm,
    log_choose,
    mcnemar_p,
    pair,
    score_statistic,
    straddles,
    wilson,
)

counts = st.integers(0, 400)
tables = st.builds(Paired, counts, counts, counts, counts)
some = tables.filter(lambda table: table.n > 0)
floors = st.floats(-0.5, 0.5)


def one_matrix(flags, seed):
    n = len(flags)
    picks = np.random.default_rng(seed).integers(0, n, size=(1000, n))  # (1000, n)
    means = np.array(flags, dtype=float)[picks].mean(axis=1)  # (1000,)
    return tuple(np.percentile(means, [2.5, 97.5]))


@pytest.mark.parametrize("n", [2, 3, 999, 1000, 1001, 1537, 3001])
@pytest.mark.parametrize("seed", [0, 7])
def test_blocks_of_rows_give_what_one_matrix_gives(n, seed):
    flags = [index % 3 == 0 for index in range(n)]
    assert bootstrap_ci_95(flags, seed) == pytest.approx(one_matrix(flags, seed), rel=0, abs=1e-12)


def test_equal_flags_give_their_value_twice():
    assert bootstrap_ci_95([True] * 5, 0) == (1.0, 1.0)
    assert bootstrap_ci_95([False], 0) == (0.0, 0.0)


def test_no_flags_give_no_interval():
    assert bootstrap_ci_95([], 0) is None


def test_the_seed_decides():
    flags = [True, False, True, True, False, True, False] * 9
    assert bootstrap_ci_95(flags, 1) == bootstrap_ci_95(flags, 1)
    assert len({bootstrap_ci_95(flags, seed) for seed in range(10)}) > 1


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


@pytest.mark.parametrize("fewest", [1, 2, 4, 10])
def test_a_drop_that_loses_so_many_does_so_in_four_runs_of_five(fewest):
    drop = drop_that_loses(fewest, 40, 32)
    fewer = sum(math.comb(32, k) * (drop * 40 / 32) ** k * (1 - drop * 40 / 32) ** (32 - k) for k in range(fewest))
    assert fewer == pytest.approx(0.2, abs=1e-9)


def test_more_than_the_base_has_cannot_be_lost_and_large_counts_do_not_overflow():
    assert drop_that_loses(5, 40, 4) is None
    assert drop_that_loses(0, 40, 4) is None
    assert drop_that_loses(2001, 40_000, 40_000) == pytest.approx(0.05, abs=0.002)


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
    assert cases_even_odds(Paired(n, 0, 0, 0), -0.05) == 73
    assert straddles(delta_interval(Paired(n, 0, 0, 0)), -0.05)
    assert not straddles(delta_interval(Paired(73, 0, 0, 0)), -0.05)


@pytest.mark.parametrize("floor", [-0.05, 0.0, 0.1])
def test_a_change_on_the_floor_is_never_settled(floor):
    lost, gained = (20, 20 + int(200 * floor))
    assert cases_even_odds(Paired(100, lost, gained, 100 - lost - gained), floor) is None


def test_more_than_a_hundred_thousand_cases_are_no_advice():
    # 0.1 points from the floor with 4 % discordant: about 3.84 * 0.04 / 1e-6 cases
    assert cases_even_odds(Paired(9600, 200, 200, 0), -0.0005) is None
    assert cases_even_odds(Paired(9600, 200, 200, 0), -0.005) < 10_000


def test_without_cases_nothing_can_be_said():
    assert cases_even_odds(Paired(0, 0, 0, 0), -0.05) is None


@pytest.mark.parametrize("floor", [-7.0, -1.0, 1.5])
def test_a_floor_that_no_change_can_cross_needs_no_evidence(floor):
    table = Paired(3, 1, 0, 0)
    assert cases_even_odds(table, floor) == 1
    assert not straddles(delta_interval(table), floor)


def test_the_ends_of_the_scale():
    assert cases_even_odds(Paired(0, 4, 0, 0), -1.0) == 1  # all lost is still no less than -1
    assert cases_even_odds(Paired(0, 0, 4, 0), 1.0) is None  # all gained sits on the floor
    assert cases_even_odds(Paired(1, 0, 3, 0), 1.0) == 1  # one case that was not gained rules it out


@given(some, floors)
def test_more_cases_are_needed_exactly_while_the_interval_straddles(table, floor):
    needed = cases_even_odds(table, floor)
    if straddles(delta_interval(table), floor):
        assert needed is None or needed >= table.n
    else:
        assert needed is not None
        assert needed <= table.n


@given(some, floors, st.integers(2, 40))
def test_as_many_cases_at_the_same_rates_settle_it_and_fewer_do_not(table, floor, times):
    more = Paired(times * table.both, times * table.lost, times * table.gained, times * table.neither)
    needed = cases_even_odds(table, floor)
    if needed is None:
        assert straddles(delta_interval(more), floor) or more.n > 100_000
    elif abs(more.n - needed) > 1:
        assert straddles(delta_interval(more), floor) is (more.n < needed)


@given(some, st.floats(allow_nan=False, allow_infinity=False))
def test_any_floor_gives_an_answer(table, floor):
    needed = cases_even_odds(table, floor)
    assert needed is None or 1 <= needed <= 100_000


def conclusive(n, lost, gained, floor):
    """How often `n` cases settle the question at these true rates, summed over all that may come out."""
    total = 0.0
    for seen_lost, p_lost in binomial(n, lost):
        for seen_gained, p_gained in binomial(n - seen_lost, gained / (1 - lost)):
            total += p_lost * p_gained * (abs(score_statistic(seen_lost, seen_gained, n, floor)) > 1.959963984540054)
    return total


def binomial(n, p):
    """What comes out, and how often; without what is too rare to matter."""
    chances = ((k, math.exp(log_choose(n, k) + k * math.log(p) + (n - k) * math.log1p(-p))) for k in range(n + 1))
    return [(k, chance) for k, chance in chances if chance > 1e-7]


def smoothed(table):
    return (table.lost + 0.5) / (table.n + 1), (table.gained + 0.5) / (table.n + 1)


@pytest.mark.parametrize(
    "table",
    [Paired(34, 1, 0, 0), Paired(68, 2, 0, 0), Paired(65, 5, 0, 0), Paired(32, 0, 0, 0), Paired(50, 3, 1, 10)],
)
def test_the_cases_needed_settle_it_four_times_out_of_five(table):
    needed = cases_needed(table, -0.05)
    # Cases are counted whole, so that one more may jump over 80 %.
    assert 0.79 < conclusive(needed, *smoothed(table), -0.05) < 0.86
    assert conclusive(int(0.85 * needed), *smoothed(table), -0.05) < 0.77


def test_even_odds_are_no_more_than_that():
    # One lost of 35, where about 400 cases used to be called enough.
    table = Paired(34, 1, 0, 0)
    assert (cases_even_odds(table, -0.05), cases_needed(table, -0.05)) == (398, 1018)
    assert conclusive(398, 1 / 35, 1e-9, -0.05) == pytest.approx(0.5, abs=0.05)
    assert conclusive(398, *smoothed(table), -0.05) == pytest.approx(0.4, abs=0.05)


def test_nothing_lost_in_a_few_cases_is_not_never():
    few, more = cases_needed(Paired(10, 0, 0, 0), -0.05), cases_needed(Paired(70, 0, 0, 0), -0.05)
    assert few > 3 * 73 > more > 73


@given(some, st.floats(allow_nan=False, allow_infinity=False))
def test_to_be_surer_takes_no_fewer_cases(table, floor):
    even, needed = cases_even_odds(table, floor), cases_needed(table, floor)
    assert needed is None or even <= needed <= 100_000
    assert even is not None or needed is None


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    [
        # Newcombe (1998), Statistics in Medicine 17:857, table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_the_interval_of_a_rate_is_the_published_one(right, n, low, high):
    assert wilson(right / n, n) == pytest.approx((low, high), abs=0.00005001)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_of_a_rate_holds_it_has_a_width_and_stays_in_range(case):
    right, n = case
    low, high = wilson(right / n, n)
    assert 0 <= low <= right / n + 1e-12
    assert right / n - 1e-12 <= high <= 1
    assert high - low > 1 / (n + 4)
    assert wilson((n - right) / n, n) == pytest.approx((1 - high, 1 - low), abs=1e-12)


def test_the_interval_of_a_rate_holds_the_rate_to_the_last_bit():
    for n in range(1, 500):
        low, high = wilson(1.0, n)
        assert (wilson(0.0, n)[0], high) == (0.0, 1.0)
        assert low < 1.0


@pytest.mark.parametrize(
    ("p_values", "corrected"),
    [
        ({"a": 0.01, "b": 0.04, "c": 0.03}, {"a": 0.03, "b": 0.06, "c": 0.06}),
        # R: p.adjust(c(0.01, 0.02, 0.03, 0.04), "holm")
        ({"a": 0.01, "b": 0.02, "c": 0.03, "d": 0.04}, {"a": 0.04, "b": 0.06, "c": 0.06, "d": 0.06}),
        ({"a": 0.6, "b": 0.9}, {"a": 1.0, "b": 1.0}),
        ({"a": 0.2}, {"a": 0.2}),
        ({}, {}),
    ],
)
def test_several_p_values_are_corrected_as_holm_does(p_values, corrected):
    assert holm(p_values) == pytest.approx(corrected)
    assert list(holm(p_values)) == list(p_values)


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=6))
def test_a_corrected_p_is_no_smaller_and_keeps_the_order(p_values):
    corrected = holm(p_values)
    assert all(p_values[name] <= corrected[name] <= 1 for name in p_values)
    assert all(corrected[a] <= corrected[b] for a in p_values for b in p_values if p_values[a] <= p_values[b])
