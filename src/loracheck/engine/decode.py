"""Batched decoding, greedy or drawn, whose answers do not depend on the batch.

Floating-point kernels round differently for other numbers of rows, so the schedule never lets what a case gets depend
on its neighbours:

- a decode step has only numbers of rows that compute the same (rows.py), streams 0 and up without a hole; a stream
  without a case is fed a dummy token;
- a prompt is read alone, and cut only where that changes nothing, whatever it shares with others (cuts.py);
- several tries at one prompt begin from the very same reading of it, and each draws with its own luck.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from loracheck.engine.cuts import BLOCK, Cuts
from loracheck.engine.trace import Expected, expectation
from loracheck.errors import EngineError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from loracheck.engine.sampling import Sampler

_DUMMY_TOKEN = 0


class Context(Protocol):
    """The operations decoding needs; LlamaContext has them."""

    width: int
    trunk: int
    n_ctx: int

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

    @property
    def position(self) -> int:
        """Where the next token goes."""
        return len(self.job.tokens) + len(self.answer) - 1

    def finished(self, *, truncated: bool) -> Finished:
        is_traced = self.job.follow is not None or (self.job.traced and not truncated)
        return Finished(self.job, tuple(self.answer), truncated, tuple(self.expected) if is_traced else None)


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
            while slots[stream] is None and waiting:
                job = waiting.pop()
                logits = reader.read(stream, job.tokens, waiting[-1].tokens if waiting else ())
                running = _Running(job)
                if job.follow is not None:
                    # Reading on takes the logits' place.
                    logits = logits.copy()
                    running.expected = list(_follow(ctx, stream, job, job.follow, logits))
                    # Generating starts from the prompt as it was read, whatever has been followed from there.
                    ctx.forget(stream, len(job.tokens))
                finished = _advance(running, logits, is_end, ctx.n_ctx)
                if finished is None:
                    slots[stream] = running
                    continue
                ctx.forget(stream)
                yield finished
        live = sum(running is not None for running in slots)
        if not live:
            return
        rows = ctx.rows(live)
        _move_down(ctx, slots, rows)
        logits = ctx.step(
            [running.answer[-1] if running else _DUMMY_TOKEN for running in slots[:rows]],
            [running.position if running else 0 for running in slots[:rows]],
        )  # (rows, n_vocab)
        for stream, current in enumerate(slots[:rows]):
            done = _advance(current, logits[stream], is_end, ctx.n_ctx) if current else None
            if current is None or done is not None:
                slots[stream] = None
                ctx.forget(stream)
            if done is not None:
                yield done


def _move_down(ctx: Context, slots: list[_Running | None], rows: int) -> None:
    """Bring what runs into the first `rows` streams: a step has them without a hole."""
    for stream in range(rows, len(slots)):
        if slots[stream] is not None:
            free = slots.index(None)
            ctx.copy(stream, free)
            ctx.forget(stream)
            slots[free], slots[stream] = slots[stream], None


def _advance(
    running: _Running, logits: NDArray[np.float32], is_end: Callable[[int], bool], n_ctx: int
) -> Finished | None:
    """Take the next token; the finished answer when that ends it, or when it is known."""
    job = running.job
    if job.follow is not None and job.known is not None:
        running.answer = list(job.known)
        return running.finished(truncated=False)
    token = _likeliest(logits, job)
    if job.sampler is not None:
        token = job.sampler(logits)
    if job.traced and job.follow is None:
        running.expected.append(expectation(logits))
    if is_end(token):
        return running.finished(truncated=False)
    running.answer.append(token)
    if len(running.answer) >= job.max_new_tokens or running.position >= n_ctx:
        return running.finished(truncated=True)
    return None


def _likeliest(logits: NDArray[np.float32], job: Job) -> int:
    token = int(np.argmax(logits))
    if not np.isfinite(logits[token]):
        raise EngineError(f"case {job.label}: the model computed {logits[token]} instead of a number")
    return token


def _follow(ctx: Context, stream: int, job: Job, followed: Followed, logits: NDArray[np.float32]) -> Iterator[Expected]:
    """What is expected at every place of another answer; `stream` holds the prompt, `logits` are what it led to."""
    candidates = iter(followed.candidates)
    _likeliest(logits, job)
    yield expectation(logits, next(candidates))
    start, tokens = len(job.tokens), job.tokens + followed.tokens
    # In blocks, as the logits at every place are held.
    for first in range(start, len(tokens), BLOCK):
        for row in ctx.read_all(stream, tokens, first, min(first + BLOCK, len(tokens))):
            _likeliest(row, job)
            yield expectation(row, next(candidates))


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
        self._held: tuple[int, ...] = ()
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
        if tokens == self._held:
            return len(tokens)
        kept = self._cuts.shared(tokens, self._held)
        if kept < len(self._held):
            self._ctx.forget(self._ctx.trunk, kept)
        length = len(tokens) if tokens == following else self._cuts.shared(tokens, following)
        if length - kept < self._cuts.worth:
            length = kept
        else:
            logits = read_prompt(self._ctx, self._ctx.trunk, tokens, self._cuts, kept, length)
            # Whatever is read next takes their place.
            self._led_to = None if logits is None else logits.copy()
        self._held = tokens[:length]
        return length
