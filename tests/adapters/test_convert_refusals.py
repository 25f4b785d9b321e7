"""What a GGUF adapter cannot express is refused by name, and nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from adapters.factory import N_EMBD, N_FF, N_VOCAB, write_model
from adapters.peft_factory import (
    MODULES,
    base_tensors,
    every_module,
    lora,
    write_base,
    write_peft,
)
from loracheck.adapters.peft import convert
from loracheck.errors import AdapterError, InputError, ModelError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Q = "model.layers.0.self_attn.q_proj"


@pytest.fixture
def refusal(tmp_path: Path) -> Callable[..., str]:
    """Convert, expect an error, and give its message."""

    def refusal(
        tensors: dict[str, np.ndarray] | None = None,
        base: Path | None = None,
        error: type[InputError] = AdapterError,
        outtype: str = "f32",
        **config: Any,
    ) -> str:
        peft = write_peft(tmp_path / "peft", tensors, **config)
        base = base or write_base(tmp_path / "base.gguf")
        before = sorted(tmp_path.iterdir())
        with pytest.raises(error) as caught:
            convert(peft, base, tmp_path / "out.gguf", outtype)
        assert sorted(tmp_path.iterdir()) == before
        return str(caught.value)

    return refusal


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("peft_type", "LOKR", "only LORA adapters"),
        ("peft_type", None, "only LORA adapters"),
        ("use_dora", True, "train without use_dora"),
        ("lora_bias", True, "train without lora_bias"),
        ("bias", "lora_only", "train with bias='none'"),
        ("modules_to_save", ["lm_head"], "train without modules_to_save"),
        ("trainable_token_indices", [3], "single trained tokens"),
        ("target_parameters", ["mlp.experts.gate_up_proj"], "use target_modules alone"),
        ("layer_replication", [[0, 2], [1, 2]], "repeated layers"),
        ("fan_in_fan_out", True, "GPT-2"),
        ("init_lora_weights", "pissa_niter_4", "path_initial_model_for_weight_conversion"),
        ("init_lora_weights", "olora", "path_initial_model_for_weight_conversion"),
        ("invocation_string", "<go>", "alora_invocation_tokens"),
        ("use_qalora", True, "not known here"),
        ("kasa_config", {"beta": 1}, "not known here"),
        ("use_something_new", True, "not known here"),
        ("lora_alpha", "much", "valid number"),
        ("lora_alpha", float("nan"), "less than or equal to"),
        ("lora_alpha", 1e300, "less than or equal to"),
        ("r", 0, "greater than or equal to 1"),
        ("rank_pattern", {"q_proj": -1}, "greater than or equal to 1"),
        ("alora_invocation_tokens", [-1], "greater than or equal to 0"),
    ],
)
def test_a_setting_that_cannot_be_kept_is_named(refusal: Any, key: str, value: Any, said: str) -> None:
    message = refusal(**{key: value})
    assert "adapter_config.json: " in message
    assert key in message
    assert said in message


def test_a_newer_version_of_peft_may_add_numbers_and_names(tmp_path: Path) -> None:
    peft = write_peft(tmp_path / "peft", new_group_size=16, new_library="some.core", new_config=None, new_list=[])
    convert(peft, write_base(tmp_path / "base.gguf"), tmp_path / "out.gguf")


@pytest.mark.parametrize("pattern", ["(", "*_proj", "[z-a]"])
def test_a_pattern_that_is_none_is_named(refusal: Any, pattern: str) -> None:
    assert f"the pattern {pattern!r} is no regular expression" in refusal(alpha_pattern={pattern: 4})


@pytest.mark.parametrize("alpha", [0, 1e-60])
def test_an_alpha_of_zero_is_not_taken_for_no_scaling(refusal: Any, alpha: float) -> None:
    assert f"lora_alpha is {alpha:g}, so the adapter changes nothing" in refusal(lora_alpha=alpha)


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe", b"[" * 100_000, b'{"r": 1' + b"0" * 5000 + b"}"])
def test_a_config_that_is_no_json_object_is_named(tmp_path: Path, content: bytes) -> None:
    peft = write_peft(tmp_path / "peft")
    (peft / "adapter_config.json").write_bytes(content)
    with pytest.raises(AdapterError, match=r"adapter_config\.json: "):
        convert(peft, write_base(tmp_path / "base.gguf"), tmp_path / "out.gguf")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (f"{Q}.lora_magnitude_vector", "DoRA"),
        (f"{Q}.lora_magnitude_vector.weight", "DoRA"),
        (f"{Q}.lora_B.bias", "is a bias"),
        (f"{Q}.bias", "is a bias"),
        ("model.layers.0.input_layernorm.weight", "is a norm"),
        ("model.norm.weight", "is a norm"),
        ("model.embed_tokens.weight", "save_embedding_layers=False"),
        ("lm_head.weight", "save_embedding_layers=False"),
        ("score.weight", "trained in full"),
        ("model.embed_tokens.base_layer.weight", "trained in full"),
        (f"{Q}.lora_A.default.weight", "trained in full"),
    ],
)
def test_a_tensor_that_is_no_lora_half_is_named(refusal: Any, name: str, said: str) -> None:
    message = refusal(every_module() | {f"base_model.model.{name}": np.zeros((2, 2))})
    assert name.removesuffix(".base_layer.weight") in message
    assert said in message


@pytest.mark.parametrize(
    ("tensors", "said"),
    [
        ({}, "no LoRA pairs"),
        (lora("model.layers.2.self_attn.q_proj", (N_EMBD, N_EMBD)), "layers.2.self_attn.q_proj is no part of the base"),
        (lora(Q, (N_EMBD, N_EMBD + 8)), f"{Q} is 72x64, the base's blk.0.attn_q.weight is 64x64"),
        (lora(Q, (N_EMBD, N_EMBD), rank=2), "has rank 2, adapter_config.json says 4"),
        (lora("model.layers.0.self_attn.qkv_proj", (128, N_EMBD)), "is no part of the base"),
        (lora("model.layers.0.mlp.gate_up_proj", (2 * N_FF, N_EMBD)), "is 64x192, the base's blk.0.ffn_up.weight"),
        (lora("model.layers.0.mlp.experts.3.up_proj", (N_FF, N_EMBD)), "one expert of several"),
        (lora("model.vision_tower.encoder.layers.0.self_attn.q_proj", (9, 9)), "sees or hears"),
        (lora("lm_head", (N_VOCAB, N_EMBD)), "whose output layer is token_embd.weight; train without lm_head"),
        (lora("model.embed_tokens", (N_VOCAB, N_EMBD)), "cannot change token_embd.weight this way"),
        (
            {f"model.embed_tokens.lora_embedding_{half}": np.zeros(shape) for half, shape in
             (("A", (4, N_VOCAB)), ("B", (N_EMBD, 4)))},
            "train without embed_tokens",
        ),
        ({f"{Q}.lora_A.weight": np.zeros((4, N_EMBD))}, f"{Q} has no lora_B"),
        ({f"{Q}.lora_A.weight": np.zeros((4, 64)), f"{Q}.lora_B.weight": np.zeros((64, 5))}, "do not fit"),
        ({f"{Q}.lora_A.weight": np.zeros((4, 64, 1)), f"{Q}.lora_B.weight": np.zeros((64, 4, 1))}, "do not fit"),
        ({f"{Q}.lora_A.weight": np.zeros((4, 0)), f"{Q}.lora_B.weight": np.zeros((64, 4))}, "do not fit"),
        (lora(Q, (64, 64)) | lora(f"language_model.{Q}", (64, 64)), f"and so does {Q}"),
        (lora(Q, (64, 64)) | {f"{Q}.lora_A.weight": np.zeros((4, 64))}, "is also there as base_model.model."),
    ],
)  # fmt: skip
def test_a_pair_that_has_no_place_on_the_base_is_named(refusal: Any, tensors: dict[str, np.ndarray], said: str) -> None:
    assert said in refusal(tensors)


def test_q_k_and_v_apart_do_not_fit_a_base_that_has_them_fused(refusal: Any, tmp_path: Path) -> None:
    base = write_base(tmp_path / "phi.gguf", "phi3")
    message = refusal(lora(Q, (N_EMBD, N_EMBD)), base)
    assert f"{Q} would be blk.0.attn_q.weight, but the base has the fused blk.0.attn_qkv.weight only" in message


def test_a_tensor_that_the_base_lacks_is_named(refusal: Any, tmp_path: Path) -> None:
    tensors = base_tensors("qwen2")
    del tensors["blk.0.attn_q.weight"]
    base = write_model(tmp_path / "base.gguf", tensors, architecture="qwen2")
    assert "would be blk.0.attn_q.weight, which the base does not have" in refusal(base=base)


def test_an_architecture_whose_rows_nobody_checked_is_not_guessed(refusal: Any, tmp_path: Path) -> None:
    base = write_model(tmp_path / "falcon.gguf", architecture="falcon")
    message = refusal(base=base, error=ModelError)
    assert "PEFT adapters for falcon cannot be converted here" in message
    assert all(architecture in message for architecture in MODULES)


@pytest.mark.parametrize("heads", [(0, 0), (7, 2), (4, 3)])
def test_heads_that_do_not_divide_the_rows_are_refused(refusal: Any, tmp_path: Path, heads: tuple[int, int]) -> None:
    message = refusal(base=write_base(tmp_path / "odd.gguf", heads=heads), error=InputError)
    assert "head" in message


@pytest.mark.parametrize("layers", [0, 10**6])
def test_an_absurd_number_of_layers_is_refused(
    refusal: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layers: int
) -> None:
    monkeypatch.setattr("gguf.GGUFWriter.add_block_count", lambda self, _: self.add_uint32("llama.block_count", layers))
    assert f"llama.block_count is {layers}" in refusal(base=write_base(tmp_path / "base.gguf"), error=ModelError)


def test_numbers_too_large_for_f16_are_refused(refusal: Any) -> None:
    tensors = lora(Q, (N_EMBD, N_EMBD))
    tensors[f"base_model.model.{Q}.lora_A.weight"][0, 0] = 1e6
    assert f"{Q} has numbers too large for f16; convert with --outtype f32" in refusal(tensors, outtype="f16")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("adapter_model.bin", "safe_serialization=True"),
        ("adapter_model.safetensors.index.json", "split over several files"),
        ("README.md", "there is no adapter_model.safetensors here"),
    ],
)
def test_weights_in_another_form_are_refused_with_the_way_out(tmp_path: Path, name: str, said: str) -> None:
    peft = write_peft(tmp_path / "peft")
    (peft / "adapter_model.safetensors").rename(peft / name)
    with pytest.raises(AdapterError, match="peft") as caught:
        convert(peft, write_base(tmp_path / "base.gguf"), tmp_path / "out.gguf")
    assert said in str(caught.value)


def test_a_folder_without_a_config_is_no_adapter(tmp_path: Path) -> None:
    with pytest.raises(AdapterError, match=r"there is no adapter_config\.json here"):
        convert(tmp_path, write_base(tmp_path / "base.gguf"), tmp_path / "out.gguf")


def test_the_base_and_the_weights_are_never_overwritten(tmp_path: Path) -> None:
    peft, base = write_peft(tmp_path / "peft"), write_base(tmp_path / "base.gguf")
    for path in (base, peft / "adapter_model.safetensors"):
        before = path.read_bytes()
        with pytest.raises(InputError, match="one of the files to convert"):
            convert(peft, base, path)
        assert path.read_bytes() == before
    for path in (tmp_path, tmp_path / "none" / "out.gguf"):
        with pytest.raises(InputError, match="folder"):
            convert(peft, base, path)


def test_a_conversion_that_fails_halfway_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    peft, base, out = write_peft(tmp_path / "peft"), write_base(tmp_path / "base.gguf"), tmp_path / "out.gguf"
    out.write_text("old", encoding="utf-8")
    monkeypatch.setattr("gguf.GGUFWriter.write_tensor_data", full)
    with pytest.raises(InputError, match=r"out\.gguf: cannot write the file: No space left on device"):
        convert(peft, base, out)
    assert out.read_text(encoding="utf-8") == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base.gguf", "out.gguf", "peft"]
