"""Where a prompt is cut while it is read, so that what comes of it does not depend on what was read before.

Prompts that begin alike are read once up to where they part. Where a batch of any number of rows computes the same
(rows.py), a prompt may be cut anywhere between tiles: it shares all it has in common with another and is read in as
few batches as can be. Elsewhere its own tokens decide where it is cut, and it shares whole blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from loracheck.engine.rows import Rows

BATCH, BLOCK = 256, 64
"""A prompt is read in batches of so many tokens where any number computes the same, else in blocks. With an adapter,
256 rows are read up to a third faster than 64; more only take more memory."""


class Cuts(Protocol):
    """How prompts are cut."""

    @property
    def worth(self) -> int:
        """Fewer tokens than these are not worth a batch of their own for the sake of sharing them."""
        ...

    def shared(self, tokens: Sequence[int], other: Sequence[int]) -> int:
        """How many of the prompt's first tokens may come from another one, leaving it some to read for its logits."""
        ...

    def ends(self, tokens: Sequence[int], start: int, stop: int) -> list[int]:
        """Where the batches end that read it from `start`, which was shared or 0, to `stop`, shared or its end."""
        ...


@dataclass(frozen=True, slots=True)
class BetweenTiles:
    """In batches of any number of rows that computes the same, `most` at the most."""

    rows: Rows
    most: int = BATCH
    worth: int = 32
    """Not under the least number of rows. A batch takes as long as eight more rows in another one."""

    def shared(self, tokens: Sequence[int], other: Sequence[int]) -> int:
        # What is left is a batch too. Rows after the last whole tile are computed in another way, so no cut is there.
        length = min(_common(tokens, other), len(tokens) - self.rows.least)
        length -= length % self.rows.multiple
        return length if length >= self.rows.least else 0

    def ends(self, tokens: Sequence[int], start: int, stop: int) -> list[int]:  # noqa: ARG002, any prompt's
        ends = []
        while stop - start > self.most:
            start += self.most if stop - start - self.most >= self.rows.least else self.most - self.rows.least
            ends.append(start)
        return [*ends, stop]


@dataclass(frozen=True, slots=True)
class InBlocks:
    """After `size` tokens, and after a token that ends a turn: what cases share mostly stands in a turn of its own."""

    is_end: Callable[[int], bool]
    size: int = BLOCK
    worth: int = 1

    def shared(self, tokens: Sequence[int], other: Sequence[int]) -> int:
        common = _common(tokens[:-1], other)
        return max((end for end in self._blocks(tokens) if end <= common), default=0)

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
