"""How much of a run is done and how long the rest will take, counted in tokens: those read and those written.

Before a model has answered, nobody knows how long its answers are: they are taken to be as long as those before them,
those of the view before at first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

# Before anything is known: a tool call with two or three arguments.
_LENGTH = 40.0
# How many answers must have ended to weigh as much as what was expected before.
_DOUBT = 2.0
# A token written costs about so much more than one that is read, as long as none was.
_WRITING = 2.0
# Fewer tokens than these say nothing of the speed.
_FEW = 64


@dataclass(frozen=True, slots=True)
class Spent:
    """What an engine has done, and how long that took."""

    read: int = 0
    read_seconds: float = 0.0
    written: int = 0
    write_seconds: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.read + other.read,
            self.read_seconds + other.read_seconds,
            self.written + other.written,
            self.write_seconds + other.write_seconds,
        )

    def __sub__(self, other: Spent) -> Spent:
        return self + Spent(-other.read, -other.read_seconds, -other.written, -other.write_seconds)


class Tick(Protocol):
    """Called after every step of a long computation, with the tokens that were read or written in it."""

    def __call__(self, read: int = 0, written: int = 0) -> None: ...


def no_tick(read: int = 0, written: int = 0) -> None:
    """For whoever does not count."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """What one view has to compute: so many answers, about so many tokens to read, and new ones at the most."""

    answers: int
    read: float = 0.0
    most: int = 1 << 30
    follows: int = 0
    """Answers of another view that it reads as well; they are not there yet."""


class Pace:
    """Told what is done, it tells what is left."""

    def __init__(self, stretches: Sequence[Stretch], clock: Callable[[], float] = time.monotonic) -> None:
        self._stretches = stretches
        self._clock = clock
        self._began: float | None = None
        self.place = -1
        """Which stretch is at hand."""
        self._answers = 0
        """Of this stretch, those that are computed."""
        self._ended = 0
        """Tokens of these answers."""
        self._length = _LENGTH
        """What is expected of the stretch at hand, before it."""
        self._known: Spent | None = None
        """What the engine says; None for one that says nothing."""
        self._before = Spent()
        """What was spent when this stretch began."""
        self._scale = 1.0
        """How many tokens were read for each that was expected."""
        self._share = 0.0

    def begin(self) -> None:
        """The next stretch."""
        if self.place >= 0:
            spent, expected = self._spent(), self._to_read(self._stretch())
            if self._answers and expected:
                self._scale *= (spent - self._before).read / expected
            self._length, self._before = self._mean(), spent
        elif self._began is None:
            self._began = self._clock()
        self.place += 1
        self._answers = self._ended = 0

    def answered(self, tokens: int) -> None:
        self._answers += 1
        self._ended += tokens

    def spend(self, more: Spent) -> None:
        """What the engine has done since it last spoke."""
        if self._known is None:
            self._known = self._before = Spent()
        self._known += more

    @property
    def seconds_left(self) -> float | None:
        """None as long as nothing can be said."""
        costs = self._costs()
        if costs is None:
            return None
        read, written = self._left()
        return read * costs[0] + written * costs[1]

    @property
    def share(self) -> float:
        """Of the whole work, what is done; it never goes back."""
        done = self._spent()
        costs = self._costs() or (1.0, _WRITING)
        weight = done.read * costs[0] + done.written * costs[1]
        left, to_write = self._left()
        whole = weight + left * costs[0] + to_write * costs[1]
        self._share = max(self._share, weight / whole if whole else 0.0)
        return self._share

    def _stretch(self) -> Stretch:
        return self._stretches[self.place] if 0 <= self.place < len(self._stretches) else Stretch(0)

    def _to_read(self, stretch: Stretch) -> float:
        return stretch.read * self._scale + stretch.follows * self._length

    def _spent(self) -> Spent:
        """By the engine's own account, or as far as answers tell."""
        if self._known is not None:
            return self._known
        stretch = self._stretch()
        share = min(1.0, self._answers / stretch.answers) if stretch.answers else 0.0
        return self._before + Spent(read=round(self._to_read(stretch) * share), written=self._ended)

    def _costs(self) -> tuple[float, float] | None:
        """Seconds for a token that is read, and for one that is written."""
        spent = self._spent()
        if self._known is None:
            work = spent.read + _WRITING * spent.written
            if not work or self._began is None:
                return None
            each = (self._clock() - self._began) / work
            return each, _WRITING * each
        if spent.read < _FEW:
            return None
        reading = spent.read_seconds / spent.read
        return reading, spent.write_seconds / spent.written if spent.written >= _FEW else _WRITING * reading

    def _mean(self) -> float:
        """How long an answer of this stretch is, by those that have ended."""
        return (self._ended + _DOUBT * self._length) / (self._answers + _DOUBT)

    def _left(self) -> tuple[float, float]:
        """Tokens to read and to write, about."""
        stretch, mean = self._stretch(), self._mean()
        answers = max(0, stretch.answers - self._answers)
        share = answers / stretch.answers if stretch.answers else 0.0
        here = self._spent() - self._before
        expected = self._to_read(stretch)
        read = min(max(0.0, expected - here.read), expected * share)
        # Short answers end first: those under way that are longer than expected have some more to go.
        under_way = max(0, here.written - self._ended)
        written = min(max(answers * mean - under_way, answers * mean / 4), stretch.most * share)
        for later in self._stretches[self.place + 1 :]:
            read += self._to_read(later)
            written += min(later.answers * mean, later.most)
        return read, written
