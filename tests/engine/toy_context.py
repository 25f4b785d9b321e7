"""A context over a toy model that checks how it is used."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np

from loracheck.engine.cuts import BetweenTiles, InBlocks
from loracheck.engine.rows import FLASH_TILE, ROOM, Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from loracheck.engine.context import End
    from loracheck.engine.sampling import Sampler

N_VOCAB = 7
END = 6
BLOCK = 4
IN_BLOCKS = InBlocks(lambda token: token == END, BLOCK)


def logits_after(history: Sequence[int]) -> NDArray[np.float32]:
    """The toy model: the next token is a checksum of all before it, and how sure it is of it another."""
    logits = np.zeros(N_VOCAB, np.float32)  # (n_vocab,)
    checksum = zlib.crc32(bytes(history))
    logits[checksum % N_VOCAB] = 1.0 + checksum // N_VOCAB % 8
    return logits


def blocks_of(tokens: Sequence[int]) -> list[tuple[int, int]]:
    """The blocks a prompt must be read in, by a rule that looks at nothing but its tokens."""
    blocks, start = [], 0
    for place in range(1, len(tokens) + 1):
        if place == len(tokens) or place - start == BLOCK or tokens[place - 1] == END:
            blocks.append((start, place))
            start = place
    return blocks


class ToyContext:
    """Streams of tokens. Holds its user to the rules that make answers independent of their neighbours."""

    def __init__(
        self, width: int = 3, n_ctx: int = 64, rows: Rows | None = None, tiles: BetweenTiles | None = None
    ) -> None:
        """Prompts are to be read in blocks, or with cuts between `tiles`."""
        self.width = width
        self._tiles = tiles
        self.reading = tiles.rows if tiles and tiles.rows.has(width) else None
        self._rows = rows or (tiles.rows if tiles else Rows(width, width))
        self.trunk = width
        self.n_ctx = n_ctx
        self.streams: list[list[int]] = [[] for _ in range(width + 1)]
        self.most = tiles.most if tiles else n_ctx
        self.prompt_tokens_read = 0
        self.ends_read: list[int] = []
        """How many ends there were in each batch of them."""
        self.steps = 0
        self.rows_stepped = 0
        self._idle: set[int] = set()
        self._prompts: set[int] = set()
        """The streams that hold a prompt to its end; the trunk does where more than one begin from it."""

    def forget(self, stream: int, start: int = 0) -> None:
        del self.streams[stream][start:]
        self._idle.discard(stream)
        if not start or stream == self.trunk:
            self._prompts.discard(stream)

    def rows(self, live: int) -> int:
        return self._rows.holding(live, self.width)

    def copy(self, source: int, stream: int) -> None:
        assert not self.streams[stream], "the stream still holds another case"
        assert self.streams[source], "there is nothing to copy"
        self.streams[stream] = list(self.streams[source])
        if source in self._prompts:
            self._prompts.add(stream)

    def read(self, stream: int, tokens: Sequence[int], start: int, end: int) -> NDArray[np.float32] | None:
        if self.reading and len(tokens) + ROOM <= self.n_ctx:
            assert end < len(tokens), "an end is filled up, whether there is another to be read with it or not"
        logits = self._read(stream, tokens, start, end)
        return logits if end == len(tokens) else None

    def _read(self, stream: int, tokens: Sequence[int], start: int, end: int) -> NDArray[np.float32]:
        assert not self._idle, "a dummy token was left behind"
        self._check_batch(tokens, start, end)
        assert end <= self.n_ctx
        assert self.streams[stream] == list(tokens[:start]), "what the stream holds is not the start of this prompt"
        self.streams[stream] = list(tokens[:end])
        self.prompt_tokens_read += end - start
        if end == len(tokens):
            self._prompts.add(stream)
        return self._logits(stream)

    def _check_batch(self, tokens: Sequence[int], start: int, end: int) -> None:
        if self._tiles is None:
            assert (start, end) in blocks_of(tokens), "a read must be one block, cut by the prompt's own tokens"
            return
        rows, body = self._tiles.rows, self._tiles.body(len(tokens))
        if start < body:
            assert self._tiles.large <= end - start <= self._tiles.most, "a body is read in large batches"
            assert end <= body, "a body ends with a batch of its own"
        else:
            assert end - start <= self._tiles.few
        assert start % rows.multiple == 0, "a cut must be between tiles"
        assert end == len(tokens) or end % rows.multiple == 0, "a cut must be between tiles"
        assert end - start >= min(rows.least, len(tokens)), "so few rows compute in another way"

    def read_ends(self, ends: Sequence[End]) -> NDArray[np.float32]:
        assert self.reading, "nothing is promised"
        assert self._tiles
        filled = self.reading.holding(max(len(end.tokens) for end in ends), self._tiles.few)
        assert filled * len(ends) <= self.most
        assert [end.stream for end in ends] == [ends[0].stream + place for place in range(len(ends))]
        self.ends_read.append(len(ends))
        rows = []
        for end in ends:
            assert end.start + filled <= self.n_ctx
            rows.append(self._read(end.stream, end.prompt, end.start, len(end.prompt)))
        return np.stack(rows)  # (ends, n_vocab)

    def read_all(self, stream: int, tokens: Sequence[int], start: int) -> NDArray[np.float32]:
        assert not self._idle, "a dummy token was left behind"
        assert start + len(tokens) <= self.n_ctx
        if self.reading:
            assert self.reading.has(len(tokens)), "so many rows compute in another way"
            assert len(tokens) < FLASH_TILE
        return self._write(stream, tokens, start)

    def step(self, tokens: Sequence[Sequence[int]], starts: Sequence[int]) -> NDArray[np.float32]:
        cases, each = self._prompts - {self.trunk}, len(tokens[0])
        rows = self.rows(len(cases))
        assert len(tokens) * each == rows, "a step must have as many rows as its cases need"
        assert each == 1 or self.reading, "nothing is promised"
        assert all(stream < len(tokens) for stream in cases), "a case is left out of the step"
        assert not self._idle, "a dummy token was left behind"
        for stream, (fed, start) in enumerate(zip(tokens, starts, strict=True)):
            assert start + each <= self.n_ctx
            if stream not in self._prompts:
                assert (start, list(fed)) == (0, [0] * each)
                self._idle.add(stream)
        self.steps += 1
        self.rows_stepped += rows
        return np.stack([self._write(stream, *fed) for stream, fed in enumerate(zip(tokens, starts, strict=True))])

    def _write(self, stream: int, tokens: Sequence[int], start: int) -> NDArray[np.float32]:
        assert start == len(self.streams[stream]), "a token must follow the last one"
        rows = []
        for token in tokens:
            self.streams[stream].append(token)
            rows.append(self._logits(stream))
        return np.stack(rows)  # (tokens, n_vocab)

    def _logits(self, stream: int) -> NDArray[np.float32]:
        return logits_after(self.streams[stream])


def answer_alone(
    tokens: Sequence[int], max_new_tokens: int, n_ctx: int, sampler: Sampler | None = None, end: int = END
) -> tuple[tuple[int, ...], bool]:
    """What decoding of one prompt by itself gives, greedy without a sampler: the answer, and whether it was cut."""
    history, answer = list(tokens), []
    while True:
        logits = logits_after(history)
        token = sampler(logits) if sampler else int(np.argmax(logits))
        if token == end:
            return tuple(answer), False
        answer.append(token)
        if len(answer) == max_new_tokens or len(history) == n_ctx:
            return tuple(answer), True
        history.append(token)
