from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from adapters.factory import lora_tensors, write_adapter
from loracheck.adapters import sha256_of
from loracheck.engine import AdapterUse, Noise, Settings, View, identity
from loracheck.engine.identity import llama_identity, model_identity, view_identity

if TYPE_CHECKING:
    from pathlib import Path


def of_view(*uses: AdapterUse) -> Any:
    return view_identity(View("any name", uses), sha256_of)


def of_noise(like: Path, **changes: Any) -> Any:
    return of_view(AdapterUse(replace(Noise(like, seed=1000), **changes)))


def test_every_setting_has_a_part_in_it(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"weights")
    settings = [Settings(), Settings(n_ctx=64), Settings(threads=1), Settings(gpu_layers=1), Settings(parallel=4)]
    seen = [model_identity(tmp_path / "m.gguf", each, sha256_of) for each in settings]
    assert all(seen.count(one) == 1 for one in seen)


def test_every_part_of_a_split_model_counts(tmp_path: Path) -> None:
    first, second = (tmp_path / f"m-0000{number}-of-00002.gguf" for number in (1, 2))
    first.write_bytes(b"first")
    second.write_bytes(b"second")
    before = model_identity(first, Settings(), sha256_of)
    second.write_bytes(b"changed")
    assert model_identity(first, Settings(), sha256_of) != before


def test_an_adapter_is_known_by_content_and_not_by_path(tmp_path: Path) -> None:
    one, copy = tmp_path / "one.gguf", tmp_path / "copy.gguf"
    one.write_bytes(b"adapter")
    copy.write_bytes(b"adapter")
    assert of_view(AdapterUse(one)) == of_view(AdapterUse(copy))
    copy.write_bytes(b"retrained")
    assert of_view(AdapterUse(one)) != of_view(AdapterUse(copy))


def test_scale_and_order_of_a_stack_count(tmp_path: Path) -> None:
    one, two = tmp_path / "one.gguf", tmp_path / "two.gguf"
    one.write_bytes(b"one")
    two.write_bytes(b"two")
    assert of_view(AdapterUse(one, 1.0)) != of_view(AdapterUse(one, 0.5))
    assert of_view(AdapterUse(one), AdapterUse(two)) != of_view(AdapterUse(two), AdapterUse(one))
    assert of_view(AdapterUse(one)) != of_view(AdapterUse(one), AdapterUse(two))


def test_noise_of_one_shape_is_the_same_whatever_the_adapter_has_learned(tmp_path: Path) -> None:
    one = write_adapter(tmp_path / "one.gguf", lora_tensors(seed=1), name="one")
    two = write_adapter(tmp_path / "two.gguf", lora_tensors(seed=2), name="two")
    assert of_noise(one) == of_noise(two)


def test_noise_of_the_same_norms_is_another_when_the_adapter_has_learned_more(tmp_path: Path) -> None:
    one = write_adapter(tmp_path / "one.gguf", lora_tensors(seed=1))
    two = write_adapter(tmp_path / "two.gguf", lora_tensors(seed=2))
    copy = write_adapter(tmp_path / "copy.gguf", lora_tensors(seed=1))
    assert of_noise(one, match="norm") != of_noise(two, match="norm")
    assert of_noise(one, match="norm") == of_noise(copy, match="norm")


@pytest.mark.parametrize("changes", [{"seed": 1001}, {"init_scale": 0.03}, {"rank_multiplier": 2.0}, {"match": "norm"}])
def test_other_noise_is_another_identity(tmp_path: Path, changes: dict[str, Any]) -> None:
    like = write_adapter(tmp_path / "a.gguf")
    assert of_noise(like) != of_noise(like, **changes)


@pytest.mark.parametrize(
    ("tensors", "rest"),
    [
        (lora_tensors(rank=8), {}),
        (lora_tensors(layers=1), {}),
        (lora_tensors(dtype=np.float16), {}),
        (lora_tensors(), {"alpha": 16.0}),
        (lora_tensors(), {"alpha": None}),
        (lora_tensors(), {"architecture": "qwen2"}),
    ],
)
def test_noise_of_another_shape_is_another_identity(tmp_path: Path, tensors: Any, rest: dict[str, Any]) -> None:
    one = write_adapter(tmp_path / "one.gguf")
    two = write_adapter(tmp_path / "two.gguf", tensors, **rest)
    assert of_noise(one) != of_noise(two)


def test_llama_cpp_is_identified_without_being_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    # None in sys.modules makes any import of it fail.
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    monkeypatch.setattr(identity, "find_spec", lambda _: None)
    assert llama_identity(sha256_of)["libraries"] == {}


def test_another_build_of_the_libraries_is_another_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMA_CPP_LIB_PATH", str(tmp_path))
    (tmp_path / "libllama.so").write_bytes(b"one build")
    before = llama_identity(sha256_of)
    assert llama_identity(sha256_of) == before
    (tmp_path / "libllama.so").write_bytes(b"other one")
    assert llama_identity(sha256_of) != before
