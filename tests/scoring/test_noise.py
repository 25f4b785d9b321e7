import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.scoring.noise import null_p_value

sides = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


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
def test_one_more_valid_answer_makes_noise_less_likely(ft, null):
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
def test_counts_that_do_not_fit_are_refused(sizes):
    with pytest.raises(ValueError, match="more valid than answers"):
        null_p_value(*sizes)
