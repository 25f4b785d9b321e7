"""Batched decoding, greedy or drawn, whose answers do not depend on the batch.

Floating-point kernels round differently for other numbers of rows, so the schedule never lets what a case gets depend
on its neighbours:

- a decode step has only numbers of rows that compute the same (rows.py), streams 0 and up without a hole; a stream
  without a case is fed a dummy token;
- a prompt is read alone, and cut only where that changes nothing, whatever it shares with others (cuts.py);
- another answer that is read, because it is to be followed or as a draft, is kept as far as it is what would have been
  written, where a token that is read computes the same as one in a step;
- several tries at one prompt begin from the very same reading of it, and each draws with its own luck.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Protocol

import numpy as np

from loracheck.engine.cuts import FEW, Cuts
from loracheck.engine.rows import ROOM, Rows
from loracheck.engine.trace import Expected, expectation
from loracheck.errors import EngineError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from loracheck.engine.sampling import Sampler

_DUMMY_TOKEN = 0

_FIRST_ROWS = 16
"""Of a draft; one that is wrong is mostly wrong soon."""


class Context(Protocol):
    """The operations decoding needs; LlamaContext has them."""

    width: int
    trunk: int
    n_ctx: int
    reading: Rows | None
    """In such numbers of rows a token that is read comes out as one of a step; None where that is not known."""

    def rows(self, live: int) -> int: ...
    def forget(self, stream: int, start: int = 0) -> None: ...
    def copy(self, source: int, stream: int) -> None: ...
    def read(self, stream: int, tokens: Sequence[int], start: int, end: int) -> NDArray[np.float32] | None: ...
    def read_all(self, stream: int, tokens: Sequence[int], start: int, end: int) -> NDArray[np.float32]: ...
    def step(self, tokens: Sequence[int], positions: Sequence[int]) -> NDArray[np.float32]: ...


@dataclass(frozen=True, slots=True)
class Followed:
    """Another view's answer, and the tokens it found likeliest at each place of it, the one after the last included."""

    tokens: tuple[int, ...]
    candidates: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Job:
    """A tokenized prompt to answer. `label` names the case in messages."""

    index: int
    label: str
    tokens: tuple[int, ...]
    max_new_tokens: int
    traced: bool = False
    """Keep what the model expects at each place of its own answer, if that is a whole one."""
    follow: Followed | None = None
    """Another answer to be traced instead."""
    known: tuple[int, ...] | None = None
    """The answer, when there is none to be generated."""
    sampler: Sampler | None = None
    """Draws the tokens of its answer, one after another; None to take the likeliest."""
    draft: tuple[int, ...] = ()
    """What it may answer."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A job's answer, with what was expected at each place of the answer to be traced."""

    job: Job
    tokens: tuple[int, ...]
    truncated: bool
    expected: tuple[Expected, ...] | None = None


@dataclass(slots=True)
class _Running:
    job: Job
    answer: list[int] = field(default_factory=list)
    expected: list[Expected] = field(default_factory=list)
    """Of the followed answer where there is one, else of its own so far."""
    is_over: bool = False
    truncated: bool = False

    @property
    def position(self) -> int:
        """Where the next token goes."""
        return len(self.job.tokens) + len(self.answer) - 1

    def finished(self) -> Finished:
        is_traced = self.job.follow is not None or (self.job.traced and not self.truncated)
        return Finished(self.job, tuple(self.answer), self.truncated, tuple(self.expected) if is_traced else None)


def decode(
    ctx: Context, jobs: Sequence[Job], is_end: Callable[[int], bool], cuts: Cuts, *, share: bool
) -> Iterator[Finished]:
    """Yield jobs with their answers as they finish. `ctx` must come with empty memory."""
    reader = _PromptReader(ctx, cuts, share=share)
    # In token order, prompts with a common prefix are neighbours and the trunk walks their tree depth-first.
    waiting = sorted(jobs, key=lambda job: job.tokens, reverse=True)
    slots: list[_Running | None] = [None] * ctx.width
    while True:
        for stream in range(ctx.width):
            while (running := slots[stream]) is None or running.is_over:
                if running is not None:
                    slots[stream] = None
                    ctx.forget(stream)
                    yield running.finished()
                elif waiting:
                    job = waiting.pop()
                    logits = reader.read(stream, job.tokens, waiting[-1].tokens if waiting else ())
                    slots[stream] = _begin(ctx, stream, job, logits, is_end)
                else:
                    break
        if not any(slots):
            return
        _step(ctx, slots, is_end)


