"""How large a LoRA pair's update is, without ever building the update."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from loracheck.adapters.tensor_data import tensor_data

if TYPE_CHECKING:
    from loracheck.adapters.gguf_file import GgufFile
    from loracheck.adapters.pairs import Pair
    from loracheck.adapters.tensor_data import Floats


@dataclass(frozen=True, slots=True)
class Measured:
    norm: float | None
    max_abs: float | None
    non_finite: tuple[str, ...]
    is_zero: bool


# Damaged files hold signalling NaNs, at which even a comparison warns: they are reported by name.
@np.errstate(all="ignore")
def measure(header: GgufFile, pair: Pair, alpha: float | None) -> Measured:
    a = tensor_data(header, pair.a)
    b = tensor_data(header, pair.b)
    halves = ((pair.a.name, a), (pair.b.name, b))
    non_finite = tuple(name for name, half in halves if not np.isfinite(half).all())
    is_zero = any(not half.any() for _, half in halves)
    if non_finite:
        return Measured(None, None, non_finite, is_zero)
    max_abs = max(float(np.abs(half).max()) for _, half in halves)
    norm = update_norm(pair, a, b, alpha)
    return Measured(norm if math.isfinite(norm) else None, max_abs, non_finite, is_zero)


def update_norm(pair: Pair, a: Floats, b: Floats, alpha: float | None) -> float:
    """The Frobenius norm of scale * B @ A, for halves with the shapes of the pair's."""
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
