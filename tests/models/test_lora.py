from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from loracheck.errors import AdapterError
from loracheck.models import check_fits, read_header, read_lora
from models.factory import N_EMBD, N_VOCAB, lora_tensors, model_tensors, write_adapter, write_model
from real import BASE, needs_base

if TYPE_CHECKING:
    from pathlib import Path


def test_an_adapter_is_described_by_its_pairs(tmp_path: Path) -> None:
    path = write_adapter(tmp_path / "a.gguf", lora_tensors(dtype=np.float16))
    lora = read_lora(path)
    assert (lora.path, lora.size) == (path, path.stat().st_size)
    assert (lora.architecture, lora.name, lora.alpha) == ("llama", "toy", 8.0)
    assert (lora.ranks, lora.dtypes, lora.tensor_count) == ((4,), ("F16",), 12)
    assert lora.targets == {"attn_q": 2, "attn_v": 2, "ffn_down": 2}
    assert [pair.name for pair in lora.pairs[:2]] == ["blk.0.attn_q.weight", "blk.0.attn_v.weight"]
    assert lora.unpaired == lora.ignored == ()
    assert not lora.alora


def test_an_adapter_is_read_and_fitted_without_its_numbers(tmp_path: Path) -> None:
    write_adapter(tmp_path / "a.gguf")
    write_model(tmp_path / "m.gguf")
    code = (
        "import sys; from pathlib import Path; from loracheck.models import check_fits, read_lora, read_model_header; "
        "check_fits(read_lora(Path('a.gguf')), read_model_header(Path('m.gguf'))); print('numpy' in sys.modules)"
    )
    child = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert child.stdout.strip() == "False"


def test_half_a_pair_is_listed(tmp_path: Path) -> None:
    tensors = lora_tensors()
    del tensors["blk.0.attn_q.weight.lora_b"]
    lora = read_lora(write_adapter(tmp_path / "a.gguf", tensors))
    assert lora.unpaired == ("blk.0.attn_q.weight.lora_a",)
    assert len(lora.pairs) == 5


def test_an_activated_lora_is_noticed(tmp_path: Path) -> None:
    tokens = [("add_array", "adapter.alora.invocation_tokens", [1, 2])]
    assert read_lora(write_adapter(tmp_path / "a.gguf", extra=tokens)).alora


@pytest.mark.parametrize(
    ("method", "value", "complaint"),
    [
        ("add_float64", 8.0, "stored as FLOAT64, llama.cpp needs FLOAT32"),
        ("add_uint32", 8, "stored as UINT32, llama.cpp needs FLOAT32"),
        ("add_float32", float("nan"), "adapter.lora.alpha is nan"),
    ],
)
def test_an_alpha_that_would_break_llama_cpp_is_refused(
    tmp_path: Path, method: str, value: float, complaint: str
) -> None:
    extra = [(method, "adapter.lora.alpha", value)]
    path = write_adapter(tmp_path / "a.gguf", alpha=None, extra=extra)
    with pytest.raises(AdapterError, match=complaint):
        read_lora(path)


@pytest.mark.parametrize(
    ("name", "shape", "complaint"),
    [
        ("output.weight", (4, 4), "output.weight is neither .lora_a nor .lora_b"),
        ("blk.0.attn_q.weight.lora_a", (5, 64), "A is 64x5, B is 4x64"),
        ("blk.0.attn_q.weight.lora_a", (64, 4), "A is 4x64, B is 4x64"),
        ("blk.0.attn_q.weight.lora_a", (2, 4, 64), "A is 64x4x2, B is 4x64"),
        ("blk.0.attn_q.weight.lora_a", (0, 64), "blk.0.attn_q.weight is empty"),
    ],
)
def test_tensors_that_llama_cpp_would_refuse_are_named(
    tmp_path: Path, name: str, shape: tuple[int, ...], complaint: str
) -> None:
    tensors = lora_tensors() | {name: np.ones(shape, np.float32)}
    with pytest.raises(AdapterError, match=complaint):
        read_lora(write_adapter(tmp_path / "a.gguf", tensors))


def pair(name: str, n_out: int, n_in: int, rank: int = 2) -> dict[str, np.ndarray]:
    return {
        f"{name}.lora_a": np.ones((rank, n_in), np.float32),  # (r, in)
        f"{name}.lora_b": np.ones((n_out, rank), np.float32),  # (out, r)
    }


def embedding_pair() -> dict[str, np.ndarray]:
    return {
        "token_embd.weight.lora_a": np.ones((N_VOCAB, 2), np.float32),  # (vocab, r)
        "token_embd.weight.lora_b": np.ones((N_EMBD, 2), np.float32),  # (embd, r)
    }


