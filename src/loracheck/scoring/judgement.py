"""What a judgement holds, and the guard that keeps NaN and infinity out of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from .outcome import Reading

PASS: Final = "pass"  # noqa: S105 (a verdict, not a password)
FAIL: Final = "fail"
SKIP: Final = "skip"
ERROR: Final = "error"

Verdict = Literal["pass", "fail", "skip", "error"]

_NUMBERS = ("score", "raw", "z_score", "base_value", "ft_value", "ci_95")


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one adapter, with all that led to it."""

    verdict: Verdict
    score: float | None
    raw: float | None
    z_score: float | None
    base_value: float | None
    ft_value: float | None
    ci_95: tuple[float, float] | None
    message: str
    evidence: dict[str, Any]
    base: tuple[Reading, ...]
    ft: tuple[Reading, ...]


def keep_finite(judgement: Judgement) -> Judgement:
    """The same judgement without NaN or infinity, naming what was taken out.

    In `raw` they make the judgement an error. JSON has no such numbers, so they are kept as text.
    """
    numbers = {name: getattr(judgement, name) for name in _NUMBERS}
    evidence, nulled = _without_non_finite(judgement.evidence)
    if judgement.raw is not None and not math.isfinite(judgement.raw):
        evidence["non_finite_inputs"] = {
            name: value if _is_finite(value) else repr(value) for name, value in numbers.items()
        }
        kept: dict[str, Any] = dict.fromkeys(_NUMBERS)
        verdict: Verdict = ERROR
        message = f"the valid rate is {judgement.raw}, not a finite number"
    else:
        kept = {name: value if _is_finite(value) else None for name, value in numbers.items()}
        nulled = [name for name, value in numbers.items() if not _is_finite(value)] + nulled
        verdict, message = judgement.verdict, judgement.message
    if nulled:
        evidence["defensively_nulled"] = nulled
    return replace(judgement, verdict=verdict, message=message, evidence=evidence, **kept)


def _without_non_finite(values: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A copy with None for what is not finite, and the dotted names of those entries."""
    kept: dict[str, Any] = {}
    nulled: list[str] = []
    for name, value in values.items():
        if isinstance(value, dict):
            kept[name], inner = _without_non_finite(value)
            nulled += [f"{name}.{key}" for key in inner]
        elif _is_finite(value):
            kept[name] = value
        else:
            kept[name] = None
            nulled.append(name)
    return kept, nulled


def _is_finite(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_finite(item) for item in value)
    return not isinstance(value, float) or math.isfinite(value)
