"""What reading and decoding need of whoever computes: numbered streams, each with memory of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from loracheck.engine.cuts import FEW
from loracheck.engine.rows import Rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


DUMMY_TOKEN = 0
"""What a row is fed that has none of its own."""


@dataclass(frozen=True, slots=True)
class End:
    """The last tokens of a prompt, from `start` on; the stream holds those before."""

    stream: int
    prompt: Sequence[int]
    start: int

    @property
    def tokens(self) -> Sequence[int]:
        return self.prompt[self.start :]


def filled_up(ends: Sequence[End], rows: Rows) -> int:
    """How many tokens each has, with dummies, where these are read together: whole tiles that hold the longest."""
    return rows.holding(max(len(end.tokens) for end in ends), FEW)


class Context(Protocol):
    """The operations; LlamaContext has them."""

    width: int
    trunk: int
    n_ctx: int
    most: int
    """Rows of a batch."""
    reading: Rows | None
    """In such numbers of rows a token that is read comes out as one of a step; None where that is not known."""

    def rows(self, live: int) -> int:
        """How many rows a step has that holds so many cases."""
        ...

    def forget(self, stream: int, start: int = 0) -> None:
        """Drop what `stream` holds from position `start` on."""
        ...

    def copy(self, source: int, stream: int) -> None:
        """Make `stream` hold exactly what `source` holds."""
        ...

    def read(self, stream: int, tokens: Sequence[int], start: int, end: int) -> NDArray[np.float32] | None:
        """Feed one block, tokens[start:end]; the last position's logits, (n_vocab,), when it is the prompt's last."""
        ...

    def read_ends(self, ends: Sequence[End]) -> NDArray[np.float32]:
        """The logits after each prompt, (ends, n_vocab), where `reading` is known.

        The streams follow one another. What the batch is filled up with is dropped again.
        """
        ...

    def read_all(self, stream: int, tokens: Sequence[int], start: int) -> NDArray[np.float32]:
        """Feed these tokens; the logits at each of their positions, (tokens, n_vocab)."""
        ...

    def step(self, tokens: Sequence[Sequence[int]], starts: Sequence[int]) -> NDArray[np.float32]:
        """As many tokens for each of the first streams; the logits after each, (streams, tokens, n_vocab)."""
        ...
