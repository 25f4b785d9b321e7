from __future__ import annotations

import pytest

from locating.toy_views import KINDS, ToyViews, make_grid, some
from loracheck.locating.search import BUDGET, Mend, search

GRID = make_grid()
DOWN = ("ffn_down",)


def harm_in(*parts: frozenset[str], bearable: float = 0.1) -> ToyViews:
    """Every part that is given does the same harm, spread over its pairs, and so much of it is borne."""
    share = {name: 1.0 / len(part) for part in parts for name in part}
    return ToyViews(GRID, lambda name: share.get(name, 0.001 / len(GRID.whole)), bearable)


@pytest.mark.parametrize(
    "harmful",
    [
        some(GRID, range(12, 18)),
        some(GRID, range(9, 15)),
        some(GRID, range(24), DOWN),
        some(GRID, range(18, 24), DOWN),
        some(GRID, range(6), ("attn_q", "attn_v")),
    ],
    ids=["a band", "a band across two quarters", "a kind", "a kind in a band", "two kinds in a band"],
)
def test_the_part_that_does_the_harm_is_found_and_little_else(harmful: frozenset[str]) -> None:
    views = harm_in(harmful)
    found = search(GRID, views)
    assert found.part is not None
    assert found.carried
    removed = found.part.mend.removed
    # A tenth of the harm may stay.
    assert len(harmful & removed) >= 0.85 * len(harmful)
    assert len(removed - harmful) <= 0.35 * len(harmful)
    assert found.mended is not None
    assert found.mended.mend.removed == removed
    assert found.views == len(views.asked) <= BUDGET


def test_two_separate_harms_are_both_left_out() -> None:
    first, second = some(GRID, range(6), ("attn_q",)), some(GRID, range(18, 24), DOWN)
    found = search(GRID, harm_in(first, second))
    assert found.part is not None
    assert found.carried
    removed = found.part.mend.removed
    assert len((first | second) & removed) >= 0.85 * len(first | second)
    assert len(removed) <= 1.5 * len(first | second)


@pytest.mark.parametrize("bearable", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_harm_that_is_spread_evenly_is_carried_by_no_part(bearable: float) -> None:
    found = search(GRID, ToyViews(GRID, lambda _: 1 / len(GRID.whole), bearable))
    assert not found.carried
    assert found.scale == pytest.approx(bearable)
    assert found.mended is not None
    # The curve tells how much of it has to go.
    assert [trial.passes for trial in found.curve] == sorted(trial.passes for trial in found.curve)


def test_of_a_part_and_a_scale_the_one_that_keeps_more_of_the_update_is_taken() -> None:
    half = ToyViews(GRID, lambda _: 1 / len(GRID.whole), bearable=0.8)
    mended = search(GRID, half).mended
    assert mended is not None
    # Without a fifth of the pairs nine tenths of the norm are left.
    assert mended.mend.scale == 1
    assert 1 - GRID.share(mended.mend.removed) <= 0.8


def test_what_passes_on_the_cases_asked_and_not_on_all_is_not_the_answer() -> None:
    harmful = some(GRID, range(12, 18))
    views = harm_in(harmful, bearable=0.5)
    views.passes_in_full = lambda mend: harmful <= mend.removed
    found = search(GRID, views)
    assert found.mended is not None
    assert harmful <= found.mended.mend.removed
    assert not found.judged[0].passes


def test_where_nothing_passes_on_all_cases_nothing_is_mended() -> None:
    views = harm_in(some(GRID, range(12, 18)))
    views.passes_in_full = lambda _: False
    found = search(GRID, views)
    assert found.mended is None
    assert found.views <= BUDGET


@pytest.mark.parametrize("budget", range(6, 30))
def test_the_budget_is_kept_and_what_it_was_too_small_for_is_told(budget: int) -> None:
    views = harm_in(some(GRID, range(9, 15)))
    found = search(GRID, views, budget)
    assert found.views == len(views.asked) <= budget
    if budget < 12:
        assert any("ran out" in sentence for sentence in found.untried)


def test_without_anything_to_read_parts_are_ranked_by_the_cases_that_come_back() -> None:
    harmful = some(GRID, range(12, 18))
    views = harm_in(harmful)
    views.reads = False
    found = search(GRID, views)
    assert {kind for kind, _ in views.asked} == {"ask", "judge"}
    assert found.part is not None
    assert harmful & found.part.mend.removed


def test_nothing_is_asked_twice() -> None:
    views = harm_in(some(GRID, range(12, 18), DOWN))
    search(GRID, views)
    assert len(set(views.asked)) == len(views.asked)


def test_an_adapter_of_one_layer_is_searched_by_kinds_alone() -> None:
    grid = make_grid(layers=1)
    views = ToyViews(grid, lambda name: float("ffn_down" in name), bearable=0.1)
    found = search(grid, views)
    assert found.part is not None
    assert found.part.mend.removed == some(grid, [0], DOWN)


def test_an_adapter_of_one_kind_is_searched_by_layers_alone() -> None:
    grid = make_grid(kinds=DOWN)
    views = ToyViews(grid, lambda name: float(name.startswith("blk.7.")), bearable=0.1)
    found = search(grid, views)
    assert found.part is not None
    assert found.part.mend.removed == some(grid, [7], DOWN)


def test_a_part_carries_the_harm_where_leaving_out_twice_as_much_elsewhere_does_not_help() -> None:
    harmful = some(GRID, range(12, 18))
    found = search(GRID, harm_in(harmful))
    assert found.elsewhere is not None
    assert not found.elsewhere.passes
    assert not found.elsewhere.mend.removed & harmful
    assert GRID.share(found.elsewhere.mend.removed) >= 2 * GRID.share(harmful)
    assert found.alone is not None
    assert not found.alone.passes


def test_a_part_that_does_no_harm_alone_may_carry_what_tips_the_balance() -> None:
    tips = some(GRID, range(18, 24), DOWN)
    views = ToyViews(GRID, lambda name: 0.1 if name in tips else 0.01, bearable=0.8)
    found = search(GRID, views)
    assert found.carried
    assert found.alone is not None
    assert found.alone.passes


def test_views_that_are_left_tell_what_bands_and_kinds_do_alone() -> None:
    found = search(GRID, harm_in(some(GRID, range(24), DOWN)), budget=60)
    alone = {harm.part: harm.share for harm in found.harms if harm.way == "alone"}
    assert len(alone) == 4 + len(KINDS)
    assert alone[some(GRID, range(24), DOWN)] == pytest.approx(1, abs=0.01)


def test_a_scale_is_looked_for_in_steps_of_a_twentieth() -> None:
    views = ToyViews(GRID, lambda _: 1 / len(GRID.whole), bearable=0.33)
    found = search(GRID, views, budget=60)
    assert found.scale == 0.3
    assert Mend(scale=0.35) in [mend for _, mend in views.asked]
