"""The numbers that the plots show; the templates draw them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from loracheck.results import ProbeReport
from loracheck.scoring.paired_test import PairedTest
from loracheck.scoring.statistics import wilson

_REACHES = (0.1, 0.25, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Rate:
    share: float
    interval: tuple[float, float] | None
    """Of 95 %; None where nobody knows how many cases there were."""


def measures(probe: ProbeReport) -> dict[str, tuple[Rate, Rate]]:
    """What is a rate in both views, the base's first."""
    evidence, asked = probe.comparison, probe.asked
    n = len(asked) or evidence.num_cases or 0
    golden = sum(case.ft.arguments_correct is not None for case in asked)
    right_base, right_adapter = (
        evidence.outcomes[view].get("valid", 0) / n if n and view in evidence.outcomes else None
        for view in ("base", "ft")
    )
    return {
        name: (Rate(base, wilson(base, of) if of else None), Rate(adapter, wilson(adapter, of) if of else None))
        for name, base, adapter, of in (
            ("Valid calls", probe.base_value, probe.ft_value, n),
            ("Valid calls of the right tool", right_base, right_adapter, n),
            (
                "With exactly the right arguments",
                evidence.exact_arguments_base,
                evidence.exact_arguments_ft,
                golden,
            ),
        )
        if base is not None and adapter is not None and 0 <= base <= 1 and 0 <= adapter <= 1
    }


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed case by case, on a scale as wide on both sides of zero, and round."""

    tests: dict[str, PairedTest]
    reach: float

    @property
    def labels(self) -> list[str]:
        """Of the scale's five ticks."""
        return [f"{100 * self.reach * share:+g}" if share else "0" for share in (-1, -0.5, 0, 0.5, 1)]


def changes(probe: ProbeReport) -> Changes | None:
    paired, limit = probe.comparison.paired, probe.comparison.limits.assert_validity_delta_gte
    tests = {"Valid calls": paired.validity, "Exact calls": paired.exact_call}
    if paired.validity and paired.exact_call and paired.validity.counts == paired.exact_call.counts:
        del tests["Exact calls"]
    known = {name: test for name, test in tests.items() if test and test.delta is not None and test.interval_95}
    if not known:
        return None
    farthest = max(abs(each or 0) for test in known.values() for each in (limit, test.delta, *(test.interval_95 or ())))
    return Changes(known, next((reach for reach in _REACHES if reach >= farthest), 1.0))


def null_dots(probe: ProbeReport) -> list[tuple[float, int]]:
    """The null adapters' shares of valid calls, each with how many equal ones lie under it; empty without a scale."""
    null = probe.comparison.null
    if null.mean is None or null.std is None or null.std < 0 or probe.ft_value is None:
        return []
    shares = sorted(null.rates or ())
    return [(share, place - bisect_left(shares, share)) for place, share in enumerate(shares)]
