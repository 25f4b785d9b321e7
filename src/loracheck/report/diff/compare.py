"""Two reports side by side: what flipped, how sure that is, and whether the second is worse.

B is worse than A when, in a probe that both have,
- its adapter makes fewer valid calls on the cases that both asked, by more than B's limit allows
  (`assert_validity_delta_gte`, -0.05 where the report has none);
- it calls more wrong tools than B's cap allows (`assert_hallucination_lte`, 0.10) and A's did not;
- or its verdict is a fail or an error where A's was a pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from loracheck.errors import ReportError
from loracheck.report.diff.differences import differences
from loracheck.report.evidence import number, part
from loracheck.report.judged import is_right, judged_probes
from loracheck.report.statements import paired_sentence
from loracheck.report.text import percent, points
from loracheck.scoring.paired import Paired, delta_interval, mcnemar_p, pair
from loracheck.scoring.verdict import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loracheck.report.model import CaseReport, ProbeReport, Report

_GOOD, _BAD = ("pass", "warn"), ("fail", "error")
_DEFAULTS = Limits()


@dataclass(frozen=True, slots=True)
class Match:
    """One case in both reports; the answers compared are the adapters'."""

    a: CaseReport
    b: CaseReport

    @property
    def broke(self) -> bool:
        return is_right(self.a, self.a.ft) and not is_right(self.b, self.b.ft)

    @property
    def mended(self) -> bool:
        return not is_right(self.a, self.a.ft) and is_right(self.b, self.b.ft)


@dataclass(frozen=True)
class ProbeDiff:
    a: ProbeReport
    b: ProbeReport

    @cached_property
    def matches(self) -> tuple[Match, ...]:
        others = {case.id: case for case in self.b.cases}
        return tuple(Match(case, others[case.id]) for case in self.a.cases if case.id in others)

    @cached_property
    def broke(self) -> tuple[Match, ...]:
        return tuple(match for match in self.matches if match.broke)

    @cached_property
    def mended(self) -> tuple[Match, ...]:
        return tuple(match for match in self.matches if match.mended)

    @property
    def only_a(self) -> tuple[str, ...]:
        return _missing(self.a, self.b)

    @property
    def only_b(self) -> tuple[str, ...]:
        return _missing(self.b, self.a)

    @cached_property
    def paired(self) -> Paired:
        """Valid calls of A's adapter against those of B's, where a call was asked for."""
        asked = [match for match in self.matches if "call" == match.a.expect == match.b.expect]
        return pair([match.a.ft.valid for match in asked], [match.b.ft.valid for match in asked])

    @property
    def mcnemar_p(self) -> float:
        return mcnemar_p(self.paired.lost, self.paired.gained)

    @property
    def interval(self) -> tuple[float, float] | None:
        return delta_interval(self.paired)

    @property
    def in_words(self) -> str:
        paired = self.paired
        return paired_sentence(paired.lost, paired.gained, paired.n, self.mcnemar_p, paired.delta, self.interval)

    @property
    def worse(self) -> tuple[str, ...]:
        """Why B is worse; empty when it is not."""
        return tuple(self._worse())

    def _worse(self) -> Iterator[str]:
        limits = part(self.b.evidence, "limits")
        floor = _or(limits.get("assert_validity_delta_gte"), _DEFAULTS.validity_delta_gte)
        cap = _or(limits.get("assert_hallucination_lte"), _DEFAULTS.hallucination_lte)
        delta = self.paired.delta
        if delta is not None and delta < floor:
            yield f"valid calls {points(delta)} on the shared cases, limit {points(floor)}"
        before, after = (number(probe.evidence.get("hallucination_rate")) or 0.0 for probe in (self.a, self.b))
        if after > cap >= before:
            yield f"wrong tool names {percent(after)}, limit {percent(cap)}; it was {percent(before)}"
        if self.a.verdict in _GOOD and self.b.verdict in _BAD:
            yield f"the verdict was {self.a.verdict} and is {self.b.verdict}"


@dataclass(frozen=True, slots=True)
class Diff:
    a: Report
    b: Report
    probes: tuple[ProbeDiff, ...]
    differences: tuple[str, ...]
    """What else differs, so that the two are not, or not quite, to be compared."""

    @property
    def worse(self) -> tuple[str, ...]:
        return tuple(f"{probe.b.name}: {why}" for probe in self.probes for why in probe.worse)


def diff(a: Report, b: Report) -> Diff:
    """Probes are matched by name and cases by id; ReportError when the two have no case in common."""
    others = {probe.name: probe for probe in judged_probes(b)}
    probes = tuple(ProbeDiff(probe, others[probe.name]) for probe in judged_probes(a) if probe.name in others)
    if not any(probe.matches for probe in probes):
        raise ReportError(
            "the two reports have no case in common, so there is nothing to compare; "
            "cases are matched by the name of their probe and their id"
        )
    return Diff(a, b, probes, tuple(differences(a, b, probes)))


def _missing(here: ProbeReport, there: ProbeReport) -> tuple[str, ...]:
    known = {case.id for case in there.cases}
    return tuple(case.id for case in here.cases if case.id not in known)


def _or(value: Any, default: float) -> float:
    found = number(value)
    return default if found is None else found
