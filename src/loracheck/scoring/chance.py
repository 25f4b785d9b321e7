"""What so many cases can tell, and how often chance alone would FAIL an adapter that is as good as its base."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from loracheck.scoring.evidence import Flips, Power
from loracheck.scoring.limits import Limits
from loracheck.scoring.statistics import (
    cases_even_odds,
    cases_needed,
    delta_interval,
    detectable_drop,
    drop_that_loses,
    log_choose,
    pair,
    straddles,
)

if TYPE_CHECKING:
    from loracheck.scoring.verdict import Trial

FLIP_RATE: Final = 0.02
"""What is assumed where nobody measured it: one answer in 50 changes between valid and not, for no reason at all."""


def power_of(asked: Sequence[Trial], limits: Limits, flips: Flips | None) -> Power:
    """What so many cases can tell, and what chance alone would make of them."""
    validity = pair((trial.base.valid for trial in asked), (trial.ft.valid for trial in asked))
    n, base_valid, floor = validity.n, validity.both + validity.lost, limits.assert_validity_delta_gte
    interval = delta_interval(validity)
    if interval is None:
        return Power()
    fewest = fails_from(n, base_valid, floor)
    flip_rate = (flips and flips.rate) or FLIP_RATE
    return Power(
        detectable_drop=detectable_drop(n, base_valid),
        # Where neither view makes a valid call, no number of such cases tells anything.
        inconclusive=straddles(interval, floor) or validity.neither == n,
        cases_even_odds=cases_even_odds(validity, floor),
        cases_needed=cases_needed(validity, floor),
        fails_from=fewest,
        failing_drop=drop_that_loses(fewest or 0, n, base_valid),
        flip_rate=flip_rate,
        chance_of_fail=chance_of_fail(n, base_valid, floor, flip_rate),
        chance_of_fail_by_names=_chance_of_names(asked, limits.assert_hallucination_lte),
    )


def _chance_of_names(asked: Sequence[Trial], cap: float) -> float | None:
    wrong = [trial.base.outcome == "wrong_tool" for trial in asked if trial.base.valid]
    named = sum(trial.ft.valid for trial in asked)
    return chance_of_wrong_names(named, sum(wrong) / len(wrong), cap) if wrong else None


def fails_from(n: int, base_valid: int, floor: float) -> int | None:
    """How many lost cases, with none gained, miss the floor; None when the base has not so many to lose."""
    if not -1 <= floor <= 1:
        return 0 if floor > 1 else None
    # A step before what exact arithmetic gives, because the rule compares floats.
    first = max(0, math.floor(-floor * n) - 1)
    return next((lost for lost in range(first, base_valid + 1) if _misses(n, base_valid, lost, 0, floor)), None)


def chance_of_fail(n: int, base_valid: int, floor: float, flip_rate: float) -> float | None:
    """How often the floor is missed when each answer flips between valid and not with that chance; None without any."""
    if not n:
        return None
    of_lost = _binomial(base_valid, flip_rate)
    at_least = list(accumulate(reversed(of_lost)))[::-1]
    total, fewest = 0.0, 0
    for gained, chance in enumerate(_binomial(n - base_valid, flip_rate)):
        while fewest <= base_valid and not _misses(n, base_valid, fewest, gained, floor):
            fewest += 1
        if fewest > base_valid:
            break
        total += chance * at_least[fewest]
    return min(1.0, total)


def chance_of_wrong_names(n: int, share: float, cap: float) -> float | None:
    """How often more than `cap` of `n` valid calls name a wrong tool when each does with the chance `share`."""
    return math.fsum(chance for wrong, chance in enumerate(_binomial(n, share)) if wrong / n > cap) if n else None


def chance_of_any(chances: Iterable[float]) -> float:
    """How often at least one of several comes about, if they have nothing to do with each other."""
    return 1 - math.prod(1 - chance for chance in chances)


def _misses(n: int, base_valid: int, lost: int, gained: int, floor: float) -> bool:
    """As the verdict has it, to the last bit."""
    return (base_valid - lost + gained) / n - base_valid / n < floor


def _binomial(n: int, p: float) -> list[float]:
    """The chances of 0 to n hits."""
    if p in (0.0, 1.0):
        return [float(hits == n * p) for hits in range(n + 1)]
    hit, miss = math.log(p), math.log1p(-p)
    return [math.exp(log_choose(n, hits) + hits * hit + (n - hits) * miss) for hits in range(n + 1)]
