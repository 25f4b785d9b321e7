"""What a suite of this size can tell at all, and how many cases would tell more."""

from __future__ import annotations

import math
from itertools import count
from typing import TYPE_CHECKING, Final

from .paired import Z_95, mcnemar_p, score_statistic

if TYPE_CHECKING:
    from .paired import Paired

POWER: Final = 0.8
SIGNIFICANT: Final = 0.05
MOST_CASES: Final = 100_000
"""To ask for more cases than this is no advice."""

FEWEST_LOST: Final = next(lost for lost in count(1) if mcnemar_p(lost, 0) < SIGNIFICANT)
"""Six: with nothing gained, fewer lost cases may be chance."""


def detectable_drop(n: int, base_valid: int) -> float | None:
    """The smallest drop in rate that `n` cases show with 80 % power; None when they are too few.

    The adapter breaks each of the `base_valid` cases that the base gets right with the same chance
    and repairs none; the drop is shown when the exact McNemar test gives p < 0.05.
    """
    if base_valid < FEWEST_LOST:
        return None
    low, high = 0.0, 1.0
    while low < (chance := (low + high) / 2) < high:
        if _chance_of_fewer_than(FEWEST_LOST, base_valid, chance) > 1 - POWER:
            low = chance
        else:
            high = chance
    return high * base_valid / n


def _chance_of_fewer_than(few: int, trials: int, chance: float) -> float:
    return math.fsum(math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(few))


def straddles(interval: tuple[float, float], floor: float) -> bool:
    """Whether a true change in `interval` could pass a limit of `floor` or more, and another miss it."""
    low, high = interval
    return low < floor <= high


def cases_needed(paired: Paired, floor: float) -> int | None:
    """How many cases would settle which side of `floor` the change lies on, at the observed rates.

    That is the smallest number at which the 95 % interval no longer straddles the floor. None when
    the change sits on the floor, when it takes more than 100,000 cases, or without cases.
    """
    n = paired.n
    if not n:
        return None
    if not -1 < floor <= 1:
        return 1
    # At fixed rates the statistic grows with the square root of the number of cases.
    score = score_statistic(paired.lost, paired.gained, n, floor)
    evidence, enough = score * score / n, Z_95 * Z_95
    return None if evidence * MOST_CASES < enough else max(1, math.ceil(enough / evidence))
