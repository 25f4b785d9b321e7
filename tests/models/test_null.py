from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import gguf
import numpy as np
import pytest

from loracheck.errors import AdapterError, InputError
from loracheck.models import check_fits, read_adapter, read_header, write_null
from models.factory import lora_tensors, write_adapter, write_model

if TYPE_CHECKING:
    from pathlib import Path


def wide_tensors(dtype: Any = np.float32) -> dict[str, np.ndarray]:
    """Large enough for a standard deviation to mean something."""
    return {
        "blk.0.attn_q.weight.lora_a": np.zeros((32, 512), dtype),  # (r, in)
        "blk.0.attn_q.weight.lora_b": np.zeros((512, 32), dtype),  # (out, r)
    }


def test_a_null_adapter_has_the_tensors_shapes_rank_and_alpha_of_the_adapter(tmp_path: Path) -> None:
    like = read_adapter(write_adapter(tmp_path / "a.gguf", lora_tensors(dtype=np.float16)))
    out = write_null(like.path, tmp_path / "null.gguf", seed=1000)
    null = read_adapter(out)
    shapes = {(p.name, p.a.dims, p.a.type, p.b.dims, p.b.type) for p in like.pairs}
    assert {(p.name, p.a.dims, p.a.type, p.b.dims, p.b.type) for p in null.pairs} == shapes
    assert (null.ranks, null.alpha, null.architecture) == (like.ranks, like.alpha, "llama")
    assert null.name == "null seed 1000 std 0.02"
    assert null.non_finite == null.zero_pairs == ()
    check_fits(null, read_header(write_model(tmp_path / "m.gguf")))


def test_the_gguf_package_reads_a_null_adapter(tmp_path: Path) -> None:
    path = write_adapter(tmp_path / "a.gguf")
    reader = gguf.GGUFReader(write_null(path, tmp_path / "null.gguf", seed=0))
    assert [tensor.name for tensor in reader.tensors] == sorted(lora_tensors())
    assert reader.fields["adapter.type"].contents() == "lora"
    assert reader.fields["general.type"].contents() == "adapter"


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize(("multiplier", "std"), [(1.0, 0.02), (4.0, 0.04)])
def test_both_halves_are_noise_of_the_asked_strength(tmp_path: Path, dtype: Any, multiplier: float, std: float) -> None:
    path = write_adapter(tmp_path / "a.gguf", wide_tensors(dtype))
    out = write_null(path, tmp_path / "null.gguf", seed=3, rank_multiplier=multiplier)
    for tensor in gguf.GGUFReader(out).tensors:
        noise = tensor.data.astype(np.float64)  # (rows, row)
        assert noise.std() == pytest.approx(std, rel=0.03)
        assert abs(noise.mean()) < std * 0.05


def test_the_bytes_depend_on_the_arguments_and_not_on_the_adapters_values(tmp_path: Path) -> None:
    tensors = lora_tensors(seed=1)
    one = write_adapter(tmp_path / "a.gguf", tensors)
    backwards = {name: -tensors[name] for name in reversed(tensors)}
    two = write_adapter(tmp_path / "b.gguf", backwards, name="other")
    first = write_null(one, tmp_path / "1.gguf", seed=5).read_bytes()
    assert write_null(one, tmp_path / "2.gguf", seed=5).read_bytes() == first
    assert write_null(two, tmp_path / "3.gguf", seed=5).read_bytes() == first
    assert write_null(one, tmp_path / "4.gguf", seed=6).read_bytes() != first
    assert write_null(one, tmp_path / "5.gguf", seed=5, init_scale=0.03).read_bytes() != first


