from __future__ import annotations

from dataclasses import replace

import pytest

from locating.toy_views import KINDS, make_grid, some
from loracheck.locating.grid import Grid, Place, grid_of
from loracheck.models import read_lora
from suite_factory import Files

GRID = make_grid()


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (some(GRID, range(16, 24), ["ffn_down"]), "layers 16–23 of ffn_down"),
        (some(GRID, range(16, 24)), "layers 16–23"),
        (some(GRID, [3]), "layer 3"),
        (some(GRID, range(24), ["attn_q"]), "attn_q"),
        (some(GRID, range(24), ["attn_q", "attn_v"]), "attn_q and attn_v"),
        (some(GRID, [*range(6), *range(18, 24)], ["attn_q"]), "layers 0–5 and 18–23 of attn_q"),
        (
            some(GRID, range(6), ["attn_q"]) | some(GRID, range(18, 24), ["ffn_down"]),
            "layers 0–5 of attn_q plus layers 18–23 of ffn_down",
        ),
        (GRID.whole, "the whole adapter"),
    ],
)
def test_a_part_is_named_as_one_would(part: frozenset[str], words: str) -> None:
    assert GRID.in_words(part) == words


def test_the_output_layer_is_named_without_a_number() -> None:
    grid = Grid({**GRID.places, "output.weight": Place(None, "output", 1.0)})
    assert grid.in_words(frozenset(["output.weight"])) == "output"
    assert grid.in_words(some(GRID, range(20, 24)) | {"output.weight"}) == "layers 20–23 plus output"
    assert grid.layers[-1] is None


def test_bands_and_kinds_each_make_up_the_whole() -> None:
    for axis in (GRID.bands(), GRID.kinds()):
        assert frozenset().union(*axis) == GRID.whole
        assert sum(map(len, axis)) == len(GRID.whole)
    assert [GRID.in_words(band) for band in GRID.bands()] == [
        "layers 0–5",
        "layers 6–11",
        "layers 12–17",
        "layers 18–23",
    ]


def test_an_adapter_of_few_layers_has_a_band_for_each() -> None:
    assert [len(band) for band in make_grid(layers=3).bands()] == [3, 3, 3]


def test_shares_of_the_update_add_up_and_what_is_kept_is_a_norm() -> None:
    assert sum(map(GRID.share, GRID.kinds())) == pytest.approx(1)
    assert GRID.norm_kept(GRID.kinds()[0]) == pytest.approx((2 / 3) ** 0.5)
    assert GRID.norm_kept(GRID.whole) == 0


def test_an_update_of_nothing_is_shared_out_by_pairs() -> None:
    grid = Grid({name: replace(place, square=0.0) for name, place in GRID.places.items()})
    assert grid.share(grid.kinds()[0]) == pytest.approx(1 / len(KINDS))


def test_the_grid_of_a_file_has_its_pairs_and_their_norms(files: Files) -> None:
    grid = grid_of(read_lora(files.adapter))
    assert (grid.layers, grid.modules, len(grid.whole)) == ([0, 1], ["attn_q", "attn_v", "ffn_down"], 6)
    assert all(place.square > 0 for place in grid.places.values())
