import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.scoring.tries import (
    CaseTries,
    TriedRate,
    Tries,
    cluster_interval,
    compare_tries,
    pass_all,
    pass_at,
)

from .readings import came_out

EXACT = came_out("valid", arguments_correct=True)
OTHER = came_out("valid", arguments_correct=False)
WRONG = came_out("no_call")


def tried(base, ft, case="c"):
    """x for the expected call, v for a valid one with other arguments, - for none."""
    readings = {"x": EXACT, "v": OTHER, "-": WRONG}
    return CaseTries(case, tuple(readings[sign] for sign in base), tuple(readings[sign] for sign in ft))


def case_of(base, ft, case="c"):
    """From flags."""
    return CaseTries(
        case, tuple(EXACT if flag else WRONG for flag in base), tuple(EXACT if flag else WRONG for flag in ft)
    )


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.data())
def test_the_chances_are_those_over_every_choice_of_tries(flags, data):
    k = data.draw(st.integers(1, len(flags)))
    choices = list(combinations(flags, k))
    assert pass_at(len(flags), sum(flags), k) == pytest.approx(sum(map(any, choices)) / len(choices))
    assert pass_all(len(flags), sum(flags), k) == pytest.approx(sum(map(all, choices)) / len(choices))


@pytest.mark.parametrize("chance", [0.1, 0.5, 0.93])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_estimates_are_unbiased(chance, k):
    tries = 6
    likelihood = [
        math.comb(tries, right) * chance**right * (1 - chance) ** (tries - right) for right in range(tries + 1)
    ]
    mean_at, mean_all = (
        sum(weight * estimate(tries, right, k) for right, weight in enumerate(likelihood))
        for estimate in (pass_at, pass_all)
    )
    assert mean_at == pytest.approx(1 - (1 - chance) ** k)
    assert mean_all == pytest.approx(chance**k)


def test_many_tries_do_not_overflow():
    assert pass_at(5000, 2500, 1) == pytest.approx(0.5)
    assert pass_all(5000, 2500, 2500) == 0.0


def test_shares_are_means_over_cases():
    tries = compare_tries([tried("xxv-", "x---"), tried("xxxx", "xxxv")])
    assert (tries.cases, tries.tries) == (2, 4)
    assert (tries.valid.base, tries.valid.ft) == (0.875, 0.625)
    assert tries.valid.delta == -0.25
    assert (tries.exact.base, tries.exact.ft) == (0.75, 0.5)
    assert tries.exact.pass_at_base == pytest.approx((0.75, 11 / 12, 1, 1))
    assert tries.exact.pass_all_base == pytest.approx((0.75, (1 / 6 + 1) / 2, 0.5, 0.5))
    assert tries.exact.pass_at_ft == pytest.approx((0.5, 0.75, 0.875, 1))
    assert tries.exact.pass_all_ft == pytest.approx((0.5, 0.25, 0.125, 0))


def test_cases_weigh_the_same_however_often_they_were_tried():
    tries = compare_tries([tried("xx", "--"), tried("x" * 8, "x" * 8)])
    assert (tries.tries, tries.exact.ft) == (2, 0.5)
    assert len(tries.exact.pass_at_ft) == 2


def test_a_case_is_flaky_where_one_view_cannot_decide_and_the_other_can():
    tries = compare_tries(
        [
            tried("xx-", "xxx", "settled rightly"),
            tried("x--", "---", "settled wrongly"),
            tried("xxx", "x-x", "unsettled"),
            tried("x-x", "-xx", "flaky in both"),
            tried("xxx", "---", "lost"),
            tried("xxx", "xvx", "unsettled in its arguments"),
        ]
    )
    assert tries.exact.flaky_base == ("settled rightly", "settled wrongly")
    assert tries.exact.flaky_ft == ("unsettled", "unsettled in its arguments")
    assert tries.valid.flaky_ft == ("unsettled",)


def test_the_sign_test_counts_cases_and_not_tries():
    worse = [tried("xxxxx", "----x")] * 5
    tries = compare_tries([*worse, tried("x-x-x", "-x-xx")])
    assert (tries.exact.better, tries.exact.worse, tries.exact.same) == (0, 5, 1)
    assert tries.exact.sign_p == pytest.approx(0.0625)
    assert compare_tries([*worse, worse[0]]).exact.sign_p == pytest.approx(0.03125)


@given(st.lists(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=5), min_size=1, max_size=8))
def test_the_views_are_treated_alike(flags):
    cases = [list(zip(*case, strict=True)) for case in flags]
    there = compare_tries([case_of(base, ft) for base, ft in cases]).exact
    back = compare_tries([case_of(ft, base) for base, ft in cases]).exact
    assert there.delta == -back.delta == pytest.approx(there.ft - there.base)
    assert (there.better, there.worse, there.sign_p) == (back.worse, back.better, back.sign_p)
    assert there.flaky_base == back.flaky_ft
    assert there.variance_within_cases == back.variance_within_cases
    assert (there.pass_at_base, there.pass_all_ft) == (back.pass_at_ft, back.pass_all_base)


@given(st.lists(st.integers(-8, 8), min_size=1, max_size=30), st.integers(0, 9), st.randoms())
def test_the_interval_depends_on_the_changes_and_the_seed_alone(eighths, seed, shuffle):
    changes = [number / 8 for number in eighths]
    interval = cluster_interval(changes, seed)
    shuffled = changes[:]
    shuffle.shuffle(shuffled)
    assert cluster_interval(shuffled, seed) == interval
    if len(set(changes)) == 1:
        assert interval is None
    else:
        low, high = interval
        assert min(changes) <= low <= high <= max(changes)


