"""Reading prompts, so that what comes of one does not depend on what is read before it or beside it.

A prompt is cut only where that changes nothing, whatever it shares with others (cuts.py). The ends of several prompts
are read in one batch where every row comes out the same as if it were read alone: each is filled up with dummy tokens,
even one that is read by itself. Elsewhere a prompt is read alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from loracheck.engine.context import Context, End, filled_up
from loracheck.engine.cuts import Cuts
from loracheck.engine.rows import ROOM

if TYPE_CHECKING:
    from numpy.typing import NDArray

_A_BATCH = 2
"""One more takes as long as so many more tiles in another one."""


class PromptReader:
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
        self._ends: list[End] = []
        self._read: list[tuple[int, NDArray[np.float32]]] = []
        """Streams whose prompts need no reading, with what they led to."""

    def begin(self, stream: int, tokens: tuple[int, ...], following: tuple[int, ...]) -> None:
        """Make `stream` hold the prompt up to its end, which is to be read with others."""
        start = self._grow_trunk(tokens, following) if self._share else 0
        if start:
            self._ctx.copy(self._ctx.trunk, stream)
        if start < len(tokens):
            self._ends.append(_read_to_end(self._ctx, stream, tokens, self._cuts, start))
        else:
            assert self._led_to is not None
            self._read.append((stream, self._led_to))

    def ends(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Read what was begun; each stream with its last position's logits, (n_vocab,), good until the next."""
        yield from self._read
        for group in _groups(self._ctx, self._ends):
            for end, logits in zip(group, _read_ends(self._ctx, group), strict=True):
                yield end.stream, logits
        self._read, self._ends = [], []

    def _grow_trunk(self, tokens: tuple[int, ...], following: tuple[int, ...]) -> int:
        """Bring the trunk to what this prompt shares with the last or the following one; its new length."""
        ctx, trunk = self._ctx, self._ctx.trunk
        if tokens == self._last and self._held == len(tokens):
            return len(tokens)
        kept = self._cuts.shared(tokens, self._last, self._held)
        if kept < self._held:
            ctx.forget(trunk, kept)
        length = self._cuts.shared(tokens, following, len(following))
        if tokens == following:
            length = len(tokens)
            self._led_to = read_prompt(ctx, trunk, tokens, self._cuts, kept).copy()
        elif self._cuts.is_worth(tokens, kept, length):
            _read(ctx, trunk, tokens, kept, self._cuts.ends(tokens, kept, length))
        else:
            length = kept
        self._last, self._held = tokens, length
        return length


def read_prompt(ctx: Context, stream: int, tokens: Sequence[int], cuts: Cuts, start: int = 0) -> NDArray[np.float32]:
    """Read a prompt to its end, by itself; its last position's logits, (n_vocab,)."""
    logits: NDArray[np.float32] = _read_ends(ctx, [_read_to_end(ctx, stream, tokens, cuts, start)])[0]
    return logits


def _read_to_end(ctx: Context, stream: int, tokens: Sequence[int], cuts: Cuts, start: int) -> End:
    """Read all but the last batch."""
    *places, _ = cuts.ends(tokens, start, len(tokens))
    _read(ctx, stream, tokens, start, places)
    return End(stream, tokens, places[-1] if places else start)


def _read(ctx: Context, stream: int, tokens: Sequence[int], start: int, places: Sequence[int]) -> None:
    for place in places:
        ctx.read(stream, tokens, start, place)
        start = place


def _groups(ctx: Context, ends: Sequence[End]) -> list[list[End]]:
    groups: list[list[End]] = []
    for end in ends:
        if groups and _go_together(ctx, groups[-1], end):
            groups[-1].append(end)
        else:
            groups.append([end])
    return groups


def _go_together(ctx: Context, group: Sequence[End], end: End) -> bool:
    """Whether it is read with these, all filled up to the longest, rather than in a batch of its own."""
    if ctx.reading is None or end.stream != group[-1].stream + 1:
        return False
    if not all(_can_be_filled(ctx, each) for each in (*group, end)):
        return False
    length = filled_up([*group, end], ctx.reading)
    together = length * (len(group) + 1)
    apart = filled_up(group, ctx.reading) * len(group) + filled_up([end], ctx.reading)
    return (
        together <= ctx.most
        and together <= apart + _A_BATCH * ctx.reading.multiple
        and all(each.start + length <= ctx.n_ctx for each in (*group, end))
    )


def _can_be_filled(ctx: Context, end: End) -> bool:
    """Whatever is read beside it: a prompt that leaves no room is always read as it is."""
    return ctx.reading is not None and len(end.prompt) + ROOM <= ctx.n_ctx


def _read_ends(ctx: Context, ends: Sequence[End]) -> NDArray[np.float32]:
    if _can_be_filled(ctx, ends[0]):
        return ctx.read_ends(ends)
    (end,) = ends
    logits = ctx.read(end.stream, end.prompt, end.start, len(end.prompt))
    assert logits is not None
    return logits[np.newaxis]
