"""What the plots show: the templates only draw it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loracheck.report.evidence import count, ends, number, part
from loracheck.report.html.cases import called
from loracheck.report.html.evidence import rate
from loracheck.report.html.scale import Scale, scale_for, stacked, wilson
from loracheck.report.html.statistics import p_value, paired

if TYPE_CHECKING:
    from loracheck.report.html.scale import Dot, Mark
    from loracheck.report.model import ProbeReport


@dataclass(frozen=True, slots=True)
class Measure:
    """A rate in both views, with its 95 % interval."""

    name: str
    base_rate: float
    ft_rate: float
    base: Mark
    ft: Mark


@dataclass(frozen=True, slots=True)
class Change:
    name: str
    delta: float
    interval: tuple[float, float]
    mark: Mark


@dataclass(frozen=True, slots=True)
class Changes:
    lines: tuple[Change, ...]
    ticks: tuple[tuple[int, str], ...]
    limit: float | None
    limit_at: float | None


@dataclass(frozen=True, slots=True)
class Noise:
    dots: tuple[Dot, ...]
    band: Mark
    mean: float
    std: float
    ft_rate: float
    ft_at: float
    needed: float | None
    """The rate at which z keeps its limit."""
    needed_at: float | None
    p: str | None


def measures(probe: ProbeReport) -> list[Measure]:
    evidence, cases = probe.evidence, called(probe.cases)
    n = len(cases) or count(evidence.get("num_cases")) or 0
    golden = sum(case.ft.arguments_correct is not None for case in cases)
    exact_base, exact_ft = evidence.get("exact_arguments_base"), evidence.get("exact_arguments_ft")
    found = (
        _measure("Valid calls", probe.base_value, probe.ft_value, n),
        _measure("Valid calls of the right tool", _right(probe, n, "base"), _right(probe, n, "ft"), n),
        _measure("With exactly the right arguments", exact_base, exact_ft, golden),
    )
    return [measure for measure in found if measure]


def _measure(name: str, base: Any, ft: Any, n: int) -> Measure | None:
    before, after = rate(base), rate(ft)
    if before is None or after is None:
        return None
    marks = (Scale().mark(share, wilson(share, n) if n else None) for share in (before, after))
    return Measure(name, before, after, *marks)


def _right(probe: ProbeReport, n: int, side: str) -> float | None:
    """The share of a view's answers that are valid and of the right tool."""
    outcomes = part(probe.evidence, "outcomes", side)
    return (count(outcomes.get("valid")) or 0) / n if outcomes and n else None


def changes(probe: ProbeReport) -> Changes | None:
    found = [
        (name, delta, between)
        for name, counted in paired(probe).items()
        if (delta := number(counted.get("delta"))) is not None
        and (between := ends(counted.get("interval_95"))) is not None
    ]
    if not found:
        return None
    limit = number(part(probe.evidence, "limits").get("assert_validity_delta_gte"))
    values = [value for _, delta, between in found for value in (delta, *between)]
    scale = scale_for(values if limit is None else [*values, limit])
    return Changes(
        tuple(Change(name, delta, between, scale.mark(delta, between)) for name, delta, between in found),
        tuple((at, _tick(scale.high * (at - 50) / 50)) for at in (0, 25, 50, 75, 100)),
        limit,
        None if limit is None else scale.at(limit),
    )


def _tick(value: float) -> str:
    return f"{100 * value:+g}".replace("-", "−") if value else "0"


def noise(probe: ProbeReport) -> Noise | None:
    null = part(probe.evidence, "null")
    mean, std, ft = rate(null.get("mean")), number(null.get("std")), rate(probe.ft_value)
    rates = null.get("rates")
    samples = [found for each in rates if (found := rate(each)) is not None] if isinstance(rates, list | tuple) else []
    if mean is None or std is None or std < 0 or ft is None or not samples:
        return None
    floor, p = number(part(probe.evidence, "limits").get("assert_z_gte")), rate(null.get("p_value"))
    needed = mean + floor * std if floor is not None and probe.z_score is not None else None
    scale = Scale()
    return Noise(
        dots=stacked(samples),
        band=scale.mark(mean, (mean - std, mean + std)),
        mean=mean,
        std=std,
        ft_rate=ft,
        ft_at=scale.at(ft),
        needed=needed if needed is not None and needed <= 1 else None,
        needed_at=scale.at(needed) if needed is not None and needed <= 1 else None,
        p=None if p is None else p_value(p),
    )
