"""A report that can be shown to others: the verdict, counts, rates, outcomes and hashes, and nothing of the user's own.

What is kept is listed here, field by field, and of texts only the words that loracheck itself uses. Whatever is not
listed is left out, so a field that is new is private until somebody lists it. Probes, cases and tools get numbers, and
files the beginning of their hash.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeVar, get_args

from loracheck.file_types import FILE_TYPES
from loracheck.judge import doubts_of
from loracheck.probes import KINDS
from loracheck.probes.null_adapter import NO_ADAPTER
from loracheck.probes.tool_use_fidelity import NO_CALL_ASKED, NO_NULL_PROBE, calibration_of
from loracheck.results import (
    AdapterRecord,
    CaseReport,
    FileRecord,
    NullAdapterEvidence,
    ProbeReport,
    Provenance,
    Report,
    Verdict,
    ViewAnswer,
)
from loracheck.scoring import Evidence, Limits, NullSample, Outcome, statistics, tries
from loracheck.scoring.calibrate import why_no_z
from loracheck.scoring.certainty import Grade
from loracheck.scoring.dialects import DIALECTS
from loracheck.scoring.evidence import (
    Abstention,
    BothRates,
    Certainty,
    Cost,
    DialectUse,
    Drift,
    Flips,
    NullStats,
    PairedTests,
    Power,
    SeveralCalls,
    Split,
    Subject,
    TemplatesDiffer,
)
from loracheck.scoring.paired_test import PairedTest
from loracheck.scoring.several import Matched
from loracheck.scoring.tries import TriedRate, Tries
from loracheck.scoring.verdict import message_of
from loracheck.sweeping.building import build
from loracheck.sweeping.results import Figures, Sweep, SweepCell

REDACTED = "[redacted]"
NOTE = "redacted: prompts, answers, paths and names are left out, and warnings that could hold them"
_OTHER_ANSWER = "[redacted, another answer]"

_HASH = re.compile(r"[0-9a-f]{64}")
_RANK = re.compile(r"rank_\d+(\.\d+)?(e[+-]\d+)?")
_VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc|\.post|\.dev)\d+)*")
_PEFT_FILES = ("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin")
_MACHINES = tuple(
    f"{system} {processor}"
    for system in ("Linux", "Darwin", "Windows")
    for processor in ("x86_64", "AMD64", "aarch64", "arm64", "ARM64")
)

_SETTINGS = (
    "seed", "prompt", "dialect", "thinking", "schema", "max_new_tokens", "n_ctx", "threads", "gpu_layers", "parallel",
    "flips", "quantize", "template", "drift", "trials", "temperature", "top_p", "min_p", "top_k",
)  # fmt: skip
_SEEDS = ("bootstrap", "tries", "null")
_TIMINGS = ("load_seconds", "total_seconds", "answers_from_store", "answers_computed")
_LIMITS = tuple(field.name for field in fields(Limits))

# The words that may stand in a field that is kept, as a value or as a key.
_WORDS = frozenset(
    (
        *get_args(Outcome), *get_args(Verdict), *get_args(Grade), *get_args(Subject), *_LIMITS, *_SETTINGS, *_SEEDS,
        *_TIMINGS, *DIALECTS, *FILE_TYPES.values(), *KINDS, *_MACHINES, *_PEFT_FILES,
        "base", "ft", "auto", "chat", "raw", "basic", "strict", "own", "sentinels", "cases", "scale", "norm",
        statistics.METHOD, tries.METHOD, NO_ADAPTER, NO_CALL_ASKED, NO_NULL_PROBE,
    )
)  # fmt: skip

_RATES = (
    "json_valid_rate_base", "json_valid_rate_ft", "validity_delta", "mean_arg_disagreement", "hallucination_rate",
    "num_cases", "num_arg_pairs_compared",
)  # fmt: skip

# What is kept of each part: numbers, flags, words of ours, and parts that are listed here themselves.
_KEPT: dict[type, tuple[str, ...]] = {
    Evidence: (
        *_RATES, "z_by_rank", "null", "outcomes", "transitions", "paired", "power", "grade", "certainty", "flips",
        "hallucination_rate_base", "exact_arguments_base", "exact_arguments_ft", "strict", "abstention", "several",
        "tries", "limits", "subject", "other_model", "split", "drift", "templates", "dialect", "weight",
    ),
    NullStats: ("mean", "std", "n", "rates", "usable", "why", "base_z", "p_value", "on", "match", "samples"),
    NullSample: ("valid", "cases"),
    PairedTests: ("validity", "exact_call"),
    PairedTest: ("both", "lost", "gained", "neither", "mcnemar_p", "delta", "interval_95", "method"),
    Power: (
        "detectable_drop", "inconclusive", "cases_even_odds", "cases_needed", "fails_from", "failing_drop",
        "flip_rate", "chance_of_fail", "chance_of_fail_by_names",
    ),
    Flips: ("answers", "outcomes", "cases", "width", "rounded_alike"),
    Certainty: ("grade", "interval_95"),
    Limits: _LIMITS,
    BothRates: ("base", "ft"),
    Abstention: ("base", "ft", "cases"),
    SeveralCalls: (
        "cases", "right_base", "right_ft", "missing_base", "missing_ft", "extra_base", "extra_ft",
        "wrong_arguments_base", "wrong_arguments_ft", "paired",
    ),
    Tries: ("cases", "tries", "valid", "exact", "all_right", "method"),
    TriedRate: (
        "base", "ft", "delta", "interval_95", "variance_between_cases", "variance_within_cases", "better", "worse",
        "same", "sign_p", "pass_at_base", "pass_at_ft", "pass_all_base", "pass_all_ft",
    ),
    Split: ("quantization", "adapter", "both"),
    Cost: (*_RATES, "paired"),
    Drift: (
        "cases", "positions", "kl_format", "kl_values", "worst_format", "worst_values", "changed_format",
        "changed_values", "changed",
    ),
    TemplatesDiffer: ("prompts", "cases", "position"),
    DialectUse: ("name", "ft_name", "spoken", "read_as", "base_counts", "ft_counts", "base_drift", "ft_drift"),
    NullAdapterEvidence: ("on", "match", "init_scale", "seeds", "valid_by_rank", "cases_per_run"),
    Matched: ("pairs", "right_arguments", "missing", "extra", "right"),
    Figures: (
        "cases", "valid_calls", "valid_calls_base", "valid_calls_ci_95", "valid_calls_floor", "wrong_names",
        "wrong_names_base", "wrong_names_ci_95", "wrong_names_ceiling", "right_calls", "right_calls_base",
        "exact_arguments", "exact_arguments_base", "drift_format", "drift_values",
    ),
}  # fmt: skip

_Part = TypeVar("_Part")


def redact(report: Report) -> Report:
    """The report without prompts, answers, paths, and names that are not loracheck's own."""
    names = {
        **_numbered("null adapters", (probe.name for probe in report.probes if not probe.is_judged)),
        **_numbered("probe", (probe.name for probe in report.judged)),
    }
    tools = _numbered("tool", (case.gold_tool_name for probe in report.probes for case in probe.cases))
    probes = tuple(_probe(probe, names[probe.name], tools) for probe in report.probes)
    return Report(
        loracheck_version=_version(report.loracheck_version) or REDACTED,
        verdict=report.verdict,
        score=report.score,
        probes=probes,
        provenance=_provenance(report.provenance),
        timing=_only(report.timing, _TIMINGS),
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
            quantization=_public(cell.quantization) or (cell.quantization and REDACTED),
            adapter=adapters[cell.adapter],
            scale=cell.scale,
            run=None if cell.run is None else runs[cell.run],
            checkpoint=cell.checkpoint,
            verdict=cell.verdict,
            reason=None if cell.report else "no effect" if cell.verdict == "skip" else REDACTED,
            size_bytes=cell.size_bytes,
            figures=_part(cell.figures),
            report=redact(cell.report) if cell.report else None,
        )
        for cell in sweep.cells
    ]
    noted = () if any(cell.report for cell in cells) else (NOTE,)
    redacted = build(cells, _only(sweep.timing, _TIMINGS), noted)
    return redacted.model_copy(update={"loracheck_version": _version(sweep.loracheck_version) or REDACTED})


