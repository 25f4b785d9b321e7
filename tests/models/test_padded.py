from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from loracheck.models.lora import read_lora
from loracheck.models.measure import read_adapter, tensor_data
from loracheck.models.padded import write_padded
from models.factory import lora_tensors, write_adapter

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.models.lora import LoraFile, Pair


def halves(lora: LoraFile, pair: Pair) -> tuple[np.ndarray, np.ndarray]:
    return tensor_data(lora.header, pair.a), tensor_data(lora.header, pair.b)


@pytest.mark.parametrize("rank", [1, 2, 4, 8])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("alpha", [3.3, 0.0, None])
def test_the_rank_is_16_and_the_rest_is_zeros(tmp_path: Path, rank: int, dtype: type, alpha: float | None) -> None:
    path = write_adapter(tmp_path / "adapter.gguf", lora_tensors(rank=rank, dtype=dtype), alpha=alpha)
    out = write_padded(path, tmp_path / "padded.gguf")
    assert out is not None
    before, after = read_lora(path), read_lora(out)
    assert (after.ranks, after.dtypes, after.architecture) == ((16,), before.dtypes, before.architecture)
    assert [pair.name for pair in after.pairs] == [pair.name for pair in before.pairs]
    for old, new in zip(before.pairs, after.pairs, strict=True):
        (a, b), (wide_a, wide_b) = halves(before, old), halves(after, new)
        assert np.array_equal(wide_a[:rank], a)
        assert np.array_equal(wide_b[:, :rank], b)
        assert not wide_a[rank:].any()
        assert not wide_b[:, rank:].any()


@pytest.mark.parametrize("rank", [1, 2, 4, 8])
@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_llama_cpp_scales_it_as_before_to_the_last_bit(tmp_path: Path, rank: int, scale: float) -> None:
    path = write_adapter(tmp_path / "adapter.gguf", lora_tensors(rank=rank), alpha=3.3)
    out = write_padded(path, tmp_path / "padded.gguf")
    assert out is not None
    alphas = [np.float32(read_lora(each).alpha) for each in (path, out)]
    # In its order, and in single precision.
    old, new = (np.float32(scale) * alpha / np.float32(r) for alpha, r in zip(alphas, (rank, 16), strict=True))
    assert old == new
    assert read_adapter(out).pair_norms == pytest.approx(dict(read_adapter(path).pair_norms))


@pytest.mark.parametrize("rank", [3, 6, 12, 16, 32])
def test_no_other_rank_is_filled_up(tmp_path: Path, rank: int) -> None:
    path = write_adapter(tmp_path / "adapter.gguf", lora_tensors(rank=rank))
    assert write_padded(path, tmp_path / "padded.gguf") is None
    assert not (tmp_path / "padded.gguf").exists()


def test_several_ranks_have_but_one_alpha_so_they_stay_as_they_are(tmp_path: Path) -> None:
    tensors = lora_tensors(rank=4)
    tensors |= {name: data for name, data in lora_tensors(rank=8).items() if "ffn" in name}
    assert write_padded(write_adapter(tmp_path / "adapter.gguf", tensors), tmp_path / "padded.gguf") is None


def test_embeddings_are_looked_up_and_halves_are_refused_so_they_stay_as_they_are(tmp_path: Path) -> None:
    embeddings = {
        "token_embd.weight.lora_a": np.ones((100, 4), np.float32),
        "token_embd.weight.lora_b": np.ones((64, 4), np.float32),
    }
    half = dict(list(lora_tensors().items())[:-1])
    for tensors in (lora_tensors() | embeddings, half):
        path = write_adapter(tmp_path / "adapter.gguf", tensors)
        assert write_padded(path, tmp_path / "padded.gguf") is None


def test_numbers_that_are_none_stay_what_they_are(tmp_path: Path) -> None:
    tensors = lora_tensors(dtype=np.float16)
    first = next(iter(tensors))
    tensors[first][0, :2] = np.nan, np.inf
    out = write_padded(write_adapter(tmp_path / "adapter.gguf", tensors), tmp_path / "padded.gguf")
    assert out is not None
    assert read_adapter(out).non_finite == (first,)
