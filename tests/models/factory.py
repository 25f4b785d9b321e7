"""Small GGUF files, made on the spot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.quants import quantize

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

N_EMBD, N_KV, N_FF, N_VOCAB, RANK = 64, 32, 96, 100, 4

# Base tensors of one layer, in numpy's order: (out, in).
SHAPES = {
    "attn_q": (N_EMBD, N_EMBD),
    "attn_v": (N_KV, N_EMBD),
    "ffn_down": (N_EMBD, N_FF),
}


def lora_tensors(layers: int = 2, rank: int = RANK, seed: int = 0, dtype: Any = np.float32) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    tensors = {}
    for layer in range(layers):
        for module, (n_out, n_in) in SHAPES.items():
            name = f"blk.{layer}.{module}.weight"
            tensors[f"{name}.lora_a"] = rng.standard_normal((rank, n_in)).astype(dtype)  # (r, in)
            tensors[f"{name}.lora_b"] = rng.standard_normal((n_out, rank)).astype(dtype)  # (out, r)
    return tensors


def model_tensors(layers: int = 2, *, tied: bool = True) -> dict[str, np.ndarray]:
    tensors = {"token_embd.weight": np.zeros((N_VOCAB, N_EMBD), np.float32)}  # (vocab, embd)
    if not tied:
        tensors["output.weight"] = np.zeros((N_VOCAB, N_EMBD), np.float32)  # (vocab, embd)
    for layer in range(layers):
        tensors[f"blk.{layer}.attn_norm.weight"] = np.ones(N_EMBD, np.float32)  # (embd,)
        for module, shape in SHAPES.items():
            tensors[f"blk.{layer}.{module}.weight"] = np.zeros(shape, np.float16)  # (out, in)
    return tensors


def write_adapter(
    path: Path,
    tensors: Mapping[str, np.ndarray] | None = None,
    *,
    alpha: float | None = 8.0,
    architecture: str = "llama",
    name: str = "toy",
    kind: str = "adapter",
    adapter_type: str | None = "lora",
    quantized: str | None = None,
    extra: Iterable[tuple[str, str, Any]] = (),
) -> Path:
    """`extra` holds (GGUFWriter method, key, value); `quantized` names a tensor type."""
    writer = GGUFWriter(path, architecture)
    writer.add_type(kind)
    writer.add_name(name)
    if adapter_type is not None:
        writer.add_string("adapter.type", adapter_type)
    if alpha is not None:
        writer.add_float32("adapter.lora.alpha", alpha)
    return _finish(writer, path, lora_tensors() if tensors is None else tensors, extra, quantized)


def write_model(
    path: Path,
    tensors: Mapping[str, np.ndarray] | None = None,
    *,
    architecture: str = "llama",
    extra: Iterable[tuple[str, str, Any]] = (),
) -> Path:
    writer = GGUFWriter(path, architecture)
    writer.add_type("model")
    writer.add_name("toy base")
    writer.add_file_type(1)
    writer.add_block_count(2)
    writer.add_context_length(512)
    writer.add_embedding_length(N_EMBD)
    writer.add_token_list([f"<{number}>" for number in range(N_VOCAB)])
    writer.add_array("tokenizer.ggml.token_type", [1] * N_VOCAB)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(99)
    return _finish(writer, path, model_tensors() if tensors is None else tensors, extra, None)


def _finish(
    writer: GGUFWriter,
    path: Path,
    tensors: Mapping[str, np.ndarray],
    extra: Iterable[tuple[str, str, Any]],
    quantized: str | None,
) -> Path:
    for method, key, value in extra:
        getattr(writer, method)(key, value)
    for name, data in tensors.items():
        if quantized is None:
            writer.add_tensor(name, data)
        else:
            kind = GGMLQuantizationType[quantized]
            writer.add_tensor(name, quantize(data, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_loadable_model(path: Path, *, width: int = 64, seed: int = 0) -> Path:
    """A model with all that llama.cpp's quantizer asks for; no row is longer or shorter than `width`."""
    rng = np.random.default_rng(seed)
    shapes = {"token_embd.weight": (N_VOCAB, width)}  # (vocab, embd)
    for layer in range(2):
        for module in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
            shapes[f"blk.{layer}.{module}.weight"] = (width, width)  # (out, in)
    extra = [
        ("add_uint32", "llama.attention.head_count", 4),
        ("add_uint32", "llama.feed_forward_length", width),
        ("add_float32", "llama.attention.layer_norm_rms_epsilon", 1e-5),
        ("add_string", "tokenizer.chat_template", "{% for message in messages %}{{ message.content }}{% endfor %}"),
    ]
    return write_model(
        path, {name: rng.standard_normal(shape).astype(np.float16) for name, shape in shapes.items()}, extra=extra
    )


def write_runnable_model(path: Path, *, width: int = 512, vocab: int = 512, seed: int = 0) -> Path:
    """A small model of random numbers that llama.cpp runs, and whose rows fit the largest blocks. It has no words."""
    rng = np.random.default_rng(seed)
    n_ff, n_kv = 2 * width, width // 2
    modules = {
        "attn_q": (width, width),
        "attn_k": (n_kv, width),
        "attn_v": (n_kv, width),
        "attn_output": (width, width),
        "ffn_gate": (n_ff, width),
        "ffn_up": (n_ff, width),
        "ffn_down": (width, n_ff),
    }
    shapes = {"token_embd.weight": (vocab, width), "output.weight": (vocab, width)}  # (vocab, embd)
    norms = ["output_norm.weight"]
    for layer in range(2):
        shapes |= {f"blk.{layer}.{module}.weight": shape for module, shape in modules.items()}  # (out, in)
        norms += [f"blk.{layer}.attn_norm.weight", f"blk.{layer}.ffn_norm.weight"]
    tensors = {
        name: (rng.standard_normal(shape) / np.sqrt(shape[1])).astype(np.float32) for name, shape in shapes.items()
    }
    tensors |= {name: np.ones(width, np.float32) for name in norms}  # (embd,)
    writer = GGUFWriter(path, "llama")
    writer.add_type("model")
    writer.add_block_count(2)
    writer.add_context_length(1024)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(n_ff)
    writer.add_head_count(8)
    writer.add_head_count_kv(4)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(vocab)
    writer.add_tokenizer_model("none")
    return _finish(writer, path, tensors, (), None)
