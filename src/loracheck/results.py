"""The report as data: what a check found, as it is written to JSON and read back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, computed_field, field_validator

from loracheck.scoring import Evidence, Outcome, Reading
from loracheck.scoring.certainty import GRADES
from loracheck.scoring.part import Count, Number, Part
from loracheck.scoring.several import ExpectedCall, Matched
from loracheck.scoring.statistics import holm

Verdict = Literal["pass", "fail", "warn", "skip", "error"]

SCHEMA_VERSION = 1

_WORST_FIRST: tuple[Verdict, ...] = ("error", "fail", "warn", "pass", "skip")


class _Whole(BaseModel):
    # A report of a newer loracheck may say more than this one knows: it is shown all the same.
    model_config = ConfigDict(extra="ignore", frozen=True)


class ViewAnswer(_Whole):
    text: str
    call: Any
    """The call as it was parsed, None where there was none."""
    valid: bool
    outcome: Outcome
    tokens: int
    more_calls: tuple[Any, ...] = ()
    """What else was called in the same answer; only the first call is judged."""
    dialect: str | None = None
    """The dialect the answer is in when that is not one it was read with."""
    written_in: str | None = None
    """The dialect the answer is written in; None when it makes no call."""
    strict_valid: bool | None = None
    """Valid by the whole JSON Schema; None when strict schemas are off."""
    arguments_correct: bool | None = None
    """A valid call with the case's gold arguments; None where the case has none."""
    matched: Matched | None = None
    """All its calls beside the case's gold_calls; None where the case has none."""
    cut_off_in_thinking: bool = False
    """The token limit came before the end of the thinking."""
    tries: tuple[ViewAnswer, ...] = ()
    """What came of asking the same several times, drawn at a temperature; beside the greedy answer, and not judged."""

    @property
    def reading(self) -> Reading:
        """What the answer turned out to be, for whoever judges it again."""
        return Reading(**{field.name: getattr(self, field.name) for field in fields(Reading)})


class CaseReport(_Whole):
    id: str
    prompt: str
    sent: str
    """The exact text the model read."""
    sent_ft: str | None = None
    """What a candidate with another chat template read; None where that is the same."""
    gold_tool_name: str | None
    """None where no tool should be called."""
    expect: Literal["call", "no_call", "any_call"] = "call"
    gold_arguments: dict[str, Any] | None = None
    gold_calls: tuple[ExpectedCall, ...] | None = None
    """Where several calls are expected, all of them."""
    base: ViewAnswer
    ft: ViewAnswer
    """The answer with the adapter."""
    differs_at: int | None = None
    """How many characters both answers have in common from the start; None when they are the same."""

    @property
    def expects_call(self) -> bool:
        return self.expect != "no_call"

    def is_right(self, answer: ViewAnswer) -> bool:
        """What the case asks for: a valid call of a tool that exists, or no call where no tool fits."""
        return answer.outcome == ("valid" if self.expects_call else "no_call")

    @property
    def broke(self) -> bool:
        """The base does it right and the adapter does not."""
        return self.is_right(self.base) and not self.is_right(self.ft)

    @property
    def mended(self) -> bool:
        return not self.is_right(self.base) and self.is_right(self.ft)


class NullAdapterEvidence(Part):
    """How the null adapters were made, and what they scored on the sentinels."""

    on: str | None = None
    match: str | None = None
    init_scale: Number | None = None
    seeds: tuple[Count, ...] = ()
    valid_by_rank: dict[str, tuple[Count, ...]] | None = None
    cases_per_run: Count | None = None


_EVIDENCE: dict[str, type[Part]] = {"tool_use_fidelity": Evidence, "null_adapter": NullAdapterEvidence}


class ProbeReport(_Whole):
    name: str
    kind: str
    verdict: Verdict
    score: float | None = None
    raw: float | None = None
    z_score: float | None = None
    base_value: float | None = None
    ft_value: float | None = None
    ci_95: tuple[float, float] | None = None
    message: str
    evidence: Evidence | NullAdapterEvidence | dict[str, Any] = Field(default_factory=dict, validate_default=True)
    """Typed for the kinds that come with loracheck."""
    cases: tuple[CaseReport, ...] = ()

    @field_validator("evidence", mode="plain")
    @classmethod
    def _typed(cls, value: Any, info: ValidationInfo) -> Any:
        kind = _EVIDENCE.get(info.data.get("kind", ""))
        if kind and isinstance(value, Mapping):
            return kind.model_validate(value)
        return value if isinstance(value, Part | Mapping) else {}

    @property
    def comparison(self) -> Evidence:
        """The evidence of a probe that compares two views; empty for any other."""
        return self.evidence if isinstance(self.evidence, Evidence) else Evidence()

    @property
    def effective_verdict(self) -> Verdict:
        """What the verdict comes to: a pass in which nothing was compared is a warning."""
        return "warn" if self.verdict == "pass" and self.comparison.compares_nothing else self.verdict

    @property
    def grade_in_words(self) -> str | None:
        """How sure the verdict is, for the place right beside it; None where nobody knows."""
        if self.comparison.compares_nothing:
            return "nothing was compared"
        return GRADES[self.comparison.grade] if self.comparison.grade else None

    @property
    def is_judged(self) -> bool:
        """Null adapters have no verdict of their own."""
        return not isinstance(self.evidence, NullAdapterEvidence)

    @property
    def asked(self) -> list[CaseReport]:
        """The cases that should bring a call, over which the rates are taken."""
        return [case for case in self.cases if case.expects_call]

    @property
    def broken(self) -> list[CaseReport]:
        return [case for case in self.cases if case.broke]

    @property
    def weight(self) -> float:
        """How much it counts in the report's score."""
        evidence = self.evidence
        return (Evidence.model_validate(evidence) if isinstance(evidence, Mapping) else self.comparison).weight


