"""Batched decoding, greedy or drawn, whose answers do not depend on the batch.

Floating-point kernels round differently for other numbers of rows, so the schedule never lets what a case gets depend
on its neighbours:

- a decode step has only numbers of rows that compute the same (rows.py), streams 0 and up without a hole; a row without
  a case is fed a dummy token or, where a token that is read computes the same as one in a step, a guess at what another
  case says next: one that is right saves a step, and one that is wrong is dropped;
- a prompt is read so that nothing depends on what is read beside it (prompts.py);
- another answer that is read, because it is to be followed or as a draft, is kept as far as it is what would have been
  written, where a token that is read computes the same as one in a step;
- several tries at one prompt begin from the very same reading of it, and each draws with its own luck.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, cycle, islice, takewhile, zip_longest
from typing import TYPE_CHECKING

import numpy as np

from loracheck.engine.context import DUMMY_TOKEN, Context
from loracheck.engine.cuts import FEW, Cuts
from loracheck.engine.prompts import PromptReader
from loracheck.engine.rows import ROOM
from loracheck.engine.trace import Expected, expectation
from loracheck.errors import EngineError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from loracheck.engine.sampling import Sampler

_FIRST_ROWS = 16
"""Of a draft; one that is wrong is mostly wrong soon."""

_ALIKE = 4
"""So many tokens are looked for, to guess what follows."""


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
    reader = PromptReader(ctx, cuts, share=share)
    # In token order, prompts with a common prefix are neighbours and the trunk walks their tree depth-first.
    waiting = sorted(jobs, key=lambda job: job.tokens, reverse=True)
    slots: list[_Running | None] = [None] * ctx.width
    while True:
        while waiting and None in slots:
            for stream, job, logits in _read_prompts(reader, slots, waiting):
                slots[stream] = _begin(ctx, stream, job, logits, is_end)
                # At once: whoever is stopped keeps all that is finished.
                yield from _taken_out(ctx, slots)
        if not any(slots):
            return
        _step(ctx, slots, is_end)
        yield from _taken_out(ctx, slots)


def _read_prompts(
    reader: PromptReader, slots: list[_Running | None], waiting: list[Job]
) -> Iterator[tuple[int, Job, NDArray[np.float32]]]:
    """For every free stream the next job, with the logits after its prompt, (n_vocab,)."""
    jobs: dict[int, Job] = {}
    for stream, running in enumerate(slots):
        if running is None and waiting:
            job = jobs[stream] = waiting.pop()
            reader.begin(stream, job.tokens, waiting[-1].tokens if waiting else ())
    for stream, logits in reader.ends():
        yield stream, jobs[stream], logits


def _taken_out(ctx: Context, slots: list[_Running | None]) -> Iterator[Finished]:
    """Those that are over."""
    for stream, running in enumerate(slots):
        if running is not None and running.is_over:
            slots[stream] = None
            ctx.forget(stream)
            yield running.finished()


def _step(ctx: Context, slots: list[_Running | None], is_end: Callable[[int], bool]) -> None:
    """One token for each case, and where rows would be idle, some more that they may say next."""
    live = [running for running in slots if running is not None]
    rows = ctx.rows(len(live))
    each = _rows_each(ctx, live, rows)
    _move_down(ctx, slots, rows // each)
    tokens = [_ahead(running, each) if running else [DUMMY_TOKEN] * each for running in slots[: rows // each]]
    logits = ctx.step(tokens, [running.position if running else 0 for running in slots[: rows // each]])
    for stream, fed in enumerate(tokens):
        running = slots[stream]
        if running is None:
            ctx.forget(stream)
            continue
        _advance_along(running, fed[1:], logits[stream], is_end, ctx.n_ctx)
        if each > 1:
            ctx.forget(stream, running.position)


def _rows_each(ctx: Context, live: Sequence[_Running], rows: int) -> int:
    """How many rows each case can have: a batch has as many of each of its streams."""
    most = rows // len(live) if ctx.reading else 1
    each = next(each for each in range(most, 0, -1) if rows % each == 0)
    return each if all(running.position + each <= ctx.n_ctx for running in live) else 1


def _ahead(running: _Running, count: int) -> list[int]:
    """The last token of the answer, and a guess at those after it."""
    ahead = running.answer[-1:]
    if count > 1:
        job = running.job
        known = (*job.tokens, *(job.follow.tokens if job.follow else job.draft), *running.answer)
        ahead.extend(_guess(known, count - 1))
    return ahead + [DUMMY_TOKEN] * (count - len(ahead))


def _guess(tokens: Sequence[int], count: int) -> Sequence[int]:
    """What may follow: what did where the last few came up before, or as many of them as ever did, the last time."""

    def alike(place: int) -> int:
        """How many tokens up to there are the last ones."""
        before = tokens[max(0, place + 1 - _ALIKE) : place + 1]
        pairs = zip(reversed(before), reversed(tokens[-_ALIKE:]), strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    places = [place for place in range(len(tokens) - 1) if tokens[place] == tokens[-1]]
    if not places:
        return ()
    # Where that was so lately that there are not enough of them, it may go on in circles.
    circle = tokens[max(places, key=lambda place: (alike(place), place)) + 1 :]
    return list(islice(cycle(circle), count))


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
    rows = _read_on(ctx, stream, len(job.tokens), followed.tokens, fill=is_read_as_written)
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
        read = _read_on(ctx, stream, running.position, ahead, fill=True)
        _advance_along(running, ahead[1:], read, is_end, ctx.n_ctx)
        ctx.forget(stream, running.position)
        rows = FEW


def _read_on(
    ctx: Context, stream: int, start: int, tokens: Sequence[int], *, fill: bool
) -> Iterator[NDArray[np.float32]]:
    """The logits after each of these tokens, which follow on those that the stream holds."""
    # In blocks, as the logits at every place are held.
    for first in range(0, len(tokens), FEW):
        block = tokens[first : first + FEW]
        rows = ctx.reading.holding(len(block), FEW) if fill and ctx.reading else len(block)
        filled = (*block, *[DUMMY_TOKEN] * (rows - len(block)))
        yield from ctx.read_all(stream, filled, start + first)[: len(block)]


def _advance_along(
    running: _Running,
    ahead: Sequence[int],
    rows: Iterable[NDArray[np.float32]],
    is_end: Callable[[int], bool],
    n_ctx: int,
) -> None:
    """Take a token, and one more after each of these that it turns out to be."""
    for row, fed in zip_longest(rows, ahead):
        _advance(running, row, is_end, n_ctx)
        if running.is_over or running.answer[-1] != fed:
            return


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
