"""Several tries at one case, in both views.

Tries at one case resemble each other: five at each of twenty cases are worth less than one at each of a hundred. So a
case counts once here, by the share of its tries that came out right, and everything about chance is about which cases
were asked.

Both views make their tries with the same luck, one by one, so the first try of one belongs to the first of the other.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from loracheck.scoring.outcome import Reading
from loracheck.scoring.paired_test import PairedTest, paired_test
from loracheck.scoring.part import Count, Number, Part
from loracheck.scoring.statistics import RESAMPLES, Paired, mcnemar_p, pair

METHOD: Final = "95 % percentile bootstrap over cases, exact two-sided sign test over cases"


@dataclass(frozen=True, slots=True)
class CaseTries:
    """What came of one case, try by try."""

    case: str
    base: tuple[Reading, ...]
    ft: tuple[Reading, ...]

    def __post_init__(self) -> None:
        if not self.base or len(self.base) != len(self.ft):
            raise ValueError(
                f"case {self.case}: {len(self.base)} tries of the base and {len(self.ft)} of the adapter; "
                "there must be as many of both, and at least one"
            )


class TriedRate(Part):
    """How many tries came out right. Every case weighs the same; variances are those of `delta`."""

    base: Number | None = None
    """The mean over cases of the share of right tries."""
    ft: Number | None = None
    delta: Number | None = None
    """ft less base."""
    interval_95: tuple[Number, Number] | None = None
    """None where the change is the same in every case: that says nothing about the spread between cases."""
    variance_between_cases: Number | None = None
    """What other cases would change; more tries leave it as it is. None with a single case or single tries."""
    variance_within_cases: Number | None = None
    """What other tries at the same cases would change; more tries make it smaller."""
    better: Count = 0
    """Cases with a larger share of right tries in ft than in the base."""
    worse: Count = 0
    same: Count = 0
    sign_p: Number | None = None
    """How likely so uneven a split into better and worse is, or a more uneven one, if both were equally likely."""
    pass_at_base: tuple[Number, ...] = ()
    """pass@k for k = 1, 2, ...: the chance that one of k tries or more is right, mean over cases."""
    pass_at_ft: tuple[Number, ...] = ()
    pass_all_base: tuple[Number, ...] = ()
    """pass^k for k = 1, 2, ...: the chance that all of k tries are right."""
    pass_all_ft: tuple[Number, ...] = ()
    flaky_base: tuple[str, ...] = ()
    """Cases that now come out right and now wrong in the base, and always the same in ft."""
    flaky_ft: tuple[str, ...] = ()
    """The other way round."""


class Tries(Part):
    """Several tries at each case, in both views."""

    cases: Count = 0
    tries: Count = 0
    """At each case; where they are not as many everywhere, the fewest."""
    valid: TriedRate = TriedRate()
    """Right is what is schema-valid."""
    exact: TriedRate = TriedRate()
    """Right is the call that was expected."""
    all_right: PairedTest | None = None
    """On cases, by whether every try is the call that was expected: the change in pass^k over all the tries."""
    method: str | None = None


def compare_tries(cases: Sequence[CaseTries], seed: int = 0) -> Tries:
    """Compare the views case by case."""
    if not cases:
        return Tries()
    fewest = min(len(tried.base) for tried in cases)
    return Tries(
        cases=len(cases),
        tries=fewest,
        valid=_rate(cases, lambda reading: reading.valid, fewest, seed),
        exact=_rate(cases, lambda reading: reading.exact, fewest, seed),
        all_right=paired_test(pair(*zip(*map(_all_exact, cases), strict=True))),
        method=METHOD,
    )


def pass_at(tries: int, right: int, k: int) -> float:
    """The chance that one of k tries or more is right, from `right` of all: unbiased for any k up to `tries`.

    Of all ways to pick k of the tries, the share that has a right one in it (Chen et al., 2021).
    """
    return 1 - math.comb(tries - right, k) / math.comb(tries, k)


def pass_all(tries: int, right: int, k: int) -> float:
    """The chance that all of k tries are right, from `right` of all: unbiased for any k up to `tries`.

    Of all ways to pick k of the tries, the share with right ones only (Yao et al., 2024).
    """
    return math.comb(right, k) / math.comb(tries, k)


def cluster_interval(changes: Sequence[float], seed: int) -> tuple[float, float] | None:
    """The 2.5 and 97.5 percentiles of the mean change when cases are drawn anew, with all their tries.

    None where all changes are the same: drawn anew, they still are.
    """
    counts = Counter(changes)
    if len(counts) < 2:
        return None

    # Here, because numpy alone would double the start time of commands that never resample.
    import numpy as np

    values, times = zip(*sorted(counts.items()), strict=True)
    # Cases with the same change are interchangeable, so it is enough to draw how many there are of each.
    drawn = np.random.default_rng(seed).multinomial(len(changes), np.array(times) / len(changes), RESAMPLES)
    means = drawn @ np.array(values) / len(changes)  # (resamples, values) -> (resamples,)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def _rate(cases: Sequence[CaseTries], is_right: Callable[[Reading], bool], fewest: int, seed: int) -> TriedRate:
    tables = [pair(map(is_right, tried.base), map(is_right, tried.ft)) for tried in cases]
    right_base = [(table.n, table.both + table.lost) for table in tables]
    right_ft = [(table.n, table.both + table.gained) for table in tables]
    changes = [(table.gained - table.lost) / table.n for table in tables]
    better, worse = sum(change > 0 for change in changes), sum(change < 0 for change in changes)
    between, within = _variances(tables, changes)
    upto = range(1, fewest + 1)
    return TriedRate(
        base=_mean(right / tries for tries, right in right_base),
        ft=_mean(right / tries for tries, right in right_ft),
        delta=_mean(changes),
        interval_95=cluster_interval(changes, seed),
        variance_between_cases=between,
        variance_within_cases=within,
        better=better,
        worse=worse,
        same=len(cases) - better - worse,
        sign_p=mcnemar_p(worse, better),
        pass_at_base=tuple(_mean(pass_at(*one, k) for one in right_base) for k in upto),
        pass_at_ft=tuple(_mean(pass_at(*one, k) for one in right_ft) for k in upto),
        pass_all_base=tuple(_mean(pass_all(*one, k) for one in right_base) for k in upto),
        pass_all_ft=tuple(_mean(pass_all(*one, k) for one in right_ft) for k in upto),
        flaky_base=_flaky(cases, right_base, right_ft),
        flaky_ft=_flaky(cases, right_ft, right_base),
    )


def _all_exact(tried: CaseTries) -> tuple[bool, bool]:
    base, ft = (all(reading.exact for reading in side) for side in (tried.base, tried.ft))
    return base, ft


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    # fsum, because sum() of floats rounds differently from Python 3.12 on.
    return math.fsum(known) / len(known)


def _variances(tables: Sequence[Paired], changes: Sequence[float]) -> tuple[float, float] | tuple[None, None]:
    """The variance of the mean change, split into what comes from the choice of cases and from the tries.

    The changes of the cases vary by both together. How much the tries add is seen inside of each case, in how the
    change differs from try to try: a view's tries are paired with the other's, so luck that both share cancels out. The
    rest is the cases'. It is an estimate, and where it would be negative it is 0.
    """
    if len(tables) < 2 or any(table.n < 2 for table in tables):
        return None, None
    middle = _mean(changes)
    total = math.fsum((change - middle) ** 2 for change in changes) / (len(changes) - 1) / len(changes)
    # Of one case: the changes of its tries are 1, -1 and 0, so lost and gained are also the sum of their squares.
    tries = [
        (table.lost + table.gained - table.n * change * change) / (table.n - 1) / table.n
        for table, change in zip(tables, changes, strict=True)
    ]
    within = _mean(tries) / len(tables)
    return max(0.0, total - within), within


def _flaky(
    cases: Sequence[CaseTries], here: Iterable[tuple[int, int]], there: Iterable[tuple[int, int]]
) -> tuple[str, ...]:
    return tuple(
        tried.case
        for tried, (tries, right), (_, right_there) in zip(cases, here, there, strict=True)
        if 0 < right < tries and right_there in (0, tries)
    )
