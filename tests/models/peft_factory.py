"""PEFT adapter folders and bases to convert them for, made with numpy alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from models.factory import N_EMBD, N_FF, N_KV, N_VOCAB, write_model

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

HEADS, KV_HEADS, LAYERS = 4, 2, 2

# The module in a Transformers layer, its tensor in GGUF, and its shape: (out, in).
SPLIT = {
    "self_attn.q_proj": ("attn_q", (N_EMBD, N_EMBD)),
    "self_attn.k_proj": ("attn_k", (N_KV, N_EMBD)),
    "self_attn.v_proj": ("attn_v", (N_KV, N_EMBD)),
    "self_attn.o_proj": ("attn_output", (N_EMBD, N_EMBD)),
    "mlp.gate_proj": ("ffn_gate", (N_FF, N_EMBD)),
    "mlp.up_proj": ("ffn_up", (N_FF, N_EMBD)),
    "mlp.down_proj": ("ffn_down", (N_EMBD, N_FF)),
}
FUSED = {
    "self_attn.qkv_proj": ("attn_qkv", (N_EMBD + 2 * N_KV, N_EMBD)),
    "self_attn.o_proj": ("attn_output", (N_EMBD, N_EMBD)),
    "mlp.gate_up_proj": ("ffn_up", (2 * N_FF, N_EMBD)),
    "mlp.down_proj": ("ffn_down", (N_EMBD, N_FF)),
}
MODULES = {
    **dict.fromkeys(("llama", "smollm3", "granite", "qwen2", "qwen3", "gemma", "gemma2", "gemma3"), SPLIT),
    "phi3": FUSED,
}


def base_tensors(architecture: str = "llama", *, tied: bool = True) -> dict[str, np.ndarray]:
    embeddings = ("token_embd.weight",) if tied else ("token_embd.weight", "output.weight")
    tensors = {name: np.zeros((N_VOCAB, N_EMBD), np.float16) for name in embeddings}  # (vocab, embd)
    for layer in range(LAYERS):
        for name, shape in MODULES[architecture].values():
            tensors[f"blk.{layer}.{name}.weight"] = np.zeros(shape, np.float16)  # (out, in)
    return tensors


def write_base(
    path: Path, architecture: str = "llama", *, tied: bool = True, heads: tuple[int, int] = (HEADS, KV_HEADS)
) -> Path:
    extra = [
        ("add_uint32", f"{architecture}.attention.head_count", heads[0]),
        ("add_uint32", f"{architecture}.attention.head_count_kv", heads[1]),
    ]
    return write_model(path, base_tensors(architecture, tied=tied), architecture=architecture, extra=extra)


def lora(module: str, shape: tuple[int, int], rank: int = 4, seed: int = 0) -> dict[str, np.ndarray]:
    """Both halves under PEFT's names."""
    rng = np.random.default_rng([seed, *module.encode()])
    a = rng.standard_normal((rank, shape[1])).astype(np.float32)  # (r, in)
    b = rng.standard_normal((shape[0], rank)).astype(np.float32)  # (out, r)
    name = f"base_model.model.{module}"
    return {f"{name}.lora_A.weight": a, f"{name}.lora_B.weight": b}


def every_module(architecture: str = "llama", rank: int = 4, inside: str = "model") -> dict[str, np.ndarray]:
    tensors = {}
    for layer in range(LAYERS):
        for module, (_, shape) in MODULES[architecture].items():
            tensors |= lora(f"{inside}.layers.{layer}.{module}", shape, rank)
    return tensors


def write_peft(
    folder: Path, tensors: Mapping[str, np.ndarray] | None = None, dtype: str = "F32", **config: Any
) -> Path:
    folder.mkdir(exist_ok=True)
    config = {"peft_type": "LORA", "r": 4, "lora_alpha": 8, **config}
    (folder / "adapter_config.json").write_text(json.dumps(config), encoding="utf-8")
    write_safetensors(folder / "adapter_model.safetensors", every_module() if tensors is None else tensors, dtype)
    return folder


def write_safetensors(path: Path, tensors: Mapping[str, np.ndarray], dtype: str = "F32") -> None:
    data, header = b"", {"__metadata__": {"format": "pt"}}
    for name, tensor in tensors.items():
        raw = stored(tensor, dtype)
        offsets = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": offsets}  # type: ignore[dict-item]
        data += raw
    spelled = json.dumps(header).encode()
    path.write_bytes(len(spelled).to_bytes(8, "little") + spelled + data)


def stored(tensor: np.ndarray, dtype: str) -> bytes:
    if dtype == "BF16":
        # Cut, not rounded: the tests only need numbers that bfloat16 has.
        return (tensor.astype("<f4").view("<u4") >> np.uint32(16)).astype("<u2").tobytes()
    return tensor.astype({"F64": "<f8", "F32": "<f4", "F16": "<f2"}[dtype]).tobytes()