def test_noise_by_scale_is_the_same_in_every_version(tmp_path: Path) -> None:
    path = write_adapter(tmp_path / "a.gguf", lora_tensors(dtype=np.float16))
    reader = gguf.GGUFReader(write_null(path, tmp_path / "null.gguf", seed=1000, rank_multiplier=2.5))
    noise = b"".join(tensor.data.tobytes() for tensor in reader.tensors)
    assert hashlib.sha256(noise).hexdigest() == "b5fbd811801c0a3cb2eb21a7f3b144524f326a306737460a7ea6178fc0ca2054"


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("alpha", [8.0, -0.01, None])
@pytest.mark.parametrize("multiplier", [1.0, 0.5, 4.0])
def test_each_pair_of_noise_can_have_the_norm_of_the_real_one(
    tmp_path: Path, dtype: Any, alpha: float | None, multiplier: float
) -> None:
    tensors = lora_tensors(dtype=dtype)
    tensors["blk.0.attn_v.weight.lora_b"] *= dtype(0.001)  # (out, r)
    tensors["token_embd.weight.lora_a"] = np.full((100, 4), 0.03, dtype)  # (vocab, r)
    tensors["token_embd.weight.lora_b"] = np.full((64, 4), 0.5, dtype)  # (embd, r)
    tensors["blk.0.ffn_up_exps.weight.lora_a"] = np.full((3, 4, 64), 0.01, dtype)  # (experts, r, in)
    tensors["blk.0.ffn_up_exps.weight.lora_b"] = np.full((3, 96, 4), 0.02, dtype)  # (experts, out, r)
    like = read_adapter(write_adapter(tmp_path / "a.gguf", tensors, alpha=alpha))
    null = read_adapter(write_null(like.path, tmp_path / "null.gguf", seed=3, match="norm", rank_multiplier=multiplier))
    assert null.name == f"null seed 3 norm x {multiplier:g}"
    assert null.dtypes == like.dtypes
    wanted = {name: norm * multiplier for name, norm in like.pair_norms.items() if norm is not None}
    assert null.pair_norms == pytest.approx(wanted, rel=1e-3)


def test_a_pair_out_of_balance_is_matched_by_halves_that_f16_can_hold(tmp_path: Path) -> None:
    tensors = {
        "blk.0.attn_q.weight.lora_a": np.full((4, 512), 60000, np.float16),  # (r, in)
        "blk.0.attn_q.weight.lora_b": np.full((512, 4), 6e-8, np.float16),  # (out, r)
    }
    like = read_adapter(write_adapter(tmp_path / "a.gguf", tensors))
    null = read_adapter(write_null(like.path, tmp_path / "null.gguf", seed=0, match="norm"))
    assert null.update_norm == pytest.approx(like.update_norm, rel=1e-3)
    assert null.max_abs is not None
    assert null.max_abs < 1


def test_noise_by_norm_depends_on_norms_seed_and_multiplier_alone(tmp_path: Path) -> None:
    tensors = lora_tensors(seed=1)
    one = write_adapter(tmp_path / "a.gguf", tensors)
    # Turning B upside down changes the update and not its norm.
    turned = {name: half[::-1] if name.endswith("_b") else half for name, half in tensors.items()}
    two = write_adapter(tmp_path / "b.gguf", turned, name="other")
    larger = write_adapter(tmp_path / "c.gguf", {name: half * 2 for name, half in tensors.items()})

    def made(like: Path, seed: int = 5, **settings: Any) -> bytes:
        return write_null(like, tmp_path / "null.gguf", seed=seed, match="norm", **settings).read_bytes()

    first = made(one)
    assert made(two) == first
    assert made(one, init_scale=0.5) == first
    assert made(one, seed=6) != first
    assert made(one, rank_multiplier=2.0) != first
    assert made(larger) != first


def test_a_pair_that_changes_nothing_stays_so_and_the_others_do_not_care(tmp_path: Path) -> None:
    tensors = lora_tensors()
    whole = write_null(write_adapter(tmp_path / "a.gguf", tensors), tmp_path / "1.gguf", seed=0, match="norm")
    tensors["blk.0.attn_q.weight.lora_b"][:] = 0
    holed = write_null(write_adapter(tmp_path / "b.gguf", tensors), tmp_path / "2.gguf", seed=0, match="norm")
    assert read_adapter(holed).zero_pairs == ("blk.0.attn_q.weight",)
    for before, after in zip(gguf.GGUFReader(whole).tensors, gguf.GGUFReader(holed).tensors, strict=True):
        assert after.data.any() == ("blk.0.attn_q" not in after.name)
        assert np.array_equal(before.data, after.data) or not after.data.any()


def test_an_update_that_noise_cannot_have_is_refused_by_name(tmp_path: Path) -> None:
    broken = lora_tensors()
    broken["blk.1.attn_q.weight.lora_b"][0, 0] = np.nan
    huge = {name: half * np.float32(1e6) for name, half in lora_tensors().items()}
    for tensors, complaint in (
        (broken, "blk.1.attn_q.weight is not finite"),
        (huge, "the norm of blk.0.attn_q.weight"),
    ):
        path = write_adapter(tmp_path / "a.gguf", tensors)
        with pytest.raises(AdapterError, match=complaint):
            write_null(path, tmp_path / "null.gguf", seed=0, match="norm")
        assert [entry.name for entry in tmp_path.iterdir()] == ["a.gguf"]


