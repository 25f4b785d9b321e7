"""The numbers in an adapter, whatever way they are stored, and how large the change is that they make.

A check does without them, so numpy is imported by the functions that need it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from loracheck.errors import InputError
from loracheck.files import MAY_YOU
from loracheck.models.gguf_file import TENSOR_TYPES, GgufFile, TensorInfo
from loracheck.models.lora import LoraFile, Pair, read_lora

if TYPE_CHECKING:
    import numpy as np

    Floats: TypeAlias = np.ndarray[Any, np.dtype[np.floating[Any]]]


@dataclass(frozen=True, slots=True)
class AdapterInfo(LoraFile):
    """A LoRA file and what was found by reading its numbers."""

    pair_norms: Mapping[str, float | None]
    """The Frobenius norm of each pair's scaled update; None where it is not finite."""
    update_norm: float | None
    """The same over all pairs that llama.cpp uses."""
    max_abs: float | None
    """The largest number in any A or B; None where one is not finite, or there is none."""
    non_finite: tuple[str, ...]
    zero_pairs: tuple[str, ...]
    """Pairs that change nothing because their A or their B is all zeros."""


def read_adapter(path: Path) -> AdapterInfo:
    """Everything there is to know about a LoRA file, its numbers included; AdapterError when it is not one."""
    return measure_adapter(read_lora(path))


def measure_adapter(lora: LoraFile) -> AdapterInfo:
    """Read every number of an adapter: for a large one this takes a while."""
    measures = {pair.name: measure_pair(lora, pair) for pair in lora.pairs}
    used_norms = [measures[pair.name].norm for pair in lora.pairs if pair.used]
    header_facts: dict[str, Any] = {field.name: getattr(lora, field.name) for field in fields(LoraFile)}
    return AdapterInfo(
        **header_facts,
        pair_norms={name: measure.norm for name, measure in measures.items()},
        update_norm=_total(used_norms),
        max_abs=_largest([measure.max_abs for measure in measures.values()]),
        non_finite=tuple(half for measure in measures.values() for half in measure.non_finite),
        zero_pairs=tuple(name for name, measure in measures.items() if measure.is_zero),
    )


@dataclass(frozen=True, slots=True)
class PairMeasure:
    norm: float | None
    max_abs: float | None
    non_finite: tuple[str, ...]
    is_zero: bool


def measure_pair(lora: LoraFile, pair: Pair) -> PairMeasure:
    import numpy as np

    halves = {half.name: tensor_data(lora.header, half) for half in (pair.a, pair.b)}
    # Damaged files hold signalling NaNs, at which even a comparison warns: they are reported by name.
    with np.errstate(all="ignore"):
        non_finite = tuple(name for name, numbers in halves.items() if not np.isfinite(numbers).all())
        is_zero = any(not numbers.any() for numbers in halves.values())
        if non_finite:
            return PairMeasure(None, None, non_finite, is_zero)
        max_abs = max(float(np.abs(numbers).max()) for numbers in halves.values())
        norm = update_norm(pair, halves[pair.a.name], halves[pair.b.name], lora.alpha)
    return PairMeasure(norm if math.isfinite(norm) else None, max_abs, non_finite, is_zero)


def update_norm(pair: Pair, a: Floats, b: Floats, alpha: float | None) -> float:
    """The Frobenius norm of scale * B @ A, for halves with the shapes of the pair's."""
    import numpy as np

    a64 = np.atleast_2d(a.astype(np.float64))  # (..., r, in); token_embd: (vocab, r)
    b64 = np.atleast_2d(b.astype(np.float64))  # (..., out, r)
    if pair.flipped:
        a64 = a64.swapaxes(-1, -2)  # (..., r, vocab)
    # |BA|^2 = tr((A A^T)(B^T B)): two small r x r matrices instead of one the size of the base's.
    gram_a = a64 @ a64.swapaxes(-1, -2)  # (..., r, r)
    gram_b = b64.swapaxes(-1, -2) @ b64  # (..., r, r)
    squared = float((gram_a * gram_b).sum())  # both symmetric: the trace is an elementwise sum
    # llama.cpp's rule: an alpha of zero, or none, means no scaling.
    scale = alpha / pair.rank if alpha else 1.0
    return abs(scale) * math.sqrt(max(squared, 0.0))


def tensor_data(header: GgufFile, tensor: TensorInfo) -> Floats:
    """A tensor's values as float32 (F64 as float64), shaped like `tensor.shape`."""
    import numpy as np

    raw = read_stored(header.path, header.data_offset + tensor.offset, tensor.nbytes, tensor.name, header.error)
    # Damaged scales overflow and NaNs do not convert in silence: what comes of it is for the caller.
    with np.errstate(all="ignore"):
        if tensor.type in ("F64", "F32", "F16", "BF16"):
            return decode_floats(raw, tensor.type).reshape(tensor.shape)  # (..., rows, row)
        return _dequantize(header, tensor, raw)


def read_stored(path: Path, start: int, nbytes: int, name: str, error: type[InputError]) -> bytes:
    """The bytes of one tensor."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            raw = file.read(nbytes)
    except OSError as problem:
        raise error(f"{path}: cannot read {name}: {problem.strerror}; {MAY_YOU}") from problem
    if len(raw) != nbytes:
        raise error(f"{path}: the file changed while it was being read; run the command again")
    return raw


def decode_floats(raw: bytes, kind: str) -> Floats:
    """Numbers of the type F64, as float64, or of F32, F16 or BF16, as float32."""
    import numpy as np

    if kind == "BF16":
        # The upper half of a float32.
        wide = np.frombuffer(raw, "<u2").astype(np.uint32) << np.uint32(16)  # (elements,)
        return wide.view(np.float32)
    numbers: Floats = np.frombuffer(raw, {"F64": "<f8", "F32": "<f4", "F16": "<f2"}[kind])  # (elements,)
    return numbers.astype(np.float32) if kind == "F16" else numbers


def _dequantize(header: GgufFile, tensor: TensorInfo, raw: bytes) -> Floats:
    import numpy as np

    if not raw:
        return np.zeros(tensor.shape, np.float32)  # (..., rows, row)
    # Importing gguf takes a while, and only quantized tensors need it.
    from gguf import GGMLQuantizationType
    from gguf.quants import dequantize

    block = next(kind for kind in TENSOR_TYPES.values() if kind.name == tensor.type)
    row_bytes = tensor.dims[0] // block.block * block.block_bytes
    rows = np.frombuffer(raw, np.uint8).reshape(*tensor.shape[:-1], row_bytes)  # (..., rows, row_bytes)
    try:
        numbers: Floats = dequantize(rows, GGMLQuantizationType[tensor.type])
    except (KeyError, NotImplementedError) as problem:
        raise header.error(
            f"{header.path}: {tensor.name} is stored as {tensor.type}, which cannot be read here; "
            "convert it as F16 or F32"
        ) from problem
    return numbers.reshape(tensor.shape)  # (..., rows, row)


def _total(norms: list[float | None]) -> float | None:
    finite = [norm for norm in norms if norm is not None]
    return math.hypot(*finite) if len(finite) == len(norms) else None


def _largest(peaks: list[float | None]) -> float | None:
    finite = [peak for peak in peaks if peak is not None]
    return max(finite, default=None) if len(finite) == len(peaks) else None
