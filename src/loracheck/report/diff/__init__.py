"""Two reports side by side: what flipped, how sure that is, and whether the second is worse.

Both are judged by what `check` counts, on the shared cases alone: those that both reports asked. B is worse than A
when, in a probe that both have,
- its valid calls, adapter less base, are fewer than A's by more than B's limit allows (`assert_validity_delta_gte`);
- it names more wrong tools than A does, and more than B's limit allows (`assert_hallucination_lte`);
- or its verdict is a fail or an error where A's was a pass.
It is better where A would be worse than B. Beside each stands the chance of such flips (exact McNemar test of the two
adapters' answers): a few cases may flip either way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loracheck.errors import ReportError
from loracheck.report.diff.probe import Match, ProbeDiff
from loracheck.results import FileRecord, Report
from loracheck.text import counted

__all__ = ["Diff", "Match", "ProbeDiff", "diff"]


@dataclass(frozen=True, slots=True)
class Diff:
    a: Report
    b: Report
    probes: tuple[ProbeDiff, ...]
    differences: tuple[str, ...]
    """What else differs, so that the two are not, or not quite, to be compared."""

    @property
    def compared(self) -> tuple[str, str]:
        """What each of the reports checked against what."""
        a, b = (" against ".join(report.provenance.compared) for report in (self.a, self.b))
        return a, b

    @property
    def worse(self) -> tuple[str, ...]:
        return tuple(f"{probe.b.name}: {why}" for probe in self.probes for why in probe.worse)

    @property
    def better(self) -> tuple[str, ...]:
        return tuple(f"{probe.b.name}: {why}" for probe in self.probes for why in probe.better)


def diff(a: Report, b: Report) -> Diff:
    """Probes are matched by name, cases by id and question; ReportError when the two have no case in common."""
    if a.redacted != b.redacted:
        raise ReportError(
            "one of the two reports is redacted and the other is not, so their cases cannot be matched; "
            "`loracheck report --redact` redacts the other one too"
        )
    others = {probe.name: probe for probe in b.judged}
    probes = tuple(ProbeDiff(probe, others[probe.name]) for probe in a.judged if probe.name in others)
    if not any(probe.matches for probe in probes):
        raise ReportError(
            "the two reports have no case in common, so there is nothing to compare; "
            "cases are matched by the name of their probe, their id and their question"
        )
    return Diff(a, b, probes, tuple(_differences(a, b, probes)))


# Why the two may not be comparable: other models, cases, settings or machines


def _differences(a: Report, b: Report, probes: tuple[ProbeDiff, ...]) -> Iterator[str]:
    """What besides the adapter differs, the gravest first, a sentence each."""
    origins = a.provenance, b.provenance
    if a.redacted or b.redacted:
        yield "the reports are redacted: cases are matched by number, so both must have asked the same in one order"
    first, second = (origin.model for origin in origins)
    if first.hashes != second.hashes:
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
    # What the base was quantized to is what was checked, like an adapter.
    if keys := [key for key in {**before, **after} if before.get(key) != after.get(key) and key != "quantize"]:
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
    if other := [match.a.id for match in probe.same_ids if not match.is_same_question]:
        left_out = f"{counted(len(other), 'case')}, left out here"
        yield f"{name}: the same id, but another question or another tool expected in {left_out}: {_some(other)}"
    if sent := sum(match.a.sent != match.b.sent for match in probe.matches):
        yield f"{name}: other words around the question in {counted(sent, 'case')} (template, tools or system text)"
    if ids := probe.base_flips:
        what = f"the base itself answers otherwise in {counted(len(ids), 'case')}"
        yield f"{name}: {what}; p and interval are of the {probe.subject}s' answers alone: {_some(ids)}"
    if probe.a.comparison.allowed_tools != probe.b.comparison.allowed_tools:
        yield f"{name}: allowed_tools differ, and with them what a wrong tool name is"
    if probe.a.comparison.limits != probe.b.comparison.limits:
        yield f"{name}: the limits differ; B's count here"


def _file(file: FileRecord) -> str:
    """Its name, and enough of its hash to tell it from another of that name."""
    return f"{file.name} ({(file.sha256 or 'unknown')[:12]})"


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:5]) + (" …" if len(ids) > 5 else "")
