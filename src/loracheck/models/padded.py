"""An adapter with its rank filled up with zeros: the same update, in numbers that kernels like better.

llama.cpp's matrix kernels take sixteen numbers at once, and an inner dimension that is no multiple of that goes through
one number at a time: an adapter of rank 8 then costs more than one of rank 16. Zeros add nothing to a sum, and the
scale, alpha over rank, stays the same to the last bit where one rank is the other doubled.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loracheck.errors import AdapterError
from loracheck.models.lora import LoraFile, read_lora
from loracheck.models.measure import read_stored
from loracheck.models.write_lora import NewLora, NewTensor, write_lora

if TYPE_CHECKING:
    from numpy.typing import NDArray

_RANK = 16

_DTYPES = {"F16": "<f2", "F32": "<f4"}


def write_padded(of: Path, out: Path) -> Path | None:
    """Write the adapter with a rank of 16; None where there is nothing to fill up, or that would not be the same."""
    lora = read_lora(of)
    if not _can_be_padded(lora):
        return None
    (rank,) = lora.ranks
    alpha = lora.alpha and lora.alpha * _RANK / rank
    tensors = tuple(
        NewTensor(half.name, shape, _DTYPES[half.type])
        for pair in lora.pairs
        for half, shape in ((pair.a, (_RANK, pair.a.dim(0))), (pair.b, (pair.b.dim(1), _RANK)))
    )
    write_lora(out, NewLora(lora.architecture, lora.name or of.stem, alpha, tensors), _numbers(lora, rank), (of,))
    return out


def _can_be_padded(lora: LoraFile) -> bool:
    """One rank for all, of 1, 2, 4 or 8, in plain matrices. What llama.cpp refuses is left for it to refuse."""
    ranks, halves = lora.ranks, [half for pair in lora.pairs for half in (pair.a, pair.b)]
    return (
        len(ranks) == 1
        and ranks[0] < _RANK
        and _RANK % ranks[0] == 0
        and not lora.unpaired
        and not any(pair.flipped for pair in lora.pairs)
        and all(half.type in _DTYPES and len(half.dims) <= 2 for half in halves)
    )


def _numbers(lora: LoraFile, rank: int) -> Iterator[NDArray[Any]]:
    """The stored numbers as they are, whatever they say, and zeros."""
    import numpy as np

    missing = (0, _RANK - rank)
    for pair in lora.pairs:
        for half, ends in ((pair.a, (missing, (0, 0))), (pair.b, ((0, 0), missing))):
            start = lora.header.data_offset + half.offset
            raw = read_stored(lora.path, start, half.nbytes, half.name, AdapterError)
            # A: (r, in) to (16, in); B: (out, r) to (out, 16)
            yield np.pad(np.frombuffer(raw, _DTYPES[half.type]).reshape(half.dim(1), half.dim(0)), ends)
