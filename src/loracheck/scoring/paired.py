"""The two views answer the same cases: what changed, case by case, and how sure that is."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

METHOD: Final = "95 % Tango score interval, exact two-sided McNemar test"

Z_95: Final = 1.959963984540054
"""A normal variable stays within this of its mean, either way, with probability 0.95."""

_HALVINGS = 55  # from a span of 2 to the last bit of a double


@dataclass(frozen=True, slots=True)
class Paired:
    """How many cases each view got right or wrong."""

    both: int
    lost: int
    """Right in the base, wrong in ft."""
    gained: int
    """Wrong in the base, right in ft."""
    neither: int

    @property
    def n(self) -> int:
        return self.both + self.lost + self.gained + self.neither

    @property
    def delta(self) -> float | None:
        """The ft rate less the base rate; None without cases."""
        return (self.gained - self.lost) / self.n if self.n else None


def pair(base: Iterable[bool], ft: Iterable[bool]) -> Paired:
    """Count the cases by what each view made of them; ValueError when one side has more."""
    seen = Counter(zip(base, ft, strict=True))
    return Paired(seen[True, True], seen[True, False], seen[False, True], seen[False, False])


def mcnemar_p(lost: int, gained: int) -> float:
    """The chance of a split at least this uneven if losing and gaining were equally likely.

    Exact and two-sided; 1.0 when nothing changed.
    """
    n, k = lost + gained, min(lost, gained)
    # The largest term from whole numbers, which cannot overflow; the rest of the tail shrinks from there.
    tail = term = math.comb(n, k) / (1 << n)
    while k and term > tail * 1e-17:
        term *= k / (n - k + 1)
        tail += term
        k -= 1
    return min(1.0, 2 * tail)


def delta_interval(paired: Paired) -> tuple[float, float] | None:
    """The changes in rate that these counts do not speak against, at 95 %; None without cases.

    It holds the observed change and has a width even when nothing changed: all changes whose
    score statistic (Tango, 1998) is no further from 0 than a normal variable's would be.
    """
    delta = paired.delta
    if delta is None:
        return None
    return _edge(paired, delta, -1.0), _edge(paired, delta, 1.0)


def _edge(paired: Paired, inside: float, outside: float) -> float:
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if abs(score_statistic(paired.lost, paired.gained, paired.n, middle)) > Z_95:
            outside = middle
        else:
            inside = middle
    return inside


def score_statistic(lost: int, gained: int, n: int, delta: float) -> float:
    """How many standard errors the observed change lies above a true change of `delta` (-1 to 1).

    The standard error is the one that `delta` itself implies, so it does not vanish when nothing changed.
    """
    if delta > 0:
        # The mirror image: with delta at or under 0 `twice` is never negative, and the root adds to it.
        return -score_statistic(gained, lost, n, -delta)
    twice = lost + gained - (2 * n + lost - gained) * delta
    # With nothing lost the root is known, and squaring a tiny delta would round it to 0.
    root = math.sqrt(max(0.0, twice * twice + 8 * n * lost * delta * (1 - delta))) if lost else twice
    likeliest_lost = (twice + root) / (4 * n)  # the likeliest share of lost cases, given delta
    variance = n * (2 * likeliest_lost + delta * (1 - delta))
    gap = gained - lost - n * delta
    if gap == 0:
        return 0.0
    return gap / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, gap)
