"""From a number to its place in a plot, in percent of the width: so a plot is as wide as its page."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_STEPS = (0.1, 0.25, 0.5, 1.0)
_Z_95 = 1.959964


@dataclass(frozen=True, slots=True)
class Mark:
    at: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Dot:
    at: float
    height: int
    """How many equal ones lie under it."""


@dataclass(frozen=True, slots=True)
class Scale:
    """From `low` to `high`, drawn from 0 to 100 %."""

    low: float = 0.0
    high: float = 1.0

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(100 * min(max(share, 0.0), 1.0), 2)

    def mark(self, value: float, interval: tuple[float, float] | None = None) -> Mark:
        return Mark(self.at(value)) if interval is None else Mark(self.at(value), *map(self.at, interval))


def scale_for(values: Sequence[float]) -> Scale:
    """As wide on both sides of zero, and round."""
    reach = max((abs(value) for value in values), default=0.0)
    half = next((step for step in _STEPS if step >= reach), 1.0)
    return Scale(-half, half)


def wilson(share: float, n: int) -> tuple[float, float]:
    """The 95 % interval of a rate: honest at 0 and 1 too, where a bootstrap has no width."""
    z2 = _Z_95 * _Z_95
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z_95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def stacked(rates: Sequence[float]) -> tuple[Dot, ...]:
    """One dot for each, equal ones on top of each other."""
    below: Counter[float] = Counter()
    dots = []
    for rate in sorted(rates):
        at = Scale().at(rate)
        dots.append(Dot(at, below[at]))
        below[at] += 1
    return tuple(dots)
