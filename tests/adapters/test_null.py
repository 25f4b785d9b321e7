from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gguf
import numpy as np
import pytest

from adapters.factory import lora_tensors, write_adapter, write_model
from loracheck.adapters import check_fits, read_adapter, read_header, write_null
from loracheck.errors import AdapterError, InputError

if TYPE_CHECKING:
    from pathlib import Path


def wide_tensors(dtype: Any = np.float32) -> dict[str, np.ndarray]:
    """Large enough for a standard deviation to mean something."""
    return {
        "blk.0.attn_q.weight.lora_a": np.zeros((32, 512), dtype),  # (r, in)
        "blk.0.attn_q.weight.lora_b": np.zeros((512, 32), dtype),  # (out, r)
    }


def test_a_null_has_the_tensors_shapes_rank_and_alpha_of_the_adapter(tmp_path: Path) -> None:
    like = read_adapter(write_adapter(tmp_path / "a.gguf", lora_tensors(dtype=np.float16)))
    out = write_null(like.path, tmp_path / "null.gguf", seed=1000)
    null = read_adapter(out)
    shapes = {(p.name, p.a.dims, p.a.type, p.b.dims, p.b.type) for p in like.pairs}
    assert {(p.name, p.a.dims, p.a.type, p.b.dims, p.b.type) for p in null.pairs} == shapes
    assert (null.ranks, null.alpha, null.architecture) == (like.ranks, like.alpha, "llama")
    assert null.name == "null seed 1000 std 0.02"
    assert null.non_finite == null.zero_pairs == ()
    check_fits(null, read_header(write_model(tmp_path / "m.gguf")))


def test_the_gguf_package_reads_a_null(tmp_path: Path) -> None:
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
        with pytest.raises(InputError, match="this is the adapter itself"):
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


def test_an_adapter_without_whole_pairs_has_no_null(tmp_path: Path) -> None:
    with pytest.raises(AdapterError, match="no LoRA pairs"):
        write_null(write_adapter(tmp_path / "a.gguf", {}), tmp_path / "null.gguf", seed=0)
    tensors = lora_tensors()
    del tensors["blk.0.attn_q.weight.lora_a"]
    path = write_adapter(tmp_path / "b.gguf", tensors)
    with pytest.raises(AdapterError, match="only half of a pair"):
        write_null(path, tmp_path / "null.gguf", seed=0)


def test_a_model_has_no_null(tmp_path: Path) -> None:
    with pytest.raises(AdapterError, match="not a LoRA adapter"):
        write_null(write_model(tmp_path / "m.gguf"), tmp_path / "null.gguf", seed=0)