class FileRecord(Part):
    """A file, by content."""

    path: str | None = None
    sha256: str | None = None
    parts: tuple[FileRecord, ...] = ()
    """Every part of a model that is split over several files, this one included."""

    @property
    def hashes(self) -> list[str | None]:
        """Of all its parts."""
        return [part.sha256 for part in self.parts or (self,)]

    @property
    def name(self) -> str:
        return (self.path or "?").replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


class AdapterRecord(FileRecord):
    """An adapter as it was given; `sha256` is that of the GGUF file that was applied."""

    scale: Number | None = None
    peft: dict[str, str] | None = None
    """Of a PEFT folder, the sha256 of each file that it was converted from."""


class Provenance(Part):
    """Where a report comes from: files by content, settings, seeds, the llama.cpp that answered."""

    suite_file: str | None = None
    outside_suite_folder: tuple[str, ...] = ()
    """Where files really are that a suite file takes from elsewhere than its own folder, through links or by name."""
    model: FileRecord = FileRecord()
    candidate: FileRecord | None = None
    """The model file that was checked, where that is another than the base."""
    base_adapters: tuple[AdapterRecord, ...] = ()
    ft_adapters: tuple[AdapterRecord, ...] = ()
    settings: dict[str, Any] = Field(default_factory=dict)
    suite: dict[str, Any] | None = None
    """The whole suite, to run it again."""
    seeds: dict[str, Any] = Field(default_factory=dict)
    llama_cpp: str | None = None
    python: str | None = None
    machine: str | None = None
    answered_by: tuple[str, ...] = ()
    """The machines of a cluster that were asked; empty where this process did the work."""

    @property
    def compared(self) -> tuple[str, str]:
        """What was checked, and what it was checked against, by their file names."""
        adapters, below = (
            [each.name + ("" if each.scale in (None, 1) else f"@{each.scale:g}") for each in stack]
            for stack in (self.ft_adapters, self.base_adapters)
        )
        base = self.model.name if self.model.path else "base"
        if quantized_to := self.quantized_to:
            adapters = [f"{base} as {quantized_to}", *below, *adapters]
        elif self.candidate:
            adapters = [self.candidate.name, *adapters]
        return " + ".join(adapters) or "adapter", " + ".join([base, *below])

    @property
    def quantized_to(self) -> str | None:
        """The type that the base was quantized to for this check; None where it was not."""
        kind = self.settings.get("quantize")
        return kind if isinstance(kind, str) else None


class Report(_Whole):
    schema_version: int = SCHEMA_VERSION
    loracheck_version: str
    verdict: Verdict
    score: float | None
    probes: tuple[ProbeReport, ...]
    provenance: Provenance
    timing: dict[str, float]
    warnings: tuple[str, ...] = ()
    """What a reader must know before believing the verdict."""
    judged_with: dict[str, float] | None = None
    """The limits that were put in place of the suite's when the report was judged again; None when it was not."""
    redacted: bool = False
    """Prompts, answers, paths and names were left out, to show it to others; cases have numbers for names."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def holm_p(self) -> dict[str, float] | None:
        """The McNemar p of each probe's valid calls, by its name, corrected for there being several; never judged."""
        tests = {probe.name: probe.comparison.paired.validity for probe in self.judged}
        known = {name: test.mcnemar_p for name, test in tests.items() if test and test.mcnemar_p is not None}
        return holm(known) if len(known) > 1 else None

    @property
    def judged_again_note(self) -> str | None:
        """Belongs beside the verdict of a report that was judged again."""
        if not self.judged_with:
            return None
        limits = ", ".join(f"{name} = {bound:g}" for name, bound in self.judged_with.items())
        return f"Judged again with {limits} in place of the suite's own limits."

    @property
    def judged(self) -> list[ProbeReport]:
        """The probes that have a verdict of their own."""
        return [probe for probe in self.probes if probe.is_judged]

    @property
    def inconclusive(self) -> bool:
        """Too few cases to tell, or nothing compared, in one of the probes."""
        return any(probe.comparison.power.inconclusive for probe in self.probes)


def overall(probes: Sequence[ProbeReport]) -> tuple[Verdict, float | None]:
    """The worst verdict, and the weighted mean of the scores."""
    verdicts = {probe.effective_verdict for probe in probes}
    verdict: Verdict = next((verdict for verdict in _WORST_FIRST if verdict in verdicts), "skip")
    weighed = [(probe.score, probe.weight) for probe in probes if probe.score is not None]
    total = sum(weight for _, weight in weighed)
    score = sum(score * weight for score, weight in weighed) / total if total else None
    return verdict, score


def differences(first: Report, second: Report) -> Iterable[str]:
    """The dotted names of everything two runs found differently; how long they took does not count."""
    skipped = {"timing", "provenance", "warnings", "loracheck_version"}
    return _differences("", first.model_dump(exclude=skipped), second.model_dump(exclude=skipped))


def _differences(place: str, first: Any, second: Any) -> Iterable[str]:
    if isinstance(first, dict) and isinstance(second, dict):
        for name in {**first, **second}:
            yield from _differences(f"{place}.{name}".lstrip("."), first.get(name), second.get(name))
    elif isinstance(first, list | tuple) and isinstance(second, list | tuple) and len(first) == len(second):
        for index, (left, right) in enumerate(zip(first, second, strict=True)):
            yield from _differences(f"{place}[{index}]", left, right)
    elif first != second:
        yield place
