"""What the logits of an answer's places say, small enough to keep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

CANDIDATES = 16
"""A greedy answer's distributions are peaked: the tokens beyond these share what little is left."""

# To rank a vocabulary takes many times as long as all the rest; to look for the highest in each of so many parts of it
# does not, least of all where a part is every so-manieth number.
_PARTS = 1024
# Far below what a float32 softmax resolves; keeps entries short in the store.
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Expected:
    """What is expected at one place."""

    candidates: tuple[int, ...]
    log_probs: tuple[float, ...]
    top: int
    """The likeliest token."""


def expectation(logits: NDArray[np.float32], candidates: Sequence[int] | None = None) -> Expected:
    """The log-probabilities of the given candidate tokens, or of the likeliest. `logits`, (n_vocab,), are finite."""
    top = int(logits.argmax())
    highest = logits[top]
    shares = logits - highest  # (n_vocab,)
    np.exp(shares, out=shares)
    # In single precision: numpy adds in pairs, so what is lost is far below the digits that are kept.
    total = float(highest) + math.log(shares.sum())
    chosen = _likeliest(logits) if candidates is None else np.array(candidates)  # (count,)
    return Expected(
        candidates=tuple(chosen.tolist()),
        log_probs=tuple((logits[chosen].astype(np.float64) - total).round(_DIGITS).tolist()),
        top=top,
    )


def _likeliest(logits: NDArray[np.float32]) -> NDArray[np.intp]:
    """The places of the highest, the highest first, in the order of their numbers where they are equally high."""
    least: np.float32 | float = -np.inf
    if len(logits) >= _PARTS:
        length = len(logits) // _PARTS
        tops = logits[: _PARTS * length].reshape(length, _PARTS).max(axis=0)  # (parts,)
        # Enough of the parts hold one at least this high.
        least = np.partition(tops, -CANDIDATES)[-CANDIDATES]
    near = np.flatnonzero(logits >= least)  # (near,)
    return near[np.argsort(-logits[near], kind="stable")[:CANDIDATES]]  # (count,)
