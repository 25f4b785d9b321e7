"""The noise yardstick: what adapters of pure noise score, and how far above it a rate lies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MIN_STD = 1e-6


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


def calibrate(valid_counts: Sequence[int], cases_per_run: int, z_floor: float) -> Calibration:
    """From each run's number of valid answers to null statistics.

    `z_floor` is the z the verdict will ask for: noise so mild that even a perfect adapter could
    not reach it makes the calibration unusable.
    """
    if any(not 0 <= count <= cases_per_run for count in valid_counts):
        raise ValueError(f"valid counts {list(valid_counts)} do not fit {cases_per_run} cases")
    runs = len(valid_counts)
    total = runs * cases_per_run
    if total == 0:
        return Calibration(None, None, runs, usable=False, why="no null adapter answered any case")
    rates = tuple(count / cases_per_run for count in valid_counts)
    mean = math.fsum(rates) / runs
    spread = math.sqrt(math.fsum((rate - mean) ** 2 for rate in rates) / runs)
    # Rates of all 0 or all 1 have no spread of their own, so the binomial error of the share of
    # valid answers, drawn a little towards one half, is the least it can be.
    p = (sum(valid_counts) + 0.5) / (total + 1)
    std = max(spread, math.sqrt(p * (1 - p) / cases_per_run))
    best = (1 - mean) / std
    if best < z_floor:
        why = (
            f"noise adapters still give {mean:.0%} valid calls, so even a perfect adapter "
            f"would only reach z {best:+.1f}, under the limit of {z_floor:g}"
        )
        return Calibration(mean, std, runs, rates, usable=False, why=why)
    return Calibration(mean, std, runs, rates)


def deciding_rank(ranks: Iterable[float]) -> float:
    """Of several rank multipliers, the one nearest to the adapter's own rank; the smaller of two as near."""
    return min(sorted(ranks), key=lambda rank: abs(rank - 1))


def z_score(rate: float, calibration: Calibration | None) -> float | None:
    """How many noise standard deviations `rate` lies above noise; None when noise cannot tell."""
    if calibration is None or calibration.mean is None or calibration.std is None:
        return None
    if why_no_z(calibration) is not None:
        return None
    return (rate - calibration.mean) / calibration.std


def why_no_z(calibration: Calibration) -> str | None:
    """What keeps a calibration from giving a z, or None when it gives one."""
    if not calibration.usable:
        return calibration.why or "the calibration is not usable"
    if calibration.mean is None or calibration.std is None:
        return "the noise was not measured"
    if not (math.isfinite(calibration.mean) and math.isfinite(calibration.std)):
        return "the noise statistics are not finite"
    if calibration.std < MIN_STD:
        return f"the noise has no spread (standard deviation under {MIN_STD:g})"
    return None
