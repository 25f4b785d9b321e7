from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from adapters.factory import (
    N_EMBD,
    N_VOCAB,
    lora_tensors,
    model_tensors,
    write_adapter,
    write_model,
)
from loracheck.adapters import (
    AdapterInfo,
    ModelInfo,
    chat_template,
    describe,
    read_adapter,
    read_header,
    read_model,
    sha256_of,
)
from loracheck.errors import AdapterError, InputError, ModelError
from real import BASE, needs_base

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


def test_an_adapter_is_described_by_its_pairs(tmp_path: Path) -> None:
    path = write_adapter(tmp_path / "a.gguf", lora_tensors(dtype=np.float16))
    info = describe(path)
    assert isinstance(info, AdapterInfo)
    assert (info.path, info.size) == (path, path.stat().st_size)
    assert (info.architecture, info.name, info.alpha) == ("llama", "toy", 8.0)
    assert (info.ranks, info.dtypes, info.tensor_count) == ((4,), ("F16",), 12)
    assert info.targets == {"attn_q": 2, "attn_v": 2, "ffn_down": 2}
    assert [pair.name for pair in info.pairs[:2]] == [
        "blk.0.attn_q.weight",
        "blk.0.attn_v.weight",
    ]
    assert info.unpaired == info.ignored == info.non_finite == info.zero_pairs == ()
    assert not info.alora


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


def test_half_a_pair_is_listed(tmp_path: Path) -> None:
    tensors = lora_tensors()
    del tensors["blk.0.attn_q.weight.lora_b"]
    info = read_adapter(write_adapter(tmp_path / "a.gguf", tensors))
    assert info.unpaired == ("blk.0.attn_q.weight.lora_a",)
    assert len(info.pairs) == 5


def test_an_adapter_without_pairs_changes_nothing(tmp_path: Path) -> None:
    info = read_adapter(write_adapter(tmp_path / "a.gguf", {}))
    assert (info.pairs, info.update_norm, info.max_abs) == ((), 0.0, None)


def test_an_activated_lora_is_noticed(tmp_path: Path) -> None:
    tokens = [("add_array", "adapter.alora.invocation_tokens", [1, 2])]
    assert read_adapter(write_adapter(tmp_path / "a.gguf", extra=tokens)).alora


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"kind": "model", "adapter_type": None},
            "a file of LoRA tensors without general.type 'adapter'",
        ),
        ({"adapter_type": "control_vector"}, "an adapter of type 'control_vector'"),
        ({"adapter_type": None}, "an adapter without adapter.type"),
        ({"kind": "model", "architecture": "controlvector"}, "a control vector"),
        ({"kind": "mmproj", "architecture": "clip"}, r"a multimodal projector \(mmproj\)"),
        ({"kind": "imatrix", "tensors": {}}, "a GGUF file of type 'imatrix'"),
        ({"kind": "model", "tensors": {}}, "a GGUF file without tensors"),
    ],
)
def test_a_file_that_is_neither_says_what_it_is(tmp_path: Path, settings: dict[str, Any], says: str) -> None:
    path = write_adapter(tmp_path / "a.gguf", **settings)
    with pytest.raises(AdapterError, match=f"this is {says}, not a LoRA adapter"):
        read_adapter(path)
    with pytest.raises(ModelError, match=f"this is {says}, not a model"):
        read_model(path)
    with pytest.raises(InputError, match=f"this is {says}"):
        describe(path)


def test_model_and_adapter_in_each_others_place_are_sent_back(tmp_path: Path) -> None:
    model, adapter = write_model(tmp_path / "m.gguf"), write_adapter(tmp_path / "a.gguf")
    with pytest.raises(AdapterError, match=r"a model \(llama, 9 tensors\).*; give it as --base"):
        read_adapter(model)
    with pytest.raises(ModelError, match="this is a LoRA adapter, not a model; give it as --adap"):
        read_model(adapter)


@pytest.mark.parametrize(
    ("method", "value", "says"),
    [
        ("add_float64", 8.0, "stored as FLOAT64, llama.cpp needs FLOAT32"),
        ("add_uint32", 8, "stored as UINT32, llama.cpp needs FLOAT32"),
        ("add_float32", float("nan"), "adapter.lora.alpha is nan"),
    ],
)
def test_an_alpha_that_would_break_llama_cpp_is_refused(tmp_path: Path, method: str, value: float, says: str) -> None:
    extra = [(method, "adapter.lora.alpha", value)]
    path = write_adapter(tmp_path / "a.gguf", alpha=None, extra=extra)
    with pytest.raises(AdapterError, match=says):
        read_adapter(path)


@pytest.mark.parametrize(
    ("name", "shape", "says"),
    [
        ("output.weight", (4, 4), "output.weight is neither .lora_a nor .lora_b"),
        ("blk.0.attn_q.weight.lora_a", (5, 64), "A is 64x5, B is 4x64"),
        ("blk.0.attn_q.weight.lora_a", (64, 4), "A is 4x64, B is 4x64"),
        ("blk.0.attn_q.weight.lora_a", (2, 4, 64), "A is 64x4x2, B is 4x64"),
        ("blk.0.attn_q.weight.lora_a", (0, 64), "blk.0.attn_q.weight is empty"),
    ],
)
def test_tensors_that_llama_cpp_would_refuse_are_named(
    tmp_path: Path, name: str, shape: tuple[int, ...], says: str
) -> None:
    tensors = lora_tensors() | {name: np.ones(shape, np.float32)}
    with pytest.raises(AdapterError, match=says):
        read_adapter(write_adapter(tmp_path / "a.gguf", tensors))


def test_a_model_is_described_by_its_header(tmp_path: Path) -> None:
    extra = [("add_string", "general.license", "mit")]
    path = write_model(tmp_path / "m.gguf", extra=extra)
    assert describe(path) == ModelInfo(
        path=path,
        size=path.stat().st_size,
        architecture="llama",
        name="toy base",
        quantization="F16",
        tensor_types={"F16": 6, "F32": 3},
        parameters=sum(data.size for data in model_tensors().values()),
        n_ctx_train=512,
        n_layers=2,
        n_embd=N_EMBD,
        n_vocab=N_VOCAB,
        has_chat_template=False,
        license="mit",
        parts=1,
    )


def test_the_chat_template_comes_with_its_tokens(tmp_path: Path) -> None:
    extra = [("add_string", "tokenizer.chat_template", "{{ bos_token }}")]
    template = chat_template(read_header(write_model(tmp_path / "m.gguf", extra=extra)))
    assert template is not None
    assert (template.source, template.bos_token, template.eos_token) == (
        "{{ bos_token }}",
        "<1>",
        "<99>",
    )
    assert chat_template(read_header(write_model(tmp_path / "bare.gguf"))) is None


def test_the_digest_is_that_of_the_whole_file(tmp_path: Path) -> None:
    path = write_adapter(tmp_path / "a.gguf")
    assert sha256_of(path) == hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(AdapterError, match="No such file"):
        sha256_of(tmp_path / "b.gguf", AdapterError)


@needs_base
def test_the_demo_model_is_described() -> None:
    info = read_model(BASE)
    assert (info.architecture, info.quantization, info.license) == ("llama", "Q4_1", "apache-2.0")
    assert (info.n_layers, info.n_embd, info.n_vocab, info.n_ctx_train) == (30, 576, 49152, 8192)
    assert info.parameters == 134_515_008
    template = chat_template(read_header(BASE))
    assert template is not None
    assert (template.bos_token, template.eos_token) == ("<|im_start|>", "<|im_end|>")
