"""What the logits of an answer's places say, small enough to keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

CANDIDATES = 16
"""A greedy answer's distributions are peaked: the tokens beyond these share what little is left."""

# Logits this far under the highest add nothing that a float32 softmax resolves, and they are nearly all.
_REACH = 30.0
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
    highest = float(logits[top])
    near = np.flatnonzero(logits > highest - _REACH)  # (near,)
    if len(near) < CANDIDATES:
        near = np.argpartition(-logits, min(CANDIDATES, len(logits)) - 1)[:CANDIDATES]  # (count,)
        near.sort()
    # In the order of their numbers where they are equally likely.
    likeliest = near[np.argsort(-logits[near], kind="stable")[:CANDIDATES]]  # (count,)
    total = highest + float(np.log(np.exp(logits[near].astype(np.float64) - highest).sum()))
    chosen = likeliest if candidates is None else np.array(candidates)  # (count,)
    return Expected(
        candidates=tuple(chosen.tolist()),
        log_probs=tuple((logits[chosen].astype(np.float64) - total).round(_DIGITS).tolist()),
        top=top,
    )
