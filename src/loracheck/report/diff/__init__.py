"""Two reports side by side: what flipped, how sure that is, and whether the second is worse.

B is worse than A when, in a probe that both have,
- its adapter makes fewer valid calls on the cases that both asked, by more than B's limit allows
  (`assert_validity_delta_gte`);
- it calls more wrong tools than B's limit allows (`assert_hallucination_lte`) and A's did not;
- or its verdict is a fail or an error where A's was a pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from loracheck.errors import ReportError
from loracheck.probes.tool_use_words import paired_sentence
from loracheck.results import CaseReport, FileRecord, ProbeReport, Report
from loracheck.scoring.evidence import PairedTest
from loracheck.scoring.limits import check_limits
from loracheck.scoring.statistics import pair
from loracheck.scoring.verdict import paired_test
from loracheck.text import counted, percent, points

_GOOD, _BAD = ("pass", "warn"), ("fail", "error")


@dataclass(frozen=True, slots=True)
class Match:
    """One case in both reports; the answers compared are the adapters'."""

    a: CaseReport
    b: CaseReport

    @property
    def right(self) -> tuple[bool, bool]:
        return self.a.is_right(self.a.ft), self.b.is_right(self.b.ft)


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
        return tuple(match for match in self.matches if match.right == (True, False))

    @cached_property
    def mended(self) -> tuple[Match, ...]:
        return tuple(match for match in self.matches if match.right == (False, True))

    @property
    def only_a(self) -> list[str]:
        return _only(self.a.cases, self.b.cases)

    @property
    def only_b(self) -> list[str]:
        return _only(self.b.cases, self.a.cases)

    @cached_property
    def paired(self) -> PairedTest:
        """Valid calls of A's adapter against those of B's, where both reports asked for a call."""
        asked = [match for match in self.matches if "call" == match.a.expect == match.b.expect]
        return paired_test(pair([match.a.ft.valid for match in asked], [match.b.ft.valid for match in asked]))

    @property
    def in_words(self) -> str:
        return paired_sentence("Valid calls", self.paired)

    @property
    def worse(self) -> tuple[str, ...]:
        """Why B is worse; empty when it is not."""
        return tuple(self._worse())

    def _worse(self) -> Iterator[str]:
        limits = self.b.comparison.limits
        valid = check_limits(limits, delta=self.paired.delta, hallucination=None, z=None)["assert_validity_delta_gte"]
        if valid.kept is False:
            yield f"valid calls {points(valid.value)} on the shared cases, limit {points(valid.bound)}"
        before, after = (
            check_limits(limits, delta=each.validity_delta, hallucination=each.hallucination_rate, z=None)
            for each in (self.a.comparison, self.b.comparison)
        )
        was, wrong_names = before["assert_hallucination_lte"], after["assert_hallucination_lte"]
        if wrong_names.kept is False and was.kept is not False:
            change = f"limit {percent(wrong_names.bound)}; it was {percent(was.value)}"
            yield f"wrong tool names {percent(wrong_names.value)}, {change}"
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
    others = {probe.name: probe for probe in b.judged}
    probes = tuple(ProbeDiff(probe, others[probe.name]) for probe in a.judged if probe.name in others)
    if not any(probe.matches for probe in probes):
        raise ReportError(
            "the two reports have no case in common, so there is nothing to compare; "
            "cases are matched by the name of their probe and their id"
        )
    return Diff(a, b, probes, tuple(_differences(a, b, probes)))


def _only(here: Iterable[CaseReport], there: Iterable[CaseReport]) -> list[str]:
    known = {case.id for case in there}
    return [case.id for case in here if case.id not in known]


# Why the two may not be comparable: other models, cases, settings or machines


def _differences(a: Report, b: Report, probes: tuple[ProbeDiff, ...]) -> Iterator[str]:
    """What besides the adapter differs, the gravest first, a sentence each."""
    origins = a.provenance, b.provenance
    first, second = (origin.model for origin in origins)
    if [part.sha256 for part in first.parts or (first,)] != [part.sha256 for part in second.parts or (second,)]:
        yield f"the base models differ: {_file(first)} and {_file(second)}"
    below, above = (
        ", ".join(f"{_file(adapter)} at {adapter.scale}" for adapter in origin.base_adapters) or "none"
        for origin in origins
    )
    if below != above:
        yield f"the adapters of the base differ: {below} and {above}"
    for label, here, there in (("A", a, b), ("B", b, a)):
        names = {probe.name for probe in there.judged}
        if only := [probe.name for probe in here.judged if probe.name not in names]:
            yield f"probes in {label} alone: {', '.join(only)}"
    for probe in probes:
        yield from _case_differences(probe)
    before, after = (origin.settings for origin in origins)
    if keys := [key for key in {**before, **after} if before.get(key) != after.get(key)]:
        yield "settings differ: " + ", ".join(f"{key} {before.get(key)} and {after.get(key)}" for key in keys)
    for name, field in (("llama-cpp-python", "llama_cpp"), ("machine", "machine")):
        was, is_now = (getattr(origin, field) for origin in origins)
        if was != is_now:
            yield f"{name} differs: {was} and {is_now}"


def _case_differences(probe: ProbeDiff) -> Iterator[str]:
    name = probe.b.name
    for label, ids in (("A", probe.only_a), ("B", probe.only_b)):
        if ids:
            yield f"{name}: {counted(len(ids), 'case')} in {label} alone: {_some(ids)}"
    if asked := [match.a.id for match in probe.matches if match.a.prompt != match.b.prompt]:
        yield f"{name}: the same id, but another question in {counted(len(asked), 'case')}: {_some(asked)}"
    if sent := sum(match.a.prompt == match.b.prompt and match.a.sent != match.b.sent for match in probe.matches):
        yield f"{name}: other words around the question in {counted(sent, 'case')} (template, tools or system text)"
    if probe.a.comparison.limits != probe.b.comparison.limits:
        yield f"{name}: the limits differ; B's count here"


def _file(file: FileRecord) -> str:
    """Its name, and enough of its hash to tell it from another of that name."""
    return f"{file.name} ({(file.sha256 or 'unknown')[:12]})"


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:5]) + (" …" if len(ids) > 5 else "")
