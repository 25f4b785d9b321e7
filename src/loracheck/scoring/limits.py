"""What an adapter has to keep to, and whether it did. Every limit is judged here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from pydantic import StrictFloat

_SHARES = {
    "assert_hallucination_lte": "wrong tool names is over",
    "assert_exact_arguments_gte": "exact arguments is under",
    "assert_abstention_gte": "abstention is under",
    "assert_all_calls_gte": "answers with all their calls right is under",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """Named as in the suite file. The last four are judged only where they are given."""

    assert_validity_delta_gte: StrictFloat = -0.05
    assert_hallucination_lte: StrictFloat = 0.10
    assert_z_gte: StrictFloat = 3.0
    assert_exact_arguments_gte: StrictFloat | None = None
    assert_abstention_gte: StrictFloat | None = None
    assert_all_calls_gte: StrictFloat | None = None
    assert_pass_hat_k_delta_gte: StrictFloat | None = None


@dataclass(frozen=True, slots=True)
class LimitCheck:
    """One limit, and the number that is held against it."""

    value: float | None
    bound: float | None
    kept: bool | None
    """None where nothing is judged."""
    is_cap: bool = False
    """The most it may be; otherwise the limit is the least."""


def check_limits(
    limits: Limits,
    *,
    delta: float | None,
    hallucination: float | None,
    z: float | None,
    exact_arguments: float | None = None,
    abstention: float | None = None,
    all_calls: float | None = None,
    pass_hat_k_delta: float | None = None,
) -> dict[str, LimitCheck]:
    """Each limit by its name, in the order they are told. Argument disagreement never decides."""
    return {
        "assert_validity_delta_gte": _at_least(delta, limits.assert_validity_delta_gte),
        # Where no call was asked for, there is no name that could be wrong.
        "assert_hallucination_lte": _at_most(None if delta is None else hallucination, limits.assert_hallucination_lte),
        "assert_z_gte": _at_least(z, limits.assert_z_gte),
        "assert_exact_arguments_gte": _at_least(exact_arguments, limits.assert_exact_arguments_gte),
        "assert_abstention_gte": _at_least(abstention, limits.assert_abstention_gte),
        "assert_all_calls_gte": _at_least(all_calls, limits.assert_all_calls_gte),
        "assert_pass_hat_k_delta_gte": _at_least(pass_hat_k_delta, limits.assert_pass_hat_k_delta_gte),
    }


def missed_in_words(checks: Mapping[str, LimitCheck]) -> list[str]:
    """One clause for each limit that was missed."""
    return [
        _missed(name, check.value, check.bound)
        for name, check in checks.items()
        if check.kept is False and check.value is not None and check.bound is not None
    ]


def is_exactly_at(gained: int, lost: int, cases: int, floor: float) -> bool:
    """Whether the change is the limit itself, as written: then the rounding of floats decides, which is the rule."""
    return bool(cases) and Fraction(gained - lost, cases) == Fraction(repr(floor))


def percent(share: float) -> str:
    return f"{100 * share:.1f}".removesuffix(".0") + "%"


def _at_least(value: float | None, bound: float | None) -> LimitCheck:
    return LimitCheck(value, bound, None if value is None or bound is None else value >= bound)


def _at_most(value: float | None, bound: float) -> LimitCheck:
    return LimitCheck(value, bound, None if value is None else value <= bound, is_cap=True)


def _missed(name: str, value: float, bound: float) -> str:
    if name in _SHARES:
        return f"{percent(value)} {_SHARES[name]} the limit of {percent(bound)}"
    if name == "assert_z_gte":
        return f"z {value:+.2f} is under the limit of {bound:g}"
    delta, limit = f"{100 * value:+.1f}", f"{100 * bound:+.1f}"
    if delta == limit:
        # 0.95 - 1.0 lies a rounding error under -0.05, and "-5.0 is under -5.0" would read like a mistake.
        delta = f"{100 * value:+.17g}"
    what = "pass^k" if name == "assert_pass_hat_k_delta_gte" else "delta"
    return f"{what} {delta} points is under the limit of {limit}"
