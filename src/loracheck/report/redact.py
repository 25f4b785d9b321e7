"""A report that can be shown to others: the verdict, counts, rates, outcomes and hashes, and nothing of the user's own.

What is kept is named here or listed in `public`. Probes, cases and tools get numbers for names, and files the beginning
of their hash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from loracheck.judge import doubts_of
from loracheck.probes.tool_use_fidelity import calibration_of
from loracheck.report.public import (
    KEPT,
    LIMITS,
    PEFT_FILES,
    SEEDS,
    SETTINGS,
    TIMINGS,
    only,
    public,
    public_part,
    sha256_of,
    version_of,
)
from loracheck.results import (
    AdapterRecord,
    CaseReport,
    FileRecord,
    ProbeReport,
    Provenance,
    Report,
    ViewAnswer,
)
from loracheck.scoring import Evidence
from loracheck.scoring.calibrate import why_no_z
from loracheck.scoring.dialects import DIALECTS
from loracheck.scoring.verdict import message_of
from loracheck.sweeping.building import build
from loracheck.sweeping.results import Sweep, SweepCell

REDACTED = "[redacted]"
NOTE = "redacted: prompts, answers, paths and names are left out, and warnings that could hold them"
_OTHER_ANSWER = "[redacted, another answer]"


def redact(report: Report) -> Report:
    """The report without prompts, answers, paths, and names that are not loracheck's own."""
    names = {
        **_numbered("null adapters", (probe.name for probe in report.probes if not probe.is_judged)),
        **_numbered("probe", (probe.name for probe in report.judged)),
    }
    tools = _numbered("tool", (case.gold_tool_name for probe in report.probes for case in probe.cases))
    probes = tuple(_probe(probe, names[probe.name], tools) for probe in report.probes)
    return Report(
        loracheck_version=version_of(report.loracheck_version) or REDACTED,
        verdict=report.verdict,
        score=report.score,
        probes=probes,
        provenance=_provenance(report.provenance),
        timing=only(report.timing, TIMINGS),
        warnings=(*doubts_of(probes), NOTE),
        judged_with=None if report.judged_with is None else _judged_with(report.judged_with, names),
        redacted=True,
    )


def redact_sweep(sweep: Sweep) -> Sweep:
    """The same for every cell; bases, adapters and runs are numbered."""
    bases, adapters, runs = (
        _numbered(axis, (getattr(cell, axis) for cell in sweep.cells)) for axis in ("base", "adapter", "run")
    )
    cells = [
        SweepCell(
            base=bases[cell.base],
            quantization=public(cell.quantization) or (cell.quantization and REDACTED),
            adapter=adapters[cell.adapter],
            scale=cell.scale,
            run=None if cell.run is None else runs[cell.run],
            checkpoint=cell.checkpoint,
            verdict=cell.verdict,
            reason=None if cell.report else "no effect" if cell.verdict == "skip" else REDACTED,
            size_bytes=cell.size_bytes,
            figures=public_part(cell.figures),
            report=redact(cell.report) if cell.report else None,
        )
        for cell in sweep.cells
    ]
    noted = () if any(cell.report for cell in cells) else (NOTE,)
    redacted = build(cells, only(sweep.timing, TIMINGS), noted)
    return redacted.model_copy(update={"loracheck_version": version_of(sweep.loracheck_version) or REDACTED})


def _numbered(what: str, names: Iterable[str | None]) -> dict[str, str]:
    """What stands for each name: equal ones get one number."""
    known = dict.fromkeys(name for name in names if name is not None)
    return {name: f"{what} {number}" for number, name in enumerate(known, 1)}


def _judged_with(limits: Mapping[str, float], names: Mapping[str, str]) -> dict[str, float]:
    """Limits may be spelled with the name of their probe."""
    spelled = ((*limit.rpartition("."), bound) for limit, bound in limits.items())
    return {
        f"{names[name]}.{limit}" if name else limit: bound
        for name, _, limit, bound in spelled
        if limit in LIMITS and (not name or name in names)
    }


# Probes, cases and answers


