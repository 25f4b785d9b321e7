"""What a model takes, by its header."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from loracheck.engine import Settings
from loracheck.memory import Load, kv_bytes
from loracheck.models.gguf_file import GgufFile
from loracheck.models.model import read_model_header
from models.factory import write_model
from real import BASE, QWEN, needs_base

if TYPE_CHECKING:
    from pathlib import Path

LAYERS, HEADS, WIDE = 30, 9, 576
ATTENTION = {"attention.head_count": HEADS, "block_count": LAYERS, "embedding_length": WIDE, "context_length": 8192}


def header(path: Path, **changes: Any) -> GgufFile:
    """Of a model that says nothing of itself but this."""
    written = read_model_header(write_model(path / "model.gguf"))
    facts = {**ATTENTION, **{name.replace("__", "."): value for name, value in changes.items()}}
    named = {f"llama.{name}": value for name, value in facts.items() if value is not None}
    return replace(written, metadata={"general.architecture": "llama", **named})


@pytest.mark.parametrize(
    ("changes", "numbers"),
    [
        ({}, LAYERS * HEADS * 2 * 64),
        ({"attention__head_count_kv": 3}, LAYERS * 3 * 2 * 64),
        ({"attention__head_count_kv": (3, 0) * 15}, 15 * 3 * 2 * 64),
        ({"attention__head_count_kv": 3, "attention__key_length": 128}, LAYERS * 3 * (128 + 64)),
        ({"attention__head_count_kv": 3, "full_attention_interval": 4}, 8 * 3 * 2 * 64),
        (
            {"attention__head_count_kv": 1, "attention__key_length": 576, "attention__key_length_mla": 192},
            LAYERS * 576,
        ),
        ({"attention__head_count": None}, 0),
        ({"block_count": None}, 0),
    ],
    ids=["all heads", "grouped heads", "in every other layer", "wide keys", "hybrid", "latent", "no attention", "none"],
)
def test_a_token_takes_two_bytes_for_each_number_of_its_keys_and_values(
    tmp_path: Path, changes: dict[str, Any], numbers: int
) -> None:
    assert kv_bytes(header(tmp_path, **changes)) == 2 * numbers


def load(model: GgufFile, **changes: Any) -> Load:
    given = Load(model, size=1000, adapters=10, jobs=100, prompt=500, answer=100, settings=Settings(parallel=16))
    return replace(given, **changes)


def test_a_context_has_a_stream_for_each_job_at_most_the_width_and_one_more(tmp_path: Path) -> None:
    model = header(tmp_path)
    each = 768 * kv_bytes(model)
    assert load(model).need.context == 17 * each
    assert load(model, settings=Settings(parallel=1)).need.context == 2 * each
    assert load(model, width=2).need.context == 3 * each
    few = load(model, jobs=3)
    assert few.need.context == few.streams * each < 17 * each


def test_a_context_is_as_long_as_the_longest_case_up_to_the_limit(tmp_path: Path) -> None:
    model = header(tmp_path)
    one = 17 * kv_bytes(model)
    assert load(model, prompt=10, answer=10).need.context == 256 * one
    assert load(model, prompt=5000).need.context == 4096 * one
    assert load(model, prompt=50_000, settings=Settings(n_ctx=99_999, parallel=16)).need.context == 8192 * one


def test_what_would_fit_keeps_as_much_as_it_can(tmp_path: Path) -> None:
    whole = load(header(tmp_path))
    need = whole.need.whole
    for room in (need - 1, need // 2, need // 3):
        fitting = whole.fitting(room)
        assert fitting is not None
        assert fitting.need.whole <= room
        parallel = int(fitting.options.removeprefix("--parallel "))
        wider = replace(whole, settings=replace(whole.settings, parallel=parallel + 1))
        assert wider.need.whole > room


def test_a_shorter_context_is_proposed_where_one_case_at_a_time_is_still_too_much(tmp_path: Path) -> None:
    whole = load(header(tmp_path), answer=3000)
    alone = replace(whole, settings=replace(whole.settings, parallel=1))
    fitting = whole.fitting(alone.need.whole - 1)
    assert fitting is not None
    # The longest prompt still fits, with a quarter of its length for the answer.
    assert fitting.options.endswith(" --n-ctx 768")
    assert whole.fitting(1000) is None


@pytest.mark.parametrize(
    ("model", "kv"),
    [
        pytest.param(BASE, 30 * 3 * 128 * 2, marks=needs_base),
        pytest.param(QWEN, 24 * 2 * 128 * 2, marks=pytest.mark.qwen),
    ],
)
def test_real_models_take_what_llama_cpp_gives_them(model: Path, kv: int) -> None:
    assert kv_bytes(read_model_header(model)) == kv
