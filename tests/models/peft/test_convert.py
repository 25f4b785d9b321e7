"""PEFT to GGUF: what comes out, number by number. What is refused is in test_config.py and test_updates.py."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from loracheck.errors import InputError
from loracheck.models import check_fits, read_adapter, read_header, read_model_header
from loracheck.models.measure import tensor_data
from loracheck.models.peft import convert
from loracheck.models.peft.config import read_config
from models.factory import N_EMBD, N_KV, N_VOCAB, write_model
from models.peft_factory import (
    LAYERS,
    MODULES,
    base_tensors,
    every_module,
    lora,
    write_base,
    write_peft,
)

if TYPE_CHECKING:
    from pathlib import Path

Q = "model.layers.0.self_attn.q_proj"

# As PEFT 0.21 writes it, every key of it.
REAL_CONFIG: dict[str, Any] = json.loads("""{
  "alora_invocation_tokens": null, "alpha_pattern": {}, "arrow_config": null, "auto_mapping": null,
  "base_model_name_or_path": "some/model", "bias": "none", "corda_config": null, "ensure_weight_tying": false,
  "eva_config": null, "exclude_modules": null, "fan_in_fan_out": false, "inference_mode": true,
  "init_lora_weights": true, "kasa_config": null, "layer_replication": null, "layers_pattern": null,
  "layers_to_transform": null, "loftq_config": {}, "lora_alpha": 8, "lora_bias": false, "lora_dropout": 0.0,
  "lora_ga_config": null, "megatron_config": null, "megatron_core": "megatron.core", "modules_to_save": null,
  "monteclora_config": null, "peft_type": "LORA", "peft_version": "0.21.2", "qalora_group_size": 16, "r": 4,
  "rank_pattern": {}, "revision": null, "target_modules": ["q_proj", "v_proj"], "target_parameters": null,
  "task_type": "CAUSAL_LM", "trainable_token_indices": null, "use_bdlora": null, "use_dora": false,
  "use_qalora": false, "use_rslora": false, "velora_config": null
}""")


def read(path: Path) -> dict[str, np.ndarray]:
    header = read_header(path)
    return {tensor.name: tensor_data(header, tensor) for tensor in header.tensors}


def converted_tensors(tmp_path: Path, tensors: dict[str, np.ndarray], **config: Any) -> tuple[float, dict[str, Any]]:
    """The alpha and the tensors of an adapter for the llama base."""
    out = tmp_path / "out.gguf"
    convert(write_peft(tmp_path / "peft", tensors, **config), write_base(tmp_path / "base.gguf"), out)
    alpha = read_adapter(out).alpha
    assert alpha is not None
    return alpha, read(out)


@pytest.mark.parametrize("architecture", MODULES)
def test_every_module_of_every_layer_lands_on_its_tensor(tmp_path: Path, architecture: str) -> None:
    base = write_base(tmp_path / "base.gguf", architecture)
    peft = write_peft(tmp_path / "mine", every_module(architecture), **REAL_CONFIG)
    conversion = convert(peft, base, tmp_path / "out.gguf")
    info = read_adapter(tmp_path / "out.gguf")
    check_fits(info, read_model_header(base))
    targets = [name for name, _ in MODULES[architecture].values()]
    assert {pair.name for pair in info.pairs} == {f"blk.{n}.{name}.weight" for n in range(LAYERS) for name in targets}
    facts = (info.architecture, info.alpha, info.ranks, info.dtypes, info.name)
    assert facts == (architecture, 8.0, (4,), ("F32",), "mine")
    assert len(conversion.updates) == len(info.pairs)
    assert (conversion.ranks, conversion.alpha, conversion.left_out) == ((4,), 8.0, ())


def test_rows_of_q_and_k_become_neighbours_where_llama_cpp_wants_them_so(tmp_path: Path) -> None:
    q, k = (f"model.layers.0.self_attn.{module}_proj" for module in "qk")
    rows = np.arange(N_EMBD, dtype=np.float32)[:, None]  # (out, r)
    tensors = lora(q, (N_EMBD, N_EMBD), rank=1) | lora(k, (N_KV, N_EMBD), rank=1)
    tensors[f"base_model.model.{q}.lora_B.weight"] = rows
    tensors[f"base_model.model.{k}.lora_B.weight"] = rows[:N_KV]
    for architecture, first_head in (("llama", [0, 8, 1, 9, 2, 10]), ("qwen2", [0, 1, 2, 3, 4, 5])):
        base = write_base(tmp_path / "base.gguf", architecture)
        convert(write_peft(tmp_path / "peft", tensors, r=1), base, tmp_path / "out.gguf")
        written = read(tmp_path / "out.gguf")
        for module in ("attn_q", "attn_k"):
            b = written[f"blk.0.{module}.weight.lora_b"].ravel()
            assert b[:6].tolist() == first_head
            assert (b[16:22] - 16).tolist() == first_head
        assert (written["blk.0.attn_q.weight.lora_a"] == tensors[f"base_model.model.{q}.lora_A.weight"]).all()


def test_k_is_interleaved_by_its_own_heads_or_else_by_those_of_q(tmp_path: Path) -> None:
    rows = np.arange(N_KV, dtype=np.float32)[:, None]  # (out, r)
    name = "base_model.model.model.layers.0.self_attn.k_proj"
    tensors = {f"{name}.lora_A.weight": np.ones((1, N_EMBD)), f"{name}.lora_B.weight": rows}
    peft = write_peft(tmp_path / "peft", tensors, r=1)
    for heads, first in (((4, 2), [0, 8, 1]), ((4, 4), [0, 4, 1]), ((4, 0), [0, 4, 1])):
        convert(peft, write_base(tmp_path / "base.gguf", heads=heads), tmp_path / "out.gguf")
        assert read(tmp_path / "out.gguf")["blk.0.attn_k.weight.lora_b"].ravel()[:3].tolist() == first


@pytest.mark.parametrize("dtype", ["F64", "F32", "F16", "BF16"])
def test_numbers_survive_in_every_type_that_peft_saves(tmp_path: Path, dtype: str) -> None:
    module = "model.layers.1.mlp.down_proj"
    tensors = {
        # Few enough bits for all four types.
        name: np.round(tensor * 4).astype(np.float32) / 4
        for name, tensor in lora(module, (N_EMBD, 96)).items()
    }
    _, written = converted_tensors(tmp_path, tensors, dtype=dtype)
    assert sorted(written) == ["blk.1.ffn_down.weight.lora_a", "blk.1.ffn_down.weight.lora_b"]
    for name, tensor in zip(sorted(written), tensors.values(), strict=True):
        assert (written[name] == tensor).all()


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"use_rslora": True},
        {"rank_pattern": {"down_proj": 2, "model.layers.1.self_attn.o_proj": 6}},
        {"alpha_pattern": {"layers.1.mlp.up_proj": 5, "v_proj": -3, "o_proj": 0}},
        {"use_rslora": True, "rank_pattern": {r"layers\.[01]\.mlp\.\w+": 9}, "alpha_pattern": {"k_proj": 0.5}},
        {"lora_alpha": 1e-3, "alpha_pattern": {"(q|k|v)_proj": 100}},
    ],
)
def test_every_update_is_as_strong_as_peft_makes_it(tmp_path: Path, config: dict[str, Any]) -> None:
    peft = write_peft(tmp_path / "peft", {}, **config)
    settings = read_config(peft)
    tensors: dict[str, np.ndarray] = {}
    for layer in range(LAYERS):
        for module, (_, shape) in MODULES["qwen2"].items():
            name = f"model.layers.{layer}.{module}"
            tensors |= lora(name, shape, settings.rank(name))
    write_peft(peft, tensors, **config)
    convert(peft, write_base(tmp_path / "base.gguf", "qwen2"), tmp_path / "out.gguf")
    alpha, written = read_adapter(tmp_path / "out.gguf").alpha, read(tmp_path / "out.gguf")
    for layer in range(LAYERS):
        for module, (target, _) in MODULES["qwen2"].items():
            name = f"model.layers.{layer}.{module}"
            a, b = (tensors[f"base_model.model.{name}.lora_{half}.weight"].astype(float) for half in "AB")
            rank = len(a)
            expected = peft_alpha(config, name) / (rank**0.5 if config.get("use_rslora") else rank) * b @ a
            ours = [written[f"blk.{layer}.{target}.weight.lora_{half}"].astype(float) for half in "ab"]
            # llama.cpp's own formula.
            update = alpha / ours[1].shape[1] * ours[1] @ ours[0]
            np.testing.assert_allclose(update, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def peft_alpha(config: dict[str, Any], module: str) -> float:
    """By hand, for the patterns above."""
    patterns = config.get("alpha_pattern", {})
    by_hand = {"(q|k|v)_proj": ("q_proj", "k_proj", "v_proj")}
    for pattern, alpha in patterns.items():
        if module.endswith(by_hand.get(pattern, pattern)):
            return float(alpha)
    return float(config.get("lora_alpha", 8))


def test_rslora_changes_the_alpha_and_not_one_number(tmp_path: Path) -> None:
    plain = converted_tensors(tmp_path, every_module())
    rs = converted_tensors(tmp_path, every_module(), use_rslora=True)
    assert (plain[0], rs[0]) == (8.0, 16.0)  # 8 * sqrt(4)
    assert all((plain[1][name] == tensor).all() for name, tensor in rs[1].items())


def test_only_the_pairs_with_an_alpha_of_their_own_are_rewritten(tmp_path: Path) -> None:
    _, plain = converted_tensors(tmp_path, every_module())
    alpha, written = converted_tensors(tmp_path, every_module(), alpha_pattern={"layers.0.self_attn.v_proj": 4})
    changed = [name for name in plain if (plain[name] != written[name]).any()]
    assert (alpha, changed) == (8.0, ["blk.0.attn_v.weight.lora_b"])
    assert (written[changed[0]] == plain[changed[0]] / 2).all()


@pytest.mark.parametrize("outtype", ["f32", "f16"])
def test_numbers_that_are_none_are_left_for_inspect_to_name(tmp_path: Path, outtype: str) -> None:
    tensors = lora("model.layers.0.self_attn.v_proj", (N_KV, N_EMBD)) | lora(
        "model.layers.1.mlp.down_proj", (N_EMBD, 96)
    )
    for name, tensor in tensors.items():
        # A signalling NaN, at which numpy warns.
        tensor.view(np.uint32)[0, 0] = 0x7F800001
        tensor[1, 0] = np.inf if "lora_A" in name else 0
    peft = write_peft(tmp_path / "peft", tensors, alpha_pattern={"down_proj": 3})
    convert(peft, write_base(tmp_path / "base.gguf"), tmp_path / "out.gguf", outtype)
    assert len(read_adapter(tmp_path / "out.gguf").non_finite) == 4


def test_f16_takes_half_the_room(tmp_path: Path) -> None:
    peft, base = write_peft(tmp_path / "peft"), write_base(tmp_path / "base.gguf")
    for outtype in ("f32", "f16"):
        convert(peft, base, tmp_path / f"{outtype}.gguf", outtype)
    full, half = read(tmp_path / "f32.gguf"), read(tmp_path / "f16.gguf")
    assert read_adapter(tmp_path / "f16.gguf").dtypes == ("F16",)
    assert all((full[name].astype(np.float16) == half[name]).all() for name in full)


def test_an_embedding_of_its_own_is_written_the_way_llama_cpp_looks_it_up(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((4, N_VOCAB)), rng.standard_normal((N_EMBD, 4))  # (r, vocab), (embd, r)
    name = "base_model.model.model.embed_tokens"
    tensors = {f"{name}.lora_embedding_A": a.astype("f4"), f"{name}.lora_embedding_B": b.astype("f4")}
    tensors |= lora("lm_head", (N_VOCAB, N_EMBD))
    tensors["base_model.model.lm_head.base_layer.weight"] = np.zeros((N_VOCAB, N_EMBD))  # (vocab, embd)
    base = write_base(tmp_path / "base.gguf", tied=False)
    conversion = convert(write_peft(tmp_path / "peft", tensors), base, tmp_path / "out.gguf")
    written = read(tmp_path / "out.gguf")
    assert (written["token_embd.weight.lora_a"] == a.T.astype("f4")).all()
    assert (written["token_embd.weight.lora_b"] == b.astype("f4")).all()
    assert written["output.weight.lora_b"].shape == (N_VOCAB, 4)
    assert conversion.left_out == ("base_model.model.lm_head.base_layer.weight",)
    check_fits(read_adapter(tmp_path / "out.gguf"), read_model_header(base))


@pytest.mark.parametrize("inside", ["model.language_model", "language_model.model", "model.text_model", "model"])
def test_a_text_model_inside_a_larger_one_is_found(tmp_path: Path, inside: str) -> None:
    _, written = converted_tensors(tmp_path, every_module(inside=inside))
    assert len(written) == 2 * LAYERS * len(MODULES["llama"])


def test_a_model_without_its_head_is_found(tmp_path: Path) -> None:
    tensors = {name.replace(".model.model.", ".model."): tensor for name, tensor in every_module().items()}
    assert "base_model.model.layers.0.self_attn.q_proj.lora_A.weight" in tensors
    _, written = converted_tensors(tmp_path, tensors)
    _, expected = converted_tensors(tmp_path, every_module())
    assert written.keys() == expected.keys()


def test_one_layer_is_enough(tmp_path: Path) -> None:
    _, written = converted_tensors(
        tmp_path, lora("model.layers.1.self_attn.v_proj", (N_KV, N_EMBD)), layers_to_transform=[1]
    )
    assert sorted(written) == ["blk.1.attn_v.weight.lora_a", "blk.1.attn_v.weight.lora_b"]


def test_a_split_base_is_taken_at_its_word_for_tensors_in_its_other_parts(tmp_path: Path) -> None:
    tensors = {name: tensor for name, tensor in base_tensors("qwen2").items() if not name.startswith("blk.1.")}
    base = write_model(tmp_path / "base.gguf", tensors, architecture="qwen2", extra=[("add_uint16", "split.count", 2)])
    conversion = convert(write_peft(tmp_path / "peft"), base, tmp_path / "out.gguf")
    assert len(conversion.updates) == LAYERS * len(MODULES["qwen2"])


def test_the_tokens_of_an_activated_lora_come_along(tmp_path: Path) -> None:
    peft = write_peft(tmp_path / "peft", alora_invocation_tokens=[7, 8], invocation_string="<go>")
    convert(peft, write_base(tmp_path / "base.gguf"), tmp_path / "out.gguf")
    assert read_header(tmp_path / "out.gguf").metadata["adapter.alora.invocation_tokens"] == (7, 8)
    assert read_adapter(tmp_path / "out.gguf").alora


def test_the_same_folder_gives_the_same_bytes(tmp_path: Path) -> None:
    peft, base = write_peft(tmp_path / "peft"), write_base(tmp_path / "base.gguf")
    for name in ("one", "two"):
        convert(peft, base, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.skipif(sys.platform == "darwin", reason="every name is UTF-8 there")
def test_a_folder_may_have_any_name(tmp_path: Path) -> None:
    peft = write_peft(tmp_path / os.fsdecode(b"caf\xe9"))
    convert(peft, write_base(tmp_path / "base.gguf"), tmp_path / "out.gguf")
    assert read_adapter(tmp_path / "out.gguf").name == "caf?"


@pytest.mark.parametrize("alpha", [0, 1e-60])
def test_an_alpha_of_zero_is_not_taken_for_no_scaling(refusal: Any, alpha: float) -> None:
    assert f"lora_alpha is {alpha:g}, so the adapter changes nothing" in refusal(lora_alpha=alpha)


def test_numbers_too_large_for_f16_are_refused(refusal: Any) -> None:
    tensors = lora(Q, (N_EMBD, N_EMBD))
    tensors[f"base_model.model.{Q}.lora_A.weight"][0, 0] = 1e6
    assert f"{Q} has numbers too large for f16; convert with --outtype f32" in refusal(tensors, outtype="f16")


def test_the_files_it_is_made_from_are_never_overwritten(tmp_path: Path) -> None:
    peft, base = write_peft(tmp_path / "peft"), write_base(tmp_path / "base.gguf")
    for path in (base, peft / "adapter_config.json", peft / "adapter_model.safetensors"):
        before = path.read_bytes()
        with pytest.raises(InputError, match="made from this file"):
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
