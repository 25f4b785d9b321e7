from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from loracheck.models import AdapterInfo, describe, measure_adapter, read_adapter, read_header, read_lora
from loracheck.models.measure import tensor_data
from models.factory import N_EMBD, N_VOCAB, lora_tensors, write_adapter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def spelled_out_norm(tensors: Mapping[str, np.ndarray], alpha: float | None) -> float:
    """The slow way: build every update."""
    total = 0.0
    for name, a in tensors.items():
        if name.endswith(".lora_a"):
            b = tensors[name[:-1] + "b"].astype(np.float64)  # (out, r)
            scale = alpha / b.shape[-1] if alpha else 1.0
            total += float(np.linalg.norm(scale * (b @ a.astype(np.float64))) ** 2)
    return total**0.5


def test_a_sound_adapter_has_its_headers_facts_and_nothing_to_complain_about(tmp_path: Path) -> None:
    path = write_adapter(tmp_path / "a.gguf")
    lora, info = read_lora(path), describe(path)
    assert isinstance(info, AdapterInfo)
    assert info == read_adapter(path) == measure_adapter(lora)
    assert all(getattr(info, field.name) == getattr(lora, field.name) for field in fields(lora))
    assert (info.ranks, info.dtypes, info.targets) == (lora.ranks, lora.dtypes, lora.targets)
    assert info.non_finite == info.zero_pairs == ()


@pytest.mark.parametrize("alpha", [8.0, 0.0, None])
def test_the_update_norm_is_that_of_the_updates_spelled_out(tmp_path: Path, alpha: float | None) -> None:
    tensors = lora_tensors()
    info = read_adapter(write_adapter(tmp_path / "a.gguf", tensors, alpha=alpha))
    assert info.alpha == alpha
    assert info.update_norm == pytest.approx(spelled_out_norm(tensors, alpha))
    first = {name: data for name, data in tensors.items() if name.startswith("blk.1.attn_v.")}
    assert info.pair_norms["blk.1.attn_v.weight"] == pytest.approx(spelled_out_norm(first, alpha))
    assert info.max_abs == pytest.approx(max(np.abs(data).max() for data in tensors.values()))


