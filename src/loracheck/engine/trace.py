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

# Far below what a float32 softmax resolves; keeps entries short in the store.
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Expected:
    candidates: tuple[tuple[int, ...], ...]
    log_probs: tuple[tuple[float, ...], ...]
    top: tuple[int, ...]


def expectation(logits: NDArray[np.float32], candidates: Sequence[Sequence[int]] | None = None) -> Expected:
    """The log-probabilities of the given candidate tokens at each place, (places, n_vocab), or of the likeliest."""
    if candidates is None:
        count = min(CANDIDATES, logits.shape[1])
        likeliest = np.sort(np.argpartition(-logits, count - 1, axis=1)[:, :count], axis=1)  # (places, count)
        order = np.argsort(-np.take_along_axis(logits, likeliest, axis=1), axis=1, kind="stable")  # (places, count)
        chosen = np.take_along_axis(likeliest, order, axis=1)  # (places, count)
    else:
        chosen = np.array(candidates)  # (places, count)
    highest = logits.max(axis=1, keepdims=True)  # (places, 1)
    total = highest + np.log(np.exp((logits - highest).astype(np.float64)).sum(axis=1, keepdims=True))  # (places, 1)
    log_probs = np.take_along_axis(logits, chosen, axis=1) - total  # (places, count)
    return Expected(
        candidates=tuple(map(tuple, chosen.tolist())),
        log_probs=tuple(map(tuple, log_probs.round(_DIGITS).tolist())),
        top=tuple(logits.argmax(axis=1).tolist()),
    )