def test_the_interval_is_the_one_of_drawing_case_by_case():
    rng = np.random.default_rng(3)
    changes = rng.integers(-3, 4, 60) / 5
    means = changes[rng.integers(0, 60, (20_000, 60))].mean(axis=1)  # (20000, 60) -> (20000,)
    assert cluster_interval(changes.tolist(), 0) == pytest.approx(np.percentile(means, [2.5, 97.5]), abs=0.02)


def test_where_every_case_changed_alike_there_is_no_interval():
    assert compare_tries([tried("xx", "x-")] * 9).exact.interval_95 is None
    assert compare_tries([tried("xx", "xx")] * 9).exact.interval_95 is None
    assert compare_tries([tried("xx", "x-"), tried("xx", "xx")]).exact.interval_95 is not None


def test_single_tries_and_single_cases_do_not_tell_the_variances_apart():
    for cases in ([tried("x", "-"), tried("x", "x")], [tried("xx", "x-")], [tried("xx", "x-"), tried("x", "x")]):
        rate = compare_tries(cases).exact
        assert (rate.variance_between_cases, rate.variance_within_cases) == (None, None)


def test_what_varies_only_between_cases_is_put_there():
    rate = compare_tries([tried("xx", "--"), tried("xx", "xx"), tried("--", "xx"), tried("--", "--")]).exact
    assert rate.variance_within_cases == 0
    assert rate.variance_between_cases == pytest.approx(np.var([-1, 0, 1, 0], ddof=1) / 4)


def test_luck_that_both_views_share_is_no_variance():
    rate = compare_tries([tried("x-x-", "x-x-"), tried("-xx-", "-xx-")]).exact
    assert (rate.variance_between_cases, rate.variance_within_cases) == (0, 0)


def test_what_varies_only_between_tries_is_put_there():
    rate = compare_tries([tried("xx--", "x-x-"), tried("-x-x", "xx--")]).exact
    assert rate.variance_between_cases == 0
    assert rate.variance_within_cases == pytest.approx(np.var([0, -1, 1, 0], ddof=1) / 4 / 2)


def test_without_cases_there_is_nothing_to_tell():
    tries = compare_tries([])
    assert tries == Tries()
    assert (tries.cases, tries.exact.base, tries.exact.sign_p) == (0, None, None)


@pytest.mark.parametrize(("base", "ft"), [("", ""), ("xx", "x"), ("", "x")])
def test_both_views_must_have_tried_each_case_as_often(base, ft):
    with pytest.raises(ValueError, match=f"case c: {len(base)} tries of the base and {len(ft)} of the adapter"):
        tried(base, ft)


def test_the_evidence_can_be_written_and_read():
    tries = compare_tries([tried("xx-", "x--"), tried("x-x", "xxx", "d")])
    assert Tries.model_validate_json(tries.model_dump_json()) == tries
    assert tries.exact != TriedRate()


def simulated(cases, tries, change, seed, runs):
    """Changes of cases that are each right with a chance of their own; own luck in each view."""
    rng = np.random.default_rng(seed)
    for _ in range(runs):
        chances = rng.beta(1.2, 0.5, cases)  # (cases,)
        base = rng.random((cases, tries)) < chances[:, None]
        ft = rng.random((cases, tries)) < change(rng, chances)[:, None]
        yield base, ft


def a_fifth_broken(rng, chances):
    return np.where(rng.random(len(chances)) < 0.2, 0.1 * chances, chances)


def test_the_interval_holds_the_true_change_as_often_as_it_says():
    true_change = 0.2 * (0.1 - 1) * 1.2 / 1.7
    intervals = [
        cluster_interval((ft.mean(axis=1) - base.mean(axis=1)).tolist(), run)
        for run, (base, ft) in enumerate(simulated(48, 5, a_fifth_broken, 1, 600))
    ]
    held = sum(low <= true_change <= high for low, high in intervals) / len(intervals)
    assert 0.91 <= held <= 0.97  # 94 % over many more runs; three standard errors of 600


def test_the_same_model_with_other_luck_raises_no_alarm():
    rates = [
        compare_tries([case_of(*flags) for flags in zip(base, ft, strict=True)], run).exact
        for run, (base, ft) in enumerate(simulated(40, 4, lambda _, chances: chances, 2, 300))
    ]
    assert sum(rate.sign_p < 0.05 for rate in rates) / len(rates) <= 0.05
    assert sum(not rate.interval_95[0] <= 0 <= rate.interval_95[1] for rate in rates) / len(rates) <= 0.08


def test_the_variances_are_those_of_the_simulation():
    runs = [
        compare_tries([case_of(*flags) for flags in zip(base, ft, strict=True)]).exact
        for base, ft in simulated(30, 4, a_fifth_broken, 3, 400)
    ]
    rng = np.random.default_rng(4)
    base = rng.beta(1.2, 0.5, 400_000)
    ft = a_fifth_broken(rng, base)
    between = np.mean([rate.variance_between_cases for rate in runs])
    within = np.mean([rate.variance_within_cases for rate in runs])
    assert between == pytest.approx(np.var(ft - base) / 30, rel=0.1)
    assert within == pytest.approx(np.mean(base * (1 - base) + ft * (1 - ft)) / 4 / 30, rel=0.05)
    assert between + within == pytest.approx(np.var([rate.delta for rate in runs]), rel=0.25)
