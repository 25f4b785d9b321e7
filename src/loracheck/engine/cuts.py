"""Where a prompt is cut while it is read, so that what comes of it does not depend on what was read before.

Prompts that begin alike are read once up to where they part. Where a batch of any number of rows computes the same
(rows.py), a prompt may be cut anywhere between tiles: it shares all it has in common with another and is read in as
few batches as can be. Elsewhere its own tokens decide where it is cut, and it shares whole blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from loracheck.engine.rows import FLASH_TILE, Rows

BATCH, BLOCK = 256, 64
"""The body of a long prompt is read in batches of so many tokens; where nothing is promised, prompts are in blocks."""

FEW = FLASH_TILE - 4
"""All else is read in batches of so many: what is read then computes the same as what is written step by step."""


class Cuts(Protocol):
    """How prompts are cut."""

    def shared(self, tokens: Sequence[int], other: Sequence[int], held: int) -> int:
        """How many of the prompt's first tokens may come from another one, of which so many are held.

        That leaves some to read, for their logits.
        """
        ...

    def most_rows(self, length: int) -> int:
        """Of a batch, where no prompt is longer than this."""
        ...

    def is_worth(self, tokens: Sequence[int], start: int, stop: int) -> bool:
        """Whether these tokens are enough for a batch of their own, for the sake of sharing them."""
        ...

    def ends(self, tokens: Sequence[int], start: int, stop: int) -> list[int]:
        """Where the batches end that read it from `start`, which was shared or 0, to `stop`, shared or its end."""
        ...


@dataclass(frozen=True, slots=True)
class BetweenTiles:
    """In batches of any number of rows that computes the same.

    A long prompt has a body, whose batches are so large that attention computes them in another way, faster. Where the
    body ends goes by the prompt's length in coarse steps, as only prompts with the same body share more than that.
    """

    rows: Rows
    few: int = FEW
    large: int = FLASH_TILE
    most: int = BATCH
    worth: int = 32
    """Not under the least number of rows. A batch takes as long as eight more rows in another one."""

    def body(self, length: int) -> int:
        """How many of a prompt's first tokens are read in large batches: none before they fill four."""
        room = length - self.rows.least
        if room < 4 * self.large:
            return 0
        # A quarter of the body or less.
        step = self.large
        while room >= 8 * step:
            step *= 2
        return room - room % step

    def most_rows(self, length: int) -> int:
        return self.most if self.body(length) else 2 * self.few

    def shared(self, tokens: Sequence[int], other: Sequence[int], held: int) -> int:
        body, theirs = self.body(len(tokens)), self.body(len(other))
        length = min(_common(tokens, other), held, len(tokens) - self.rows.least)
        if body != theirs:
            length = min(length, body, theirs)
        # What is left is a batch too. Rows after the last whole tile are computed in another way, so no cut is there.
        length -= length % self.rows.multiple
        if length < body:
            length = min(length, body - self.large)
            return length if length >= self.large else 0
        return length if length >= body + self.rows.least else body

    def is_worth(self, tokens: Sequence[int], start: int, stop: int) -> bool:
        return stop - start >= (self.large if start < self.body(len(tokens)) else self.worth)

    def ends(self, tokens: Sequence[int], start: int, stop: int) -> list[int]:
        body = min(stop, self.body(len(tokens)))
        return [
            *_pieces(start, body, self.most, self.large),
            *_pieces(max(start, body), stop, self.few, self.rows.least),
        ]


def _pieces(start: int, stop: int, most: int, least: int) -> list[int]:
    """Where pieces of such sizes end; one that is too small only where there is no more."""
    ends = []
    while stop - start > most:
        start += most if stop - start - most >= least else most - least
        ends.append(start)
    return [*ends, stop] if start < stop else ends


@dataclass(frozen=True, slots=True)
class InBlocks:
    """After `size` tokens, and after a token that ends a turn: what cases share mostly stands in a turn of its own."""

    is_end: Callable[[int], bool]
    size: int = BLOCK

    def most_rows(self, length: int) -> int:  # noqa: ARG002, the same for all
        return self.size

    def shared(self, tokens: Sequence[int], other: Sequence[int], held: int) -> int:
        common = min(_common(tokens[:-1], other), held)
        return max((end for end in self._blocks(tokens) if end <= common), default=0)

    def is_worth(self, tokens: Sequence[int], start: int, stop: int) -> bool:  # noqa: ARG002, any block is
        return stop > start

    def ends(self, tokens: Sequence[int], start: int, stop: int) -> list[int]:
        return [end for end in self._blocks(tokens) if start < end <= stop]

    def _blocks(self, tokens: Sequence[int]) -> list[int]:
        """Where its blocks end. Prompts that begin alike are cut alike for as long."""
        ends: list[int] = []
        for place, token in enumerate(tokens, 1):
            if place == len(tokens) or self.is_end(token) or place - (ends[-1] if ends else 0) == self.size:
                ends.append(place)
        return ends


def _common(tokens: Sequence[int], other: Sequence[int]) -> int:
    """The length of the common prefix."""
    common = 0
    for ours, theirs in zip(tokens, other, strict=False):
        if ours != theirs:
            break
        common += 1
    return common