def test_the_embedding_pair_has_its_a_the_other_way_round(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((N_VOCAB, 2)).astype(np.float32)  # (vocab, r)
    b = rng.standard_normal((N_EMBD, 2)).astype(np.float32)  # (embd, r)
    tensors = {"token_embd.weight.lora_a": a, "token_embd.weight.lora_b": b}
    info = read_adapter(write_adapter(tmp_path / "a.gguf", tensors, alpha=2.0))
    assert (info.ranks, info.targets) == ((2,), {"token_embd": 1})
    assert info.pairs[0].dims[:2] == (N_EMBD, N_VOCAB)
    assert info.update_norm == pytest.approx(float(np.linalg.norm(b @ a.T)))


def test_experts_are_counted_in_one_pair(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((3, 2, 8)).astype(np.float32)  # (experts, r, in)
    b = rng.standard_normal((3, 6, 2)).astype(np.float32)  # (experts, out, r)
    name = "blk.0.ffn_up_exps.weight"
    tensors = {f"{name}.lora_a": a, f"{name}.lora_b": b}
    info = read_adapter(write_adapter(tmp_path / "a.gguf", tensors, alpha=None))
    assert info.pairs[0].dims == (8, 6, 3, 1)
    assert info.update_norm == pytest.approx(float(np.linalg.norm(b @ a)))


def test_a_quantized_adapter_has_nearly_the_same_norm(tmp_path: Path) -> None:
    tensors = {
        "blk.0.attn_q.weight.lora_a": np.random.default_rng(0).standard_normal((32, 64)),  # (r, in)
        "blk.0.attn_q.weight.lora_b": np.random.default_rng(1).standard_normal((64, 32)),  # (out, r)
    }
    tensors = {name: data.astype(np.float32) for name, data in tensors.items()}
    info = read_adapter(write_adapter(tmp_path / "a.gguf", tensors, quantized="Q8_0"))
    assert info.dtypes == ("Q8_0",)
    assert info.update_norm == pytest.approx(spelled_out_norm(tensors, 8.0), rel=0.01)


def test_numbers_that_are_not_finite_are_named_and_leave_no_norm(tmp_path: Path) -> None:
    tensors = lora_tensors()
    tensors["blk.1.attn_q.weight.lora_b"][0, 0] = np.nan
    info = read_adapter(write_adapter(tmp_path / "a.gguf", tensors))
    assert info.non_finite == ("blk.1.attn_q.weight.lora_b",)
    assert info.update_norm is info.max_abs is info.pair_norms["blk.1.attn_q.weight"] is None
    assert info.pair_norms["blk.0.attn_q.weight"] is not None


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_signalling_nan_is_named_without_a_warning(tmp_path: Path, dtype: Any) -> None:
    tensors = lora_tensors(dtype=dtype)
    damaged = tensors["blk.0.attn_q.weight.lora_a"]
    pattern = np.uint16(0x7C01) if dtype is np.float16 else np.uint32(0x7F800001)
    damaged.view(pattern.dtype)[0, 0] = pattern
    info = read_adapter(write_adapter(tmp_path / "a.gguf", tensors))
    assert info.non_finite == ("blk.0.attn_q.weight.lora_a",)


def test_a_pair_with_an_all_zero_half_is_named(tmp_path: Path) -> None:
    tensors = lora_tensors()
    tensors["blk.0.attn_v.weight.lora_b"][:] = 0
    info = read_adapter(write_adapter(tmp_path / "a.gguf", tensors))
    assert info.zero_pairs == ("blk.0.attn_v.weight",)
    assert info.pair_norms["blk.0.attn_v.weight"] == 0.0


def test_what_llama_cpp_ignores_is_listed_and_not_counted(tmp_path: Path) -> None:
    tensors = lora_tensors()
    norm = spelled_out_norm(tensors, 8.0)
    tensors["blk.0.attn_norm.weight"] = np.ones(N_EMBD, np.float32)  # (embd,)
    tensors["blk.0.ffn_norm.weight.lora_a"] = np.ones((4, N_EMBD), np.float32)  # (r, in)
    tensors["blk.0.ffn_norm.weight.lora_b"] = np.ones((1, 4), np.float32)  # (out, r)
    info = read_adapter(write_adapter(tmp_path / "a.gguf", tensors))
    assert info.ignored == (
        "blk.0.attn_norm.weight",
        "blk.0.ffn_norm.weight.lora_a",
        "blk.0.ffn_norm.weight.lora_b",
    )
    assert info.update_norm == pytest.approx(norm)


def test_an_adapter_without_pairs_changes_nothing(tmp_path: Path) -> None:
    info = read_adapter(write_adapter(tmp_path / "a.gguf", {}))
    assert (info.pairs, info.update_norm, info.max_abs) == ((), 0.0, None)


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16", "Q8_0", "Q4_0"])
def test_tensor_data_comes_back_in_numpy_order(tmp_path: Path, kind: str) -> None:
    values = np.linspace(-1, 1, 6 * 64, dtype=np.float32).reshape(6, 64)  # (out, in)
    path = write_adapter(tmp_path / "a.gguf", {"x.weight.lora_a": values}, quantized=kind)
    header = read_header(path)
    (tensor,) = header.tensors
    assert (tensor.dims, tensor.shape, tensor.type) == ((64, 6), (6, 64), kind)
    np.testing.assert_allclose(tensor_data(header, tensor), values, atol=0.15)


def test_float64_tensors_keep_their_precision(tmp_path: Path) -> None:
    values = np.array([[1e300, 0.1]])  # (1, 2)
    header = read_header(write_adapter(tmp_path / "a.gguf", {"x.lora_a": values}))
    assert tensor_data(header, header.tensors[0]).tolist() == values.tolist()
