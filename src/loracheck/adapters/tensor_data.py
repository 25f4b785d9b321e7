"""The numbers in a tensor, whatever way they are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from loracheck.adapters.gguf_types import TENSOR_TYPES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from loracheck.adapters.gguf_file import GgufFile, TensorInfo

Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]


# Damaged scales overflow and NaNs do not convert in silence: what comes of it is for the caller.
@np.errstate(all="ignore")
def tensor_data(header: GgufFile, tensor: TensorInfo) -> Floats:
    """A tensor's values as float32 (F64 as float64), shaped like `tensor.shape`."""
    raw = _raw(header, tensor)  # (nbytes,)
    if tensor.type == "F32":
        return raw.view("<f4").reshape(tensor.shape)  # (..., rows, row)
    if tensor.type == "F64":
        return raw.view("<f8").reshape(tensor.shape)  # (..., rows, row)
    if tensor.type == "F16":
        return raw.view("<f2").astype(np.float32).reshape(tensor.shape)  # (..., rows, row)
    if tensor.type == "BF16":
        # The upper half of a float32.
        wide = raw.view("<u2").astype(np.uint32) << np.uint32(16)  # (elements,)
        return wide.view(np.float32).reshape(tensor.shape)  # (..., rows, row)
    return _dequantized(header, tensor, raw)


def _raw(header: GgufFile, tensor: TensorInfo) -> NDArray[np.uint8]:
    try:
        with header.path.open("rb") as file:
            file.seek(header.data_offset + tensor.offset)
            raw = file.read(tensor.nbytes)
    except OSError as problem:
        raise header.error(f"{header.path}: cannot read {tensor.name}: {problem.strerror}") from problem
    if len(raw) != tensor.nbytes:
        raise header.error(f"{header.path}: the file changed while it was being read; run the command again")
    return np.frombuffer(raw, np.uint8)  # (nbytes,)


def _dequantized(header: GgufFile, tensor: TensorInfo, raw: NDArray[np.uint8]) -> Floats:
    if not raw.size:
        return np.zeros(tensor.shape, np.float32)  # (..., rows, row)
    # Importing gguf takes a while, and only quantized tensors need it.
    from gguf import GGMLQuantizationType
    from gguf.quants import dequantize

    block = next(kind for kind in TENSOR_TYPES.values() if kind.name == tensor.type)
    row_bytes = tensor.dims[0] // block.block * block.block_bytes
    rows = raw.reshape(*tensor.shape[:-1], row_bytes)  # (..., rows, row_bytes)
    try:
        values: Floats = dequantize(rows, GGMLQuantizationType[tensor.type])
    except (KeyError, NotImplementedError) as problem:
        raise header.error(
            f"{header.path}: {tensor.name} is stored as {tensor.type}, which cannot be read here; "
            "convert it as F16 or F32"
        ) from problem
    return values.reshape(tensor.shape)  # (..., rows, row)
