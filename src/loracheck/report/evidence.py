"""Reading evidence that may be old, newer, or edited by hand: what is of another kind is not there."""

from __future__ import annotations

import math
from typing import Any


def part(evidence: Any, *path: str) -> dict[str, Any]:
    """The part found by following `path`; empty where there is none."""
    for name in path:
        evidence = evidence.get(name) if isinstance(evidence, dict) else None
    return evidence if isinstance(evidence, dict) else {}


def number(value: Any) -> float | None:
    """A finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, float | int):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def count(value: Any) -> int | None:
    """A whole number of 0 or more that a report can print, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def ends(value: Any) -> tuple[float, float] | None:
    """The two ends of an interval, in order, or None."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        return None
    low, high = number(value[0]), number(value[1])
    return (low, high) if low is not None and high is not None and low <= high else None
