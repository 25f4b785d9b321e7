"""How sure a verdict is: where the 95 % interval of each number lies from the limit it is held against."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from loracheck.scoring.calibrate import Calibration, z_score
from loracheck.scoring.limits import LimitCheck
from loracheck.scoring.outcome import Reading
from loracheck.scoring.statistics import SIGNIFICANT, mcnemar_p, pair, wilson

if TYPE_CHECKING:
    from loracheck.scoring.paired_test import PairedTest
    from loracheck.scoring.verdict import Trial

Grade: TypeAlias = Literal["established", "real_drop", "may_be_chance"]

GRADES: Final[dict[Grade, str]] = {
    "established": "established",
    "real_drop": "a real drop, size unsure",
    "may_be_chance": "may be chance",
}
"""In words, the surest first."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How far a number may be from what was measured."""

    interval_95: tuple[float, float]
    is_real_drop: bool
    """The cases themselves show that the adapter does worse than its base, by whatever much."""


def spreads_of(
    trials: Sequence[Trial],
    validity: PairedTest | None,
    calibration: Calibration | None,
    all_tries: PairedTest | None = None,
) -> dict[str, Spread]:
    """That of the number which each limit is about, by the limit's name, where there is one."""
    asked, quiet = ([trial for trial in trials if trial.expects_call is expects] for expects in (True, False))
    change = _of_change(validity)
    fell = change is not None and change.is_real_drop
    spreads = {
        "assert_validity_delta_gte": change,
        "assert_hallucination_lte": _of_the_wrong(_spread(asked, _names_right)),
        "assert_z_gte": _above_nulls(_spread(asked, lambda side: side.valid), calibration, fell),
        "assert_exact_arguments_gte": _spread(asked, lambda side: side.arguments_correct),
        "assert_abstention_gte": _spread(quiet, lambda side: side.outcome == "no_call"),
        "assert_all_calls_gte": _spread(asked, _all_calls_right),
        "assert_pass_hat_k_delta_gte": _of_change(all_tries),
    }
    return {name: spread for name, spread in spreads.items() if spread}


def _of_change(test: PairedTest | None) -> Spread | None:
    interval = test.interval_95 if test else None
    return Spread(interval, interval[1] < 0) if interval else None


def _names_right(side: Reading) -> bool | None:
    return side.outcome != "wrong_tool" if side.valid else None


def _all_calls_right(side: Reading) -> bool | None:
    return side.matched.right if side.matched else None


def _spread(trials: Sequence[Trial], is_right: Callable[[Reading], bool | None]) -> Spread | None:
    """Of the adapter's share of right answers; None where there is nothing to be right in."""
    flags = [(is_right(trial.base), is_right(trial.ft)) for trial in trials]
    known = [ft for _, ft in flags if ft is not None]
    if not known:
        return None
    both = [(base, ft) for base, ft in flags if base is not None and ft is not None]
    change = pair((base for base, _ in both), (ft for _, ft in both))
    fell = change.lost > change.gained and mcnemar_p(change.lost, change.gained) < SIGNIFICANT
    return Spread(wilson(sum(known) / len(known), len(known)), fell)


def _of_the_wrong(right: Spread | None) -> Spread | None:
    return right and replace(right, interval_95=(1 - right.interval_95[1], 1 - right.interval_95[0]))


def _above_nulls(valid: Spread | None, calibration: Calibration | None, fell: bool) -> Spread | None:
    """Of z. How sure the null adapters' own figures are is left out: these are the yardstick."""
    if valid is None:
        return None
    low, high = (z_score(end, calibration) for end in valid.interval_95)
    return None if low is None or high is None else Spread((low, high), fell)


def grade_of_limit(check: LimitCheck, spread: Spread) -> Grade | None:
    """None where nothing is judged."""
    if check.kept is None or check.bound is None:
        return None
    if check.is_cap and check.kept and check.value == 0:
        # Nothing at all speaks against it, however few the cases are.
        return "established"
    low, high = spread.interval_95
    in_doubt = low <= check.bound < high if check.is_cap else low < check.bound <= high
    return "established" if not in_doubt else "real_drop" if spread.is_real_drop else "may_be_chance"


def grade_of_verdict(checks: Mapping[str, LimitCheck], grades: Mapping[str, Grade]) -> Grade | None:
    """One missed limit makes a FAIL, so its surest one counts; for a PASS none may be in doubt."""
    missed, kept = (
        [grades[name] for name, check in checks.items() if check.kept is kept and name in grades]
        for kept in (False, True)
    )
    decisive = missed or [grade for grade in kept if grade != "established"] or kept
    return min(decisive, key=list(GRADES).index, default=None)