def _step(ctx: Context, slots: list[_Running | None], is_end: Callable[[int], bool]) -> None:
    """One token for each case."""
    rows = ctx.rows(sum(running is not None for running in slots))
    _move_down(ctx, slots, rows)
    logits = ctx.step(
        [running.answer[-1] if running else _DUMMY_TOKEN for running in slots[:rows]],
        [running.position if running else 0 for running in slots[:rows]],
    )  # (rows, n_vocab)
    for stream, running in enumerate(slots[:rows]):
        if running is None:
            ctx.forget(stream)
        else:
            _advance(running, logits[stream], is_end, ctx.n_ctx)


def _move_down(ctx: Context, slots: list[_Running | None], rows: int) -> None:
    """Bring what runs into the first `rows` streams: a step has them without a hole."""
    for stream in range(rows, len(slots)):
        if slots[stream] is not None:
            free = slots.index(None)
            ctx.copy(stream, free)
            ctx.forget(stream)
            slots[free], slots[stream] = slots[stream], None


def _begin(ctx: Context, stream: int, job: Job, logits: NDArray[np.float32], is_end: Callable[[int], bool]) -> _Running:
    """Take the first token, and with an answer that is followed all up to the first one that is another."""
    running, followed = _Running(job), job.follow
    if followed is None:
        _advance(running, logits, is_end, ctx.n_ctx)
        if ctx.reading is not None:
            _take_over_draft(ctx, stream, running, is_end)
        return running
    # Reading on takes the logits' place.
    logits = logits.copy()
    is_read_as_written = ctx.reading is not None and len(job.tokens) + len(followed.tokens) + ROOM <= ctx.n_ctx
    goes_along = is_read_as_written and job.known is None
    rows = _read_on(ctx, stream, job.tokens, followed.tokens, fill=is_read_as_written)
    for place, (row, candidates) in enumerate(zip(chain((logits,), rows), followed.candidates, strict=True)):
        _likeliest(row, job)
        running.expected.append(expectation(row, candidates))
        if goes_along:
            _advance(running, row, is_end, ctx.n_ctx)
            goes_along = not running.is_over and running.answer[-1:] == list(followed.tokens[place : place + 1])
    if job.known is not None:
        running.answer, running.is_over = list(job.known), True
    elif not is_read_as_written:
        # Generating starts from the prompt as it was read.
        ctx.forget(stream, len(job.tokens))
        _advance(running, logits, is_end, ctx.n_ctx)
    elif not running.is_over:
        ctx.forget(stream, running.position)
    return running


def _take_over_draft(ctx: Context, stream: int, running: _Running, is_end: Callable[[int], bool]) -> None:
    """Read on with it as long as the answer is the same: some tokens first, and then as many as can be."""
    draft, answer = running.job.draft, running.answer
    rows = _FIRST_ROWS
    while not running.is_over and len(answer) < len(draft) and draft[: len(answer)] == tuple(answer):
        ahead = draft[len(answer) - 1 :][:rows]
        if running.position + len(ahead) + ROOM > ctx.n_ctx:
            return
        for row in _read_on(ctx, stream, (*running.job.tokens, *answer[:-1]), ahead, fill=True):
            _advance(running, row, is_end, ctx.n_ctx)
            if running.is_over or answer[-1:] != list(draft[len(answer) - 1 : len(answer)]):
                break
        ctx.forget(stream, running.position)
        rows = FEW


