"""safetensors files read with numpy, bfloat16 included, and without trusting a byte."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from loracheck.errors import AdapterError
from loracheck.files import MAY_YOU
from loracheck.models.measure import decode_floats, read_stored

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The format's own limit.
MAX_HEADER = 100_000_000
_ITEM_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}


@dataclass(frozen=True, slots=True)
class Weight:
    path: Path
    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    """Counted from the beginning of the file."""
    nbytes: int


def read_weights(path: Path) -> dict[str, Weight]:
    """Every tensor of a safetensors file by its name; AdapterError for a file that is not sound."""
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            length = int.from_bytes(file.read(8), "little")
            if length > min(size - 8, MAX_HEADER):
                _fail(path, f"its header of {length} bytes does not fit in {size} bytes")
            header = json.loads(file.read(length), object_pairs_hook=lambda pairs: _unique(path, pairs))
    except OSError as problem:
        raise AdapterError(f"{path}: cannot read the file: {problem.strerror}; {MAY_YOU}") from problem
    except (ValueError, RecursionError):
        _fail(path, "its header is not JSON")
    if not isinstance(header, dict):
        _fail(path, "its header is not a table of tensors")
    header.pop("__metadata__", None)
    weights = [_weight(path, name, entry, 8 + length) for name, entry in header.items()]
    at = 8 + length
    # The format knows no gaps: with the tensors in order, each starts where the one before it ends.
    for weight in sorted(weights, key=lambda weight: (weight.start, weight.nbytes)):
        if weight.start != at:
            _fail(path, f"the tensor {weight.name!r} starts at byte {weight.start}, not at {at}")
        at += weight.nbytes
    if at != size:
        _fail(path, f"its tensors end at byte {at}, the file at {size}")
    return {weight.name: weight for weight in weights}


def values(weight: Weight) -> NDArray[np.float32]:
    """A tensor's numbers as float32."""
    import numpy as np

    raw = read_stored(weight.path, weight.start, weight.nbytes, weight.name, AdapterError)
    # A float64 out of range becomes infinite, as it does in PyTorch.
    with np.errstate(all="ignore"):
        return decode_floats(raw, weight.dtype).astype(np.float32, copy=False).reshape(weight.shape)


def _weight(path: Path, name: str, entry: Any, data_start: int) -> Weight:
    match entry:
        case {"dtype": str(dtype), "shape": [*shape], "data_offsets": [start, end]} if all(
            type(number) is int and 0 <= number < 2**63 for number in (*shape, start, end)
        ):
            pass
        case _:
            _fail(path, f"the entry of {name!r} is malformed")
    if dtype not in _ITEM_BYTES:
        raise AdapterError(f"{path}: {name} is stored as {dtype[:20]}; save the adapter as F32, F16 or BF16")
    if end - start != prod(shape) * _ITEM_BYTES[dtype]:
        _fail(path, f"{name!r} has {end - start} bytes, which is not {dtype} of shape {shape}")
    return Weight(path, name, dtype, tuple(shape), data_start + start, end - start)


def _unique(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        _fail(path, "its header names a tensor twice")
    return table


def _fail(path: Path, what: str) -> NoReturn:
    raise AdapterError(f"{path}: {what}; it is damaged: save or download it again")
