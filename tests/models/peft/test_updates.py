"""A pair that a GGUF adapter cannot express, or the base has no place for, is refused by name with nothing written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from loracheck.errors import InputError, ModelError
from models.factory import N_EMBD, N_FF, N_VOCAB, write_model
from models.peft_factory import MODULES, base_tensors, every_module, lora, write_base

if TYPE_CHECKING:
    from pathlib import Path

Q = "model.layers.0.self_attn.q_proj"


@pytest.mark.parametrize(
    ("name", "complaint"),
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
def test_a_tensor_that_is_no_lora_half_is_named(refusal: Any, name: str, complaint: str) -> None:
    message = refusal(every_module() | {f"base_model.model.{name}": np.zeros((2, 2))})
    assert name.removesuffix(".base_layer.weight") in message
    assert complaint in message


@pytest.mark.parametrize(
    ("tensors", "complaint"),
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
def test_a_pair_that_has_no_place_on_the_base_is_named(
    refusal: Any, tensors: dict[str, np.ndarray], complaint: str
) -> None:
    assert complaint in refusal(tensors)


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