def _read_on(
    ctx: Context, stream: int, before: Sequence[int], tokens: Sequence[int], *, fill: bool
) -> Iterator[NDArray[np.float32]]:
    """The logits after each of these tokens, which follow on those that the stream holds."""
    # In blocks, as the logits at every place are held.
    for first in range(0, len(tokens), FEW):
        block = tokens[first : first + FEW]
        rows = ctx.reading.holding(len(block), FEW) if fill and ctx.reading else len(block)
        start = len(before) + first
        held = (*before, *tokens[:first], *block, *[_DUMMY_TOKEN] * (rows - len(block)))
        yield from ctx.read_all(stream, held, start, start + rows)[: len(block)]


def _advance(running: _Running, logits: NDArray[np.float32], is_end: Callable[[int], bool], n_ctx: int) -> None:
    """Take the next token."""
    job = running.job
    token = _likeliest(logits, job)
    if job.sampler is not None:
        token = job.sampler(logits)
    if job.traced and job.follow is None:
        running.expected.append(expectation(logits))
    if is_end(token):
        running.is_over = True
        return
    running.answer.append(token)
    if len(running.answer) >= job.max_new_tokens or running.position >= n_ctx:
        running.is_over = running.truncated = True


def _likeliest(logits: NDArray[np.float32], job: Job) -> int:
    token = int(np.argmax(logits))
    if not np.isfinite(logits[token]):
        raise EngineError(f"case {job.label}: the model computed {logits[token]} instead of a number")
    return token


def read_prompt(
    ctx: Context, stream: int, tokens: Sequence[int], cuts: Cuts, start: int = 0, stop: int | None = None
) -> NDArray[np.float32] | None:
    """Read from `start` to `stop`, or to the prompt's end; in that case its last position's logits, (n_vocab,)."""
    logits = None
    for end in cuts.ends(tokens, start, len(tokens) if stop is None else stop):
        logits = ctx.read(stream, tokens, start, end)
        start = end
    return logits


class _PromptReader:
    """Reads prompts into streams, each shared prefix once.

    The trunk stream always holds the beginning of the last prompt. Prompts come in token order, so what one shares
    with a later one it also shares with the next: one stream is enough to walk the whole prefix tree. Where the next
    prompt is the same once more, the trunk holds it to its end, and what it led to is kept.
    """

    def __init__(self, ctx: Context, cuts: Cuts, *, share: bool) -> None:
        self._ctx = ctx
        self._cuts = cuts
        self._share = share
        self._last: tuple[int, ...] = ()
        """The prompt whose beginning the trunk holds."""
        self._held = 0
        self._led_to: NDArray[np.float32] | None = None
        """The last position's logits, (n_vocab,), while the trunk holds a whole prompt."""

    def read(self, stream: int, tokens: tuple[int, ...], following: tuple[int, ...]) -> NDArray[np.float32]:
        """Make `stream` hold the prompt; its last position's logits, (n_vocab,)."""
        start = self._grow_trunk(tokens, following) if self._share else 0
        if start:
            self._ctx.copy(self._ctx.trunk, stream)
        logits = self._led_to if start == len(tokens) else read_prompt(self._ctx, stream, tokens, self._cuts, start)
        assert logits is not None
        return logits

    def _grow_trunk(self, tokens: tuple[int, ...], following: tuple[int, ...]) -> int:
        """Bring the trunk to what this prompt shares with the last or the following one; its new length."""
        if tokens == self._last and self._held == len(tokens):
            return len(tokens)
        kept = self._cuts.shared(tokens, self._last, self._held)
        if kept < self._held:
            self._ctx.forget(self._ctx.trunk, kept)
        repeated = tokens == following
        length = len(tokens) if repeated else self._cuts.shared(tokens, following, len(following))
        if repeated or self._cuts.is_worth(tokens, kept, length):
            logits = read_prompt(self._ctx, self._ctx.trunk, tokens, self._cuts, kept, length)
            # Whatever is read next takes their place.
            self._led_to = None if logits is None else logits.copy()
        else:
            length = kept
        self._last, self._held = tokens, length
        return length
