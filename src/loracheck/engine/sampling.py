"""Answers that are drawn instead of greedy, and that still depend on nothing but what is asked.

Which token is drawn follows from the logits and one number between 0 and 1. These numbers belong to the seed, the
prompt's text and the number of the try, and not to the view, the batch or the machine. So the base and the adapter draw
with the same luck, and where both expect the same they answer the same.

Tokens pass the filters of llama.cpp's default chain, in its order: top_k, top_p, min_p, temperature. So the first three
look at the model's own probabilities, and temperature changes only those of the tokens that they let through. (What
else is in that chain, such as penalties, dry and xtc, is off there unless asked for.)
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Literal

import numpy as np

from loracheck.engine import Sampling, Try

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Sampler = Callable[[NDArray[np.float32]], int]

# Most draws fall on one of the likeliest tokens. To rank a whole vocabulary takes many times as long as all the rest.
_FIRST_RANKED = 256
_TIMES_AS_MANY = 16  # where those are not enough

_DRAWS_IN_DIGEST = 4
_BITS = 53  # of a double's fraction


def sampler(attempt: Try, prompt_text: str) -> Sampler:
    """Draws the tokens of a try, one after another, from the first one on."""
    numbers = draws(attempt.seed, prompt_text, attempt.number)
    return lambda logits: sample(logits, attempt.sampling, next(numbers))


def draws(seed: int, prompt_text: str, trial: int) -> Iterator[float]:
    """Numbers from 0 up to, not including, 1: one for each token of an answer, without end.

    They are digests of a key and a counter. SHA-256 is the same everywhere and for good, while numpy keeps only the raw
    bits of its generators from changing, not the numbers it makes of them.
    """
    # Neither number can hold a line break, so no two questions have the same key. Half a surrogate pair is text too.
    key = f"{seed}\n{trial}\n{prompt_text}".encode("utf-8", "surrogatepass")
    start = hashlib.sha256(hashlib.sha256(key).digest())
    for block in count():
        digest = start.copy()
        digest.update(block.to_bytes(8, "big"))
        bits = digest.digest()
        size = len(bits) // _DRAWS_IN_DIGEST
        for place in range(0, len(bits), size):
            yield (int.from_bytes(bits[place : place + size], "big") >> (8 * size - _BITS)) / (1 << _BITS)


def sample(logits: NDArray[np.float32], sampling: Sampling, u: float) -> int:
    """The token on which `u`, from 0 up to 1, falls when those that are let through stand in line, the likeliest first.

    Each takes up as much of the line as its probability; of equally likely ones the lower token comes first.
    """
    highest = logits.max()
    if not np.isfinite(highest):
        raise ValueError(f"the highest logit is {highest} instead of a number")
    # None for all of them: to index a whole vocabulary takes longer than all the rest.
    tokens: NDArray[np.intp] | None = None  # (kept,)
    for places_let_through in _filters(sampling):
        places = places_let_through(logits)  # (kept,)
        tokens = places if tokens is None else tokens[places]
        logits = logits[places]
    drawn = _up_to(u, logits, sampling.temperature, "right")[-1]
    return int(drawn if tokens is None else tokens[drawn])


def _filters(sampling: Sampling) -> Iterator[Callable[[NDArray[np.float32]], NDArray[np.intp]]]:
    """Each takes logits, the likeliest token's among them, and gives the places of those that it lets through."""
    if sampling.top_k:
        yield lambda logits: _likeliest(logits, sampling.top_k)
    if sampling.top_p < 1:
        yield lambda logits: _up_to(sampling.top_p, logits, 1.0, "left")
    if sampling.min_p > 0:
        yield lambda logits: np.flatnonzero(_below_highest(logits) >= math.log(sampling.min_p))


def _up_to(
    share: float, logits: NDArray[np.float32], temperature: float, side: Literal["left", "right"]
) -> NDArray[np.intp]:
    """The places of the likeliest, in their order, up to the one with which they reach `share` of all probability.

    On the `right` side they have to exceed it.
    """
    weights = _below_highest(logits)  # (n,)
    with np.errstate(over="ignore"):  # to minus infinity, which is where a temperature of next to 0 should take it
        weights /= temperature
    np.exp(weights, out=weights)
    goal = share * weights.sum()
    ranked = _FIRST_RANKED
    while True:
        places = _likeliest(logits, ranked)  # (ranked,)
        last = int(np.searchsorted(np.cumsum(weights[places]), goal, side))
        if last < len(places):
            return places[: last + 1]
        if len(places) == len(logits):
            # Rounding kept the sum under the goal. What has no weight at all is never drawn.
            return places[: np.count_nonzero(weights)]
        ranked *= _TIMES_AS_MANY


def _below_highest(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    below: NDArray[np.float64] = np.subtract(logits, logits.max(), dtype=np.float64)  # (n,)
    return below


def _likeliest(logits: NDArray[np.float32], most: int) -> NDArray[np.intp]:
    """The places of so many of the highest, the highest first, equal ones by their number."""
    if most >= len(logits):
        return np.argsort(-logits, kind="stable")  # (n,)
    edge = np.partition(logits, len(logits) - most)[len(logits) - most]
    near = np.flatnonzero(logits >= edge)  # (most or more,), by their number
    return near[np.argsort(-logits[near], kind="stable")[:most]]  # (most,)
