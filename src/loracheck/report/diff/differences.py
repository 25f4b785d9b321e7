"""Why two reports may not be comparable: other models, cases, settings or machines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from loracheck.report.evidence import part
from loracheck.report.judged import judged_probes
from loracheck.report.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loracheck.report.diff.compare import ProbeDiff
    from loracheck.report.model import Report


def differences(a: Report, b: Report, probes: tuple[ProbeDiff, ...]) -> Iterator[str]:
    """What besides the adapter differs, the gravest first, a sentence each."""
    models = [part(report.provenance, "model") for report in (a, b)]
    if models[0].get("sha256") != models[1].get("sha256"):
        yield "the base models differ: " + " and ".join(map(_file, models))
    stacks = [_adapters(report) for report in (a, b)]
    if stacks[0] != stacks[1]:
        yield "the adapters of the base differ: " + " and ".join(", ".join(stack) or "none" for stack in stacks)
    for label, here, there in (("A", a, b), ("B", b, a)):
        names = {probe.name for probe in judged_probes(there)}
        if only := [probe.name for probe in judged_probes(here) if probe.name not in names]:
            yield f"probes in {label} alone: {', '.join(only)}"
    for probe in probes:
        yield from _case_differences(probe)
    before, after = (part(report.provenance, "settings") for report in (a, b))
    if keys := [key for key in {**before, **after} if before.get(key) != after.get(key)]:
        yield "settings differ: " + ", ".join(f"{key} {before.get(key)} and {after.get(key)}" for key in keys)
    for key, name in (("llama_cpp", "llama-cpp-python"), ("machine", "machine")):
        if a.provenance.get(key) != b.provenance.get(key):
            yield f"{name} differs: {a.provenance.get(key)} and {b.provenance.get(key)}"


def _case_differences(probe: ProbeDiff) -> Iterator[str]:
    name = probe.b.name
    for label, ids in (("A", probe.only_a), ("B", probe.only_b)):
        if ids:
            yield f"{name}: {counted(len(ids), 'case')} in {label} alone: {_some(ids)}"
    asked = tuple(match.a.id for match in probe.matches if match.a.prompt != match.b.prompt)
    if asked:
        yield f"{name}: the same id, but another question in {counted(len(asked), 'case')}: {_some(asked)}"
    sent = sum(match.a.prompt == match.b.prompt and match.a.sent != match.b.sent for match in probe.matches)
    if sent:
        yield f"{name}: other words around the question in {counted(sent, 'case')} (template, tools or system text)"
    if part(probe.a.evidence, "limits") != part(probe.b.evidence, "limits"):
        yield f"{name}: the limits differ; B's count here"


def _adapters(report: Report) -> list[str]:
    found = report.provenance.get("base_adapters")
    uses = [part(item) for item in found] if isinstance(found, list | tuple) else []
    return [f"{_file(use)} at {use.get('scale')}" for use in uses]


def _file(file: dict[str, Any]) -> str:
    """Its name, and enough of its hash to tell it from another of that name."""
    return f"{Path(str(file.get('path'))).name} ({str(file.get('sha256'))[:12]})"


def _some(ids: tuple[str, ...]) -> str:
    return ", ".join(ids[:5]) + (" …" if len(ids) > 5 else "")