def _probe(probe: ProbeReport, name: str, tools: Mapping[str, str]) -> ProbeReport:
    ids = {case.id: f"case {number}" for number, case in enumerate(probe.cases, 1)}
    kept = ProbeReport(
        name=name,
        kind=public(probe.kind) or REDACTED,
        verdict=probe.verdict,
        score=probe.score,
        raw=probe.raw,
        z_score=probe.z_score,
        base_value=probe.base_value,
        ft_value=probe.ft_value,
        ci_95=probe.ci_95,
        message=REDACTED,
        evidence=public(probe.evidence) if type(probe.evidence) in KEPT else {"weight": probe.weight},
        cases=tuple(_case(case, f"case {number}", tools) for number, case in enumerate(probe.cases, 1)),
    )
    if not isinstance(probe.evidence, Evidence):
        return kept
    evidence = _retold(kept, probe.evidence, ids)
    told = REDACTED if probe.verdict == "error" else message_of(evidence, probe.z_score)
    return kept.model_copy(update={"evidence": evidence, "message": told})


def _retold(probe: ProbeReport, whole: Evidence, ids: Mapping[str, str]) -> Evidence:
    """What was told in sentences, made anew from what is kept; and cases by their numbers."""
    evidence = probe.comparison
    update: dict[str, Any] = {"no_drift": REDACTED if whole.no_drift else None}
    if whole.null.why and not evidence.null.why:
        why = None if evidence.null.mean is None else why_no_z(calibration_of(probe, {}))
        update["null"] = evidence.null.model_copy(update={"why": why or REDACTED})
    if evidence.dialect and evidence.dialect.name:
        title = DIALECTS[evidence.dialect.name].title
        update["dialect"] = evidence.dialect.model_copy(update={"title": title})
    if evidence.templates and whole.templates:
        named = {"case": ids.get(whole.templates.case or ""), "base": REDACTED, "ft": REDACTED}
        update["templates"] = evidence.templates.model_copy(update=named)
    if evidence.tries and whole.tries:
        rates = {
            name: getattr(evidence.tries, name).model_copy(
                update={
                    side: tuple(ids[case] for case in getattr(getattr(whole.tries, name), side) if case in ids)
                    for side in ("flaky_base", "flaky_ft")
                }
            )
            for name in ("valid", "exact")
        }
        update["tries"] = evidence.tries.model_copy(update=rates)
    return evidence.model_copy(update=update)


def _case(case: CaseReport, number: str, tools: Mapping[str, str]) -> CaseReport:
    is_same = case.base.text == case.ft.text
    return CaseReport(
        id=number,
        prompt=REDACTED,
        sent="",
        gold_tool_name=None if case.gold_tool_name is None else tools[case.gold_tool_name],
        expect=case.expect,
        base=_answer(case.base, REDACTED),
        ft=_answer(case.ft, REDACTED if is_same else _OTHER_ANSWER),
        differs_at=None if is_same else 0,
    )


def _answer(answer: ViewAnswer, text: str) -> ViewAnswer:
    return ViewAnswer(
        text=text,
        call=None,
        valid=answer.valid,
        outcome=answer.outcome,
        tokens=answer.tokens,
        dialect=public(answer.dialect),
        written_in=public(answer.written_in),
        strict_valid=answer.strict_valid,
        arguments_correct=answer.arguments_correct,
        matched=public(answer.matched),
        cut_off_in_thinking=answer.cut_off_in_thinking,
        tries=tuple(_answer(each, REDACTED) for each in answer.tries),
    )


# Where it comes from


def _provenance(origin: Provenance) -> Provenance:
    return Provenance(
        model=FileRecord(**_file(origin.model, "model")),
        candidate=None if origin.candidate is None else FileRecord(**_file(origin.candidate, "candidate")),
        base_adapters=tuple(map(_adapter, origin.base_adapters)),
        ft_adapters=tuple(map(_adapter, origin.ft_adapters)),
        settings=only(origin.settings, SETTINGS),
        seeds=only(origin.seeds, SEEDS),
        llama_cpp=version_of(origin.llama_cpp),
        python=version_of(origin.python),
        machine=public(origin.machine),
    )


def _file(file: FileRecord, what: str) -> dict[str, Any]:
    sha256 = sha256_of(file.sha256)
    return {
        "path": f"{what} {sha256[:12]}" if sha256 else what,
        "sha256": sha256,
        "parts": tuple(FileRecord(**_file(part, what)) for part in file.parts),
    }


def _adapter(adapter: AdapterRecord) -> AdapterRecord:
    hashes = {name: sha256_of(adapter.peft.get(name)) for name in PEFT_FILES} if adapter.peft else {}
    peft = {name: sha256 for name, sha256 in hashes.items() if sha256}
    return AdapterRecord(**_file(adapter, "adapter"), scale=adapter.scale, peft=peft or None)
