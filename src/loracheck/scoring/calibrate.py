"""The yardstick: what null adapters score, how far above it a rate lies, and whether chance would do as well."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pydantic import StrictInt

MIN_STD = 1e-6


@dataclass(frozen=True, slots=True)
class NullSample:
    """How the null adapters of one rank multiplier answered: valid calls of each run, out of `cases`."""

    valid: tuple[StrictInt, ...]
    cases: StrictInt

    def __post_init__(self) -> None:
        if any(not 0 <= count <= self.cases for count in self.valid):
            raise ValueError(f"valid counts {list(self.valid)} do not fit {self.cases} cases")


@dataclass(frozen=True, slots=True)
class Calibration:
    """The valid rates of the null adapters, one a run, and their statistics."""

    mean: float | None
    std: float | None
    n: int
    """How many null adapters ran."""
    rates: tuple[float, ...] = ()
    usable: bool = True
    why: str | None = None
    """Why it is not usable."""


def calibrate(sample: NullSample, z_floor: float) -> Calibration:
    """From each run's number of valid answers to null statistics that the verdict can use, or not.

    `z_floor` is the z the verdict will ask for.
    """
    runs = len(sample.valid)
    total = runs * sample.cases
    if total == 0:
        return Calibration(None, None, runs, usable=False, why="no null adapter answered any case")
    rates = tuple(count / sample.cases for count in sample.valid)
    mean = math.fsum(rates) / runs
    spread = math.sqrt(math.fsum((rate - mean) ** 2 for rate in rates) / runs)
    # Rates of all 0 or all 1 have no spread of their own, so the binomial error of the share of
    # valid answers, drawn a little towards one half, is the least it can be.
    p = (sum(sample.valid) + 0.5) / (total + 1)
    std = max(spread, math.sqrt(p * (1 - p) / sample.cases))
    return unless_saturated(Calibration(mean, std, runs, rates), z_floor)


def unless_saturated(calibration: Calibration, z_floor: float) -> Calibration:
    """Null adapters so harmless that even a perfect adapter could not reach the floor make it unusable."""
    if calibration.mean is None or calibration.std is None or why_no_z(calibration):
        return calibration
    best = (1 - calibration.mean) / calibration.std
    if best >= z_floor:
        return calibration
    why = (
        f"null adapters still give {calibration.mean:.0%} valid calls, so even a perfect adapter "
        f"would only reach z {best:+.1f}, under the limit of {z_floor:g}"
    )
    return replace(calibration, usable=False, why=why)


def unless_base_falls_short(
    calibration: Calibration, base_rate: float | None, rate: float | None, z_floor: float
) -> Calibration:
    """A base that makes valid calls and misses the floor itself excuses an adapter that misses it too."""
    base_z, z = z_score(base_rate, calibration), z_score(rate, calibration)
    if not base_rate or base_z is None or z is None or base_z >= z_floor or z >= z_floor:
        return calibration
    # Rounded down: 2.97 must not read like a 3.0 that is under 3.
    why = f"the base itself is only z = {math.floor(10 * base_z) / 10:.1f} above the nulls"
    return replace(calibration, usable=False, why=why)


def rank_name(rank: float) -> str:
    """A rank multiplier as reports have it."""
    return f"rank_{rank:.2f}"


def exact_rank_name(rank: float) -> str:
    """With all its digits: whoever judges again needs the multiplier itself."""
    name = rank_name(rank)
    return name if float(name.removeprefix("rank_")) == rank else f"rank_{float(rank)!r}"


def deciding_rank(ranks: Iterable[float]) -> float:
    """Of several rank multipliers, the one nearest to the adapter's own rank; the smaller of two as near."""
    return min(sorted(ranks), key=lambda rank: abs(rank - 1))


def z_score(rate: float | None, calibration: Calibration | None) -> float | None:
    """How many of their standard deviations `rate` lies above the null adapters; None when they cannot tell."""
    if rate is None or calibration is None or why_no_z(calibration):
        return None
    if calibration.mean is None or calibration.std is None:
        return None
    return (rate - calibration.mean) / calibration.std


def why_no_z(calibration: Calibration) -> str | None:
    """What keeps a calibration from giving a z, or None when it gives one."""
    if not calibration.usable:
        return calibration.why or "the calibration is not usable"
    if calibration.mean is None or calibration.std is None:
        return "the null adapters were not measured"
    if not (math.isfinite(calibration.mean) and math.isfinite(calibration.std)):
        return "the statistics of the null adapters are not finite"
    if calibration.std < MIN_STD:
        return f"the null adapters' rates have no spread (standard deviation under {MIN_STD:g})"
    return None


def null_p_value(ft_valid: int, ft_n: int, null_valid: int, null_n: int) -> float | None:
    """The chance that ft has at least this many of all the valid answers if it is no better than null adapters.

    Fisher's exact test, one-sided; None when either side has no answers.
    """
    if not (0 <= ft_valid <= ft_n and 0 <= null_valid <= null_n):
        raise ValueError(f"{ft_valid} of {ft_n} and {null_valid} of {null_n} valid answers: more valid than answers")
    if not ft_n or not null_n:
        return None
    if ft_valid * null_n > null_valid * ft_n:
        return _at_least(ft_valid, ft_n, null_valid, null_n)
    # Under the mean the other tail is the short one; in it, few valid answers are many invalid ones.
    fewer = ft_valid - 1
    return 1.0 if fewer < 0 else 1 - _at_least(ft_n - fewer, ft_n, null_n - null_valid - 1, null_n)


def _at_least(ft: int, ft_n: int, null: int, null_n: int) -> float:
    """P(X >= ft) for the hypergeometric X with ft + null hits in all, ft at or above its mean."""
    hits = ft + null
    if null < 0:
        return 0.0
    tail = term = math.comb(ft_n, ft) * math.comb(null_n, null) / math.comb(ft_n + null_n, hits)
    for k in range(ft, min(ft_n, hits)):
        term *= (ft_n - k) * (hits - k) / ((k + 1) * (null_n - hits + k + 1))
        tail += term
        if term < tail * 1e-17:
            break
    return min(1.0, tail)
