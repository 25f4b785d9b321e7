"""How sure a rate or a change is, what so many cases can tell at all, and how many would tell more."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

METHOD: Final = "95 % Tango score interval, exact two-sided McNemar test"

Z_95: Final = 1.959963984540054
"""A normal variable stays within this of its mean, either way, with probability 0.95."""

POWER: Final = 0.8
Z_POWER: Final = 0.8416212335729143
"""A normal variable stays under this much over its mean with the probability POWER."""
SIGNIFICANT: Final = 0.05
MOST_CASES: Final = 100_000
"""To ask for more cases than this is no advice."""

RESAMPLES: Final = 1000

_MAX_DRAWS_AT_ONCE = 1_000_000
_HALVINGS = 55  # from a span of 2 to the last bit of a double


def bootstrap_ci_95(flags: Sequence[bool], seed: int) -> tuple[float, float] | None:
    """How sure the share of true flags is: the 2.5 and 97.5 percentiles of its bootstrap; None without flags."""
    if not flags:
        return None
    if len(set(flags)) == 1:
        return float(flags[0]), float(flags[0])

    # Here, because numpy alone would double the start time of commands that never resample.
    import numpy as np

    rng = np.random.default_rng(seed)
    n = len(flags)
    values = np.array(flags, dtype=np.uint8)  # (n,)
    means = np.empty(RESAMPLES)  # (1000,)
    # Rows drawn in blocks continue one stream: the same numbers as one (1000, n) draw, in less
    # memory (a suite of 100,000 cases would need 800 MB at once).
    block = max(1, _MAX_DRAWS_AT_ONCE // n)
    for first in range(0, RESAMPLES, block):
        rows = min(block, RESAMPLES - first)
        picks = rng.integers(0, n, size=(rows, n))  # (rows, n)
        means[first : first + rows] = values[picks].sum(axis=1, dtype=np.int64) / n
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Paired:
    """How many of the same cases each view got right or wrong."""

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
    return None if delta is None else (_edge(paired, delta, -1.0), _edge(paired, delta, 1.0))


def _edge(paired: Paired, inside: float, outside: float) -> float:
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if abs(score_statistic(paired.lost, paired.gained, paired.n, middle)) > Z_95:
            outside = middle
        else:
            inside = middle
    return inside


def score_statistic(lost: float, gained: float, n: int, delta: float) -> float:
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


FEWEST_LOST: Final = next(lost for lost in count(1) if mcnemar_p(lost, 0) < SIGNIFICANT)
"""Six: with nothing gained, fewer lost cases may be chance."""


def detectable_drop(n: int, base_valid: int) -> float | None:
    """The smallest drop in rate that `n` cases show with 80 % power; None when they are too few.

    It is shown when the exact McNemar test gives p < 0.05.
    """
    return drop_that_loses(FEWEST_LOST, n, base_valid)


def drop_that_loses(fewest: int, n: int, base_valid: int) -> float | None:
    """The smallest true drop in rate that costs at least `fewest` of `n` cases, four times out of five.

    The adapter breaks each of the `base_valid` cases that the base gets right with the same chance and repairs none.
    None where the base has fewer to lose.
    """
    if not 0 < fewest <= base_valid:
        return None
    fewer = [(k, log_choose(base_valid, k)) for k in range(fewest)]
    low, high = 0.0, 1.0
    while low < (chance := (low + high) / 2) < high:
        lost, kept = math.log(chance), math.log1p(-chance)
        if math.fsum(math.exp(ways + k * lost + (base_valid - k) * kept) for k, ways in fewer) > 1 - POWER:
            low = chance
        else:
            high = chance
    return high * base_valid / n


def log_choose(n: int, k: int) -> float:
    """The logarithm of the number of ways to choose, which itself would soon be too large for a float."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def straddles(interval: tuple[float, float], floor: float) -> bool:
    """Whether a true change in `interval` could pass a limit of `floor` or more, and another miss it."""
    return interval[0] < floor <= interval[1]


def cases_even_odds(paired: Paired, floor: float) -> int | None:
    """How many cases it takes for even odds to settle which side of `floor` the change lies on, at the observed rates.

    That is the smallest number at which the 95 % interval around the change as it is no longer straddles the floor;
    around half of all samples lie nearer to it. None when the change sits on the floor, when it takes more than 100,000
    cases, or without cases.
    """
    n = paired.n
    if not n:
        return None
    if not -1 < floor <= 1:
        return 1
    # At fixed rates the statistic grows with the square root of the number of cases.
    score = score_statistic(paired.lost, paired.gained, n, floor)
    evidence_per_case, enough = score * score / n, Z_95 * Z_95
    return None if evidence_per_case * MOST_CASES < enough else max(1, math.ceil(enough / evidence_per_case))


def cases_needed(paired: Paired, floor: float) -> int | None:
    """How many cases settle it four times out of five; None as above.

    The true rates of lost and gained cases are taken to be half a case more than was seen: nobody knows from a few
    cases that nothing is ever lost.
    """
    even = cases_even_odds(paired, floor)
    if even is None or not -1 < floor <= 1:
        return even
    lost, gained = ((seen + 0.5) / (paired.n + 1) for seen in (paired.lost, paired.gained))
    delta = gained - lost
    score = score_statistic(lost, gained, 1, floor)
    if score == 0:
        return None
    # The spread of one case if the floor were the true change, and as it is.
    spread_at_floor, spread = (delta - floor) / score, math.sqrt(lost + gained - delta * delta)
    needed = ((Z_95 * spread_at_floor + Z_POWER * spread) / (delta - floor)) ** 2
    return None if needed > MOST_CASES else max(even, math.ceil(needed))


def wilson(share: float, n: int) -> tuple[float, float]:
    """The 95 % interval of a rate: honest at 0 and 1 too, where a bootstrap has no width."""
    z2 = Z_95 * Z_95
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z_95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    # The rate itself is always in it, whatever the last bit is rounded to.
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Each p corrected for there being several of them (Holm, 1979), by the same names."""
    corrected: dict[str, float] = {}
    highest = 0.0
    for rank, name in enumerate(sorted(p_values, key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[name]))
        corrected[name] = highest
    return {name: corrected[name] for name in p_values}