@pytest.mark.parametrize("kind", ["Q8_0", "BF16"])
def test_other_types_become_float32(tmp_path: Path, kind: str) -> None:
    path = write_adapter(tmp_path / "a.gguf", wide_tensors(), quantized=kind)
    assert read_adapter(path).dtypes == (kind,)
    assert read_adapter(write_null(path, tmp_path / "null.gguf", seed=0)).dtypes == ("F32",)


def test_no_alpha_stays_no_alpha_and_ignored_tensors_are_left_out(tmp_path: Path) -> None:
    tensors = lora_tensors() | {"blk.0.attn_norm.weight": np.ones(64, np.float32)}  # (embd,)
    path = write_adapter(tmp_path / "a.gguf", tensors, alpha=None)
    null = read_adapter(write_null(path, tmp_path / "null.gguf", seed=0))
    assert (null.alpha, null.ignored, null.tensor_count) == (None, (), 12)


@pytest.mark.parametrize(
    "settings",
    [
        {"seed": -1},
        {"seed": 1.5},
        {"seed": True},
        {"seed": 0, "init_scale": 0.0},
        {"seed": 0, "init_scale": -0.02},
        {"seed": 0, "init_scale": float("nan")},
        {"seed": 0, "init_scale": float("inf")},
        {"seed": 0, "init_scale": 1e30},
        {"seed": 0, "init_scale": 1e-30},
        {"seed": 0, "rank_multiplier": 0.0},
        {"seed": 0, "rank_multiplier": float("inf")},
        {"seed": 0, "rank_multiplier": 0.0, "match": "norm"},
    ],
)
def test_impossible_settings_are_refused_before_anything_is_written(tmp_path: Path, settings: dict[str, Any]) -> None:
    path = write_adapter(tmp_path / "a.gguf")
    with pytest.raises(InputError, match="it must be"):
        write_null(path, tmp_path / "null.gguf", **settings)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.gguf"]


def test_the_adapter_itself_is_never_written_over(tmp_path: Path) -> None:
    path = write_adapter(tmp_path / "a.gguf")
    before = path.read_bytes()
    (tmp_path / "link.gguf").symlink_to(path)
    for out in (path, tmp_path / "link.gguf", tmp_path / "." / "a.gguf"):
        with pytest.raises(InputError, match="made from this file"):
            write_null(path, out, seed=0)
    assert path.read_bytes() == before


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    path = write_adapter(tmp_path / "a.gguf")
    with pytest.raises(InputError, match="this is a folder"):
        write_null(path, tmp_path, seed=0)
    with pytest.raises(InputError, match="does not exist; make it first"):
        write_null(path, tmp_path / "no" / "null.gguf", seed=0)
    with pytest.raises(InputError, match="cannot write the file: File name too long"):
        write_null(path, tmp_path / ("n" * 300), seed=0)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.gguf"]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_a_failure_while_writing_leaves_the_old_file_and_no_rubbish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: Any
) -> None:
    path, out = write_adapter(tmp_path / "a.gguf"), tmp_path / "null.gguf"
    write_null(path, out, seed=0)
    before = out.read_bytes()

    def fail(*_: Any) -> None:
        raise failure

    monkeypatch.setattr(gguf.GGUFWriter, "write_tensor_data", fail)
    with pytest.raises((KeyboardInterrupt, InputError)):
        write_null(path, out, seed=1)
    assert out.read_bytes() == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.gguf", "null.gguf"]


def test_an_adapter_without_whole_pairs_has_no_null_adapter(tmp_path: Path) -> None:
    with pytest.raises(AdapterError, match="no LoRA pairs"):
        write_null(write_adapter(tmp_path / "a.gguf", {}), tmp_path / "null.gguf", seed=0)
    tensors = lora_tensors()
    del tensors["blk.0.attn_q.weight.lora_a"]
    path = write_adapter(tmp_path / "b.gguf", tensors)
    with pytest.raises(AdapterError, match="only half of a pair"):
        write_null(path, tmp_path / "null.gguf", seed=0)


def test_a_model_has_no_null_adapter(tmp_path: Path) -> None:
    with pytest.raises(AdapterError, match="not a LoRA adapter"):
        write_null(write_model(tmp_path / "m.gguf"), tmp_path / "null.gguf", seed=0)
