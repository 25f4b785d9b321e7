"""Two sets of answers in, one verdict out."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from .calibrate import deciding_rank, why_no_z, z_score
from .dialects import PLAIN
from .interval import bootstrap_ci_95
from .judgement import FAIL, PASS, SKIP, Judgement, keep_finite
from .outcome import read_answer
from .rates import measure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .calibrate import Calibration
    from .outcome import Answer, Expectation
    from .rates import Rates


@dataclass(frozen=True, slots=True)
class Limits:
    """What an adapter has to keep to."""

    validity_delta_gte: float = -0.05
    hallucination_lte: float = 0.10
    z_gte: float = 3.0


_DEFAULT_LIMITS = Limits()


def judge(
    expectations: Sequence[Expectation],
    base: Sequence[Answer],
    ft: Sequence[Answer],
    *,
    calibrations: Mapping[float, Calibration] | None = None,
    no_calibration_why: str | None = None,
    allowed_tools: Sequence[str] | None = None,
    limits: Limits = _DEFAULT_LIMITS,
    seed: int = 0,
    dialect: str = PLAIN,
) -> Judgement:
    """Judge the ft view against the base view, answer by answer in the order of the cases.

    `calibrations` is keyed by the null adapters' rank multiplier; the one nearest to 1 decides.
    """
    if not len(expectations) == len(base) == len(ft):
        raise ValueError(
            f"{len(expectations)} cases, {len(base)} base and {len(ft)} ft answers: there must be as many of each"
        )
    allowed = None if allowed_tools is None else frozenset(allowed_tools)
    base_readings, ft_readings = (
        tuple(read_answer(case, answer, allowed, dialect) for case, answer in zip(expectations, answers, strict=True))
        for answers in (base, ft)
    )
    rates = measure(base_readings, ft_readings)
    by_rank = dict(sorted((calibrations or {}).items()))
    calibration = by_rank[deciding_rank(by_rank)] if by_rank else None
    why = (no_calibration_why or "none was run") if calibration is None else why_no_z(calibration)
    raw = rates.json_valid_rate_ft
    z = None if raw is None else z_score(raw, calibration)
    missed = _missed_limits(rates, z, limits)
    return keep_finite(
        Judgement(
            verdict=SKIP if not expectations else FAIL if missed else PASS,
            score=_score(rates, z),
            raw=raw,
            z_score=z,
            base_value=rates.json_valid_rate_base,
            ft_value=raw,
            ci_95=bootstrap_ci_95([reading.valid for reading in ft_readings], seed),
            message=_message(rates, z, why, missed),
            evidence={
                **asdict(rates),
                "z_by_rank": _z_by_rank(raw, by_rank),
                "null": _null_evidence(calibration, why),
            },
            base=base_readings,
            ft=ft_readings,
        )
    )


def _missed_limits(rates: Rates, z: float | None, limits: Limits) -> list[str]:
    """One clause for each limit that was missed. Argument disagreement never decides."""
    missed = []
    delta = rates.validity_delta
    if delta is not None and not delta >= limits.validity_delta_gte:
        shown, limit = f"{100 * delta:+.1f}", f"{100 * limits.validity_delta_gte:+.1f}"
        if shown == limit:
            # 0.95 - 1.0 lies a rounding error under -0.05, and "-5.0 is under -5.0" would read like a mistake.
            shown = f"{100 * delta:+.17g}"
        missed.append(f"delta {shown} points is under the limit of {limit}")
    if not rates.hallucination_rate <= limits.hallucination_lte:
        missed.append(
            f"{_percent(rates.hallucination_rate)} wrong tool names is over the limit of "
            f"{_percent(limits.hallucination_lte)}"
        )
    if z is not None and not z >= limits.z_gte:
        missed.append(f"z {z:+.2f} is under the limit of {limits.z_gte:g}")
    return missed


def _score(rates: Rates, z: float | None) -> float | None:
    if rates.validity_delta is None:
        return None
    raw_score = min(max(1 + rates.validity_delta, 0.0), 1.0) * max(0.0, 1 - rates.hallucination_rate)
    if z is None:
        return raw_score
    sigmoid = 1 / (1 + math.exp(-min(max(z / 3, -50.0), 50.0)))
    return 0.7 * raw_score + 0.3 * sigmoid


def _message(rates: Rates, z: float | None, why: str | None, missed: list[str]) -> str:
    base, ft, delta = rates.json_valid_rate_base, rates.json_valid_rate_ft, rates.validity_delta
    if base is None or ft is None or delta is None:
        return "no cases to judge"
    noise = f"no calibration: {why}" if z is None else f"z {z:+.1f} against noise"
    message = (
        f"ft {_percent(ft)} valid, base {_percent(base)}, delta {100 * delta:+.1f} points, "
        f"{_percent(rates.hallucination_rate)} wrong tool names, {noise}"
    )
    return f"{message}; missed: {' and '.join(missed)}" if missed else message


def _percent(share: float) -> str:
    return f"{100 * share:.1f}".removesuffix(".0") + "%"


def _z_by_rank(rate: float | None, calibrations: Mapping[float, Calibration]) -> dict[str, float] | None:
    if rate is None:
        return None
    scores = {f"rank_{rank:.2f}": z_score(rate, each) for rank, each in calibrations.items()}
    return {name: z for name, z in scores.items() if z is not None} or None


def _null_evidence(calibration: Calibration | None, why: str | None) -> dict[str, Any]:
    if calibration is None:
        return {"mean": None, "std": None, "n": 0, "rates": [], "usable": False, "why": why}
    return {
        "mean": calibration.mean,
        "std": calibration.std,
        "n": calibration.n,
        "rates": list(calibration.rates),
        "usable": calibration.usable and why is None,
        "why": why,
    }