def misfit(tmp_path: Path, tensors: dict[str, np.ndarray], base: dict[str, np.ndarray] | None = None) -> str:
    adapter = read_lora(write_adapter(tmp_path / "a.gguf", tensors))
    with pytest.raises(AdapterError) as caught:
        check_fits(adapter, read_header(write_model(tmp_path / "m.gguf", base)))
    return str(caught.value).removeprefix(f"{adapter.path}: ")


def test_an_adapter_made_for_the_base_fits(tmp_path: Path) -> None:
    adapter = read_lora(write_adapter(tmp_path / "a.gguf"))
    check_fits(adapter, read_header(write_model(tmp_path / "m.gguf")))


def test_a_wrong_width_shows_both_shapes(tmp_path: Path) -> None:
    assert misfit(tmp_path, pair("blk.0.attn_q.weight", 8, 64)) == (
        "blk.0.attn_q.weight is 64x8, the base needs 64x64; was it trained on another base?"
    )


def test_a_layer_that_the_base_does_not_have_is_named(tmp_path: Path) -> None:
    assert misfit(tmp_path, lora_tensors(layers=3)) == (
        "the base has no blk.2.attn_q.weight; was it trained on another base?"
    )


def test_another_architecture_is_named(tmp_path: Path) -> None:
    adapter = read_lora(write_adapter(tmp_path / "a.gguf", architecture="qwen2"))
    with pytest.raises(AdapterError, match=r"is for qwen2, the base m\.gguf is llama"):
        check_fits(adapter, read_header(write_model(tmp_path / "m.gguf")))


def test_half_a_pair_does_not_fit(tmp_path: Path) -> None:
    tensors = lora_tensors()
    del tensors["blk.1.attn_v.weight.lora_a"]
    assert "blk.1.attn_v.weight.lora_b is only half of a pair" in misfit(tmp_path, tensors)


def test_an_embedding_pair_fits_a_base_with_its_own_output_layer(tmp_path: Path) -> None:
    adapter = read_lora(write_adapter(tmp_path / "a.gguf", embedding_pair()))
    model = write_model(tmp_path / "m.gguf", model_tensors(tied=False))
    check_fits(adapter, read_header(model))


def test_an_embedding_pair_does_not_fit_a_base_that_shares_it_with_the_output(tmp_path: Path) -> None:
    assert "output layer is the same tensor" in misfit(tmp_path, embedding_pair())


def test_an_embedding_pair_stored_like_any_other_does_not_fit(tmp_path: Path) -> None:
    adapter = write_adapter(tmp_path / "a.gguf", pair("token_embd.weight", N_VOCAB, N_EMBD))
    with pytest.raises(AdapterError, match="do not fit together"):
        read_lora(adapter)


def test_an_output_pair_on_a_shared_output_layer_says_why(tmp_path: Path) -> None:
    assert "without lm_head" in misfit(tmp_path, pair("output.weight", N_VOCAB, N_EMBD))


def test_a_wrong_number_of_experts_does_not_fit(tmp_path: Path) -> None:
    name = "blk.0.ffn_up_exps.weight"
    base = model_tensors() | {name: np.ones((4, 6, 8), np.float32)}  # (experts, out, in)
    assert "is 8x6, the base needs 8x6x4" in misfit(tmp_path, pair(name, 6, 8), base)


def test_the_missing_tensors_of_a_split_model_are_not_held_against_the_adapter(tmp_path: Path) -> None:
    adapter = read_lora(write_adapter(tmp_path / "a.gguf", lora_tensors(layers=3)))
    model = write_model(tmp_path / "m.gguf", extra=[("add_uint16", "split.count", 2)])
    check_fits(adapter, read_header(model))


@needs_base
def test_adapters_of_all_seven_modules_fit_the_demo_model(tmp_path: Path) -> None:
    shapes = {
        "attn_q": (576, 576),
        "attn_k": (192, 576),
        "attn_v": (192, 576),
        "attn_output": (576, 576),
        "ffn_gate": (1536, 576),
        "ffn_up": (1536, 576),
        "ffn_down": (576, 1536),
    }
    tensors: dict[str, np.ndarray] = {}
    for layer in range(30):
        for module, (n_out, n_in) in shapes.items():
            tensors |= pair(f"blk.{layer}.{module}.weight", n_out, n_in)
    adapter = read_lora(write_adapter(tmp_path / "a.gguf", tensors))
    assert adapter.targets == dict.fromkeys(sorted(shapes), 30)
    check_fits(adapter, read_header(BASE))


def test_double_precision_is_refused_before_llama_cpp_crashes_on_it(tmp_path: Path) -> None:
    tensors = {name: half.astype(np.float64) for name, half in pair("blk.0.attn_q.weight", N_EMBD, N_EMBD).items()}
    assert misfit(tmp_path, tensors).endswith("is stored as F64, which llama.cpp cannot use; export it as F16 or F32")
