"""A model with an adapter merged into its weights, as merging tools make it: numpy and gguf, no PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from gguf import GGUFReader, GGUFWriter
from gguf.constants import GGUFValueType
from gguf.quants import dequantize

from loracheck.models import read_lora

if TYPE_CHECKING:
    from pathlib import Path

_OF_THE_FILE = ("GGUF.", "general.architecture", "general.file_type", "general.quantization_version")


def merge(model: Path, adapter: Path | None, out: Path, dtype: type = np.float32) -> Path:
    """The model with full-precision weights, and with the adapter's updates added to them if one is given."""
    reader = GGUFReader(model)
    updates = _updates(adapter) if adapter else {}
    architecture = reader.fields["general.architecture"].contents()
    writer = GGUFWriter(out, architecture)
    for name, field in reader.fields.items():
        if not name.startswith(_OF_THE_FILE):
            kind, *item = field.types
            writer.add_key_value(name, field.contents(), kind, item[-1] if kind == GGUFValueType.ARRAY else None)
    writer.add_file_type(0 if dtype is np.float32 else 1)
    for tensor in reader.tensors:
        weights = dequantize(tensor.data, tensor.tensor_type).reshape(tensor.shape[::-1])  # (out, in)
        if tensor.name in updates:
            weights = weights + updates[tensor.name]
        # llama.cpp wants norms and biases, of one dimension, in full.
        writer.add_tensor(tensor.name, weights.astype(dtype if weights.ndim > 1 else np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return out


def _updates(adapter: Path) -> dict[str, np.ndarray]:
    lora = read_lora(adapter)
    halves = {tensor.name: tensor.data.astype(np.float32) for tensor in GGUFReader(adapter).tensors}
    scaled = {pair.name: (lora.alpha or pair.rank) / pair.rank for pair in lora.pairs}
    return {
        name: scale * halves[f"{name}.lora_b"] @ halves[f"{name}.lora_a"]  # (out, r) @ (r, in)
        for name, scale in scaled.items()
    }