# What may be kept as it is


def _part(part: _Part) -> _Part:
    """A part with nothing but what is kept of its kind."""
    kept: _Part = type(part)(**{name: _public(getattr(part, name)) for name in _KEPT[type(part)]})
    return kept


def _public(value: Any) -> Any:
    """None for whatever is not known to be harmless."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value if _is_ours(value) else None
    if isinstance(value, Mapping):
        return {key: _public(item) for key, item in value.items() if _is_ours(key)}
    if isinstance(value, list | tuple):
        return type(value)(map(_public, value))
    return _part(value) if type(value) in _KEPT else None


def _is_ours(text: Any) -> bool:
    return isinstance(text, str) and (text in _WORDS or _RANK.fullmatch(text) is not None)


def _only(values: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: _public(values[name]) for name in names if name in values}


def _version(text: str | None) -> str | None:
    """The numbers of a version, without what a build adds to them."""
    known = _VERSION.match(text or "")
    return known[0] if known else None


def _sha256(text: str | None) -> str | None:
    return text if text and _HASH.fullmatch(text) else None


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
        if limit in _LIMITS and (not name or name in names)
    }


# Probes, cases and answers


def _probe(probe: ProbeReport, name: str, tools: Mapping[str, str]) -> ProbeReport:
    ids = {case.id: f"case {number}" for number, case in enumerate(probe.cases, 1)}
    kept = ProbeReport(
        name=name,
        kind=_public(probe.kind) or REDACTED,
        verdict=probe.verdict,
        score=probe.score,
        raw=probe.raw,
        z_score=probe.z_score,
        base_value=probe.base_value,
        ft_value=probe.ft_value,
        ci_95=probe.ci_95,
        message=REDACTED,
        evidence=_public(probe.evidence) if type(probe.evidence) in _KEPT else {"weight": probe.weight},
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
        dialect=_public(answer.dialect),
        written_in=_public(answer.written_in),
        strict_valid=answer.strict_valid,
        arguments_correct=answer.arguments_correct,
        matched=_public(answer.matched),
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
        settings=_only(origin.settings, _SETTINGS),
        seeds=_only(origin.seeds, _SEEDS),
        llama_cpp=_version(origin.llama_cpp),
        python=_version(origin.python),
        machine=_public(origin.machine),
    )


def _file(file: FileRecord, what: str) -> dict[str, Any]:
    sha256 = _sha256(file.sha256)
    return {
        "path": f"{what} {sha256[:12]}" if sha256 else what,
        "sha256": sha256,
        "parts": tuple(FileRecord(**_file(part, what)) for part in file.parts),
    }


def _adapter(adapter: AdapterRecord) -> AdapterRecord:
    hashes = {name: _sha256(adapter.peft.get(name)) for name in _PEFT_FILES} if adapter.peft else {}
    peft = {name: sha256 for name, sha256 in hashes.items() if sha256}
    return AdapterRecord(**_file(adapter, "adapter"), scale=adapter.scale, peft=peft or None)
