"""Trained LoRA layers to a GGUF adapter in F16, the form llama.cpp loads, and back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import gguf
import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from lora import LoraLinear

_GGUF_NAMES = {
    "q_proj": "attn_q",
    "k_proj": "attn_k",
    "v_proj": "attn_v",
    "o_proj": "attn_output",
    "gate_proj": "ffn_gate",
    "up_proj": "ffn_up",
    "down_proj": "ffn_down",
}


def write_adapter(
    path: Path,
    layers: dict[str, LoraLinear],
    *,
    name: str,
    alpha: float,
    architecture: str,
    heads: dict[str, int],
) -> None:
    """Write the layers; `heads` says how many heads those projections have whose rows llama.cpp reorders."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, alpha)
    writer.add_name(name)
    writer.add_license("apache-2.0")
    for layer_name, layer in layers.items():
        projection = layer_name.rpartition(".")[2]
        a = layer.a.detach().numpy()  # (r, in)
        b = layer.b.detach().numpy()  # (out, r)
        if projection in heads:
            b = interleave_rotary_rows(b, heads[projection])
        tensor = _tensor_name(layer_name)
        writer.add_tensor(f"{tensor}.lora_a", a.astype(np.float16))
        writer.add_tensor(f"{tensor}.lora_b", np.ascontiguousarray(b, dtype=np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def read_updates(path: Path, layer_names: list[str], heads: dict[str, int]) -> dict[str, np.ndarray]:
    """What an adapter adds to the weights (out, in) of those layers that it holds."""
    reader = gguf.GGUFReader(path)
    tensors = {tensor.name: tensor.data.astype(np.float32) for tensor in reader.tensors}
    alpha: float = reader.fields[gguf.Keys.Adapter.LORA_ALPHA].contents()
    updates = {}
    for name in layer_names:
        tensor = _tensor_name(name)
        if f"{tensor}.lora_a" in tensors:
            a, b = tensors[f"{tensor}.lora_a"], tensors[f"{tensor}.lora_b"]  # (r, in), (out, r)
            projection = name.rpartition(".")[2]
            if projection in heads:
                order = interleave_rotary_rows(np.arange(len(b))[:, None], heads[projection]).ravel()
                b = b[np.argsort(order)]
            updates[name] = b @ a * (alpha / len(a))
    return updates


def interleave_rotary_rows(rows: np.ndarray, heads: int) -> np.ndarray:
    """Put row i of a head's first half next to row i of its second half.

    Rotary embedding turns pairs of rows. transformers pairs the two halves of a head, llama.cpp
    pairs neighbours in the llama architecture (in qwen2 it pairs halves too), and the loader of
    transformers has undone llama.cpp's order in the base.
    """
    halves = rows.reshape(heads, 2, -1, rows.shape[-1])  # (head, half, pair, r)
    return halves.transpose(0, 2, 1, 3).reshape(rows.shape)  # (out, r)


def _tensor_name(layer_name: str) -> str:
    match = re.search(r"layers\.(\d+)\..*?(\w+)$", layer_name)
    if match is None:
        raise ValueError(f"{layer_name}: not a layer of a transformer block")
    return f"blk.{match[1]}.{_GGUF_NAMES[match[2]]}.weight"
