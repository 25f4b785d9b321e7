"""Does the adapter still call tools the way its base does?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from loracheck.cases.entries import ToolUseEntry
from loracheck.engine import Completion, Prompt
from loracheck.probes import tool_use_words as words
from loracheck.probes.null_adapter import null_questions, null_samples, sentinel_samples
from loracheck.probes.probe import Answers, NullViews, Probe, Questions, Reason, Row, Step, Views
from loracheck.probes.reading import read_case
from loracheck.results import CaseReport, ProbeReport
from loracheck.scoring import Calibration, Limits, NullSample, Trial, judge
from loracheck.scoring.calibrate import unless_saturated
from loracheck.scoring.dialects import DIALECTS, Detection
from loracheck.scoring.drift import ReadAnswer, measure_drift
from loracheck.scoring.evidence import DialectUse, Drift


class ToolUseProbe(Probe[ToolUseEntry]):
    kind = "tool_use_fidelity"
    entry = ToolUseEntry

    def plan(
        self, entry: ToolUseEntry, prompts: tuple[Prompt, ...], views: Views, nulls: NullViews | None
    ) -> Step[ToolUseEntry]:
        questions = [Questions(views.base, prompts, traced=True), Questions(views.tuned, prompts, follows=views.base)]
        if nulls and nulls.sentinels is None:
            questions += null_questions(nulls, tuple(_asked(entry, prompts)))
        return Step(entry, prompts, tuple(questions), nulls)

    def judge(self, step: Step[ToolUseEntry], answers: Answers, views: Views) -> ProbeReport:
        entry = step.entry
        base, tuned = answers.of(views.base, step.prompts), answers.of(views.tuned, step.prompts)
        cases = tuple(
            read_case(*parts, allowed_tools=entry.allowed_tools, dialect=views.dialect.name, strict=views.strict_schema)
            for parts in zip(entry.cases, step.prompts, base, tuned, strict=True)
        )
        samples = self._samples(step, answers, views)
        return _judged(
            entry.name,
            cases,
            limits=entry.limits,
            seed=views.seed,
            samples=samples,
            no_calibration_why="no case asks for a call" if step.nulls else "the suite has no null_adapter probe",
            beside={
                "drift": _drift(cases, base, tuned),
                "dialect": _dialect_use(cases, views.dialect),
                "weight": entry.weight,
                "allowed_tools": entry.allowed_tools,
            },
            nulls={"on": step.nulls.entry.on, "match": step.nulls.entry.match} if step.nulls else {},
        )

    def judge_again(self, report: ProbeReport, limits: Mapping[str, float], seed: int) -> ProbeReport:
        evidence = report.comparison
        null = evidence.null
        return _judged(
            report.name,
            report.cases,
            limits=replace(evidence.limits, **limits),
            seed=seed,
            samples={float(name.removeprefix("rank_")): sample for name, sample in null.samples.items()},
            calibrations=None if null.samples or null.mean is None else {1.0: _calibration_of(report, limits)},
            no_calibration_why=null.why,
            beside={name: getattr(evidence, name) for name in ("drift", "dialect", "weight", "allowed_tools")},
            # No limit has a say in the p-value, which takes samples to compute.
            nulls={"on": null.on, "match": null.match} | ({} if null.samples else {"p_value": null.p_value}),
        )

    def doubts(self, report: ProbeReport) -> Iterable[str]:
        return words.doubts(report)

    def reasons(self, report: ProbeReport) -> list[Reason]:
        return words.reasons(report)

    def caution(self, report: ProbeReport) -> str | None:
        return words.caution(report)

    def rows(self, report: ProbeReport) -> Iterable[Row]:
        return words.rows(report)

    def paragraphs(self, report: ProbeReport) -> Iterable[str]:
        return words.paragraphs(report)

    def _samples(self, step: Step[ToolUseEntry], answers: Answers, views: Views) -> Mapping[float, NullSample]:
        asked = list(_asked(step.entry, step.prompts))
        if step.nulls is None or not asked:
            return {}
        if step.nulls.sentinels is not None:
            return sentinel_samples(step.nulls, answers)
        cases = list(_asked(step.entry, step.entry.cases))
        return null_samples(step.nulls, answers, asked, cases, views.dialect.name)


def _asked(entry: ToolUseEntry, aligned: Sequence[Any]) -> Iterable[Any]:
    """Of what stands beside each case, that of the cases which expect a call."""
    return (each for case, each in zip(entry.cases, aligned, strict=True) if case.expect == "call")


def _judged(
    name: str,
    cases: Sequence[CaseReport],
    *,
    limits: Limits,
    seed: int,
    samples: Mapping[float, NullSample],
    calibrations: Mapping[float, Calibration] | None = None,
    no_calibration_why: str | None,
    beside: dict[str, Any],
    nulls: dict[str, Any],
) -> ProbeReport:
    """The report on cases that have been read; `beside` is evidence that no limit looks at."""
    judgement = judge(
        [Trial(case.base.reading, case.ft.reading, case.expect == "call") for case in cases],
        samples=samples,
        calibrations=calibrations,
        no_calibration_why=no_calibration_why,
        limits=limits,
        seed=seed,
    )
    null = judgement.evidence.null.model_copy(update=nulls)
    return ProbeReport(
        name=name,
        kind=ToolUseProbe.kind,
        verdict=judgement.verdict,
        score=judgement.score,
        raw=judgement.raw,
        z_score=judgement.z_score,
        base_value=judgement.base_value,
        ft_value=judgement.ft_value,
        ci_95=judgement.ci_95,
        message=judgement.message,
        evidence=judgement.evidence.model_copy(update={**beside, "null": null}),
        cases=tuple(cases),
    )


def _calibration_of(report: ProbeReport, limits: Mapping[str, float]) -> Calibration:
    """For reports that do not hold each null adapter's answers: their statistics are enough for one z."""
    null = report.comparison.null
    floor = replace(report.comparison.limits, **limits).assert_z_gte
    return unless_saturated(Calibration(null.mean, null.std, null.n, null.rates or ()), floor)


def _drift(cases: Sequence[CaseReport], base: Sequence[Completion], tuned: Sequence[Completion]) -> Drift | None:
    """How far the tuned view's expectations moved on the base's own calls."""
    return measure_drift(
        [
            ReadAnswer(
                case=case.id,
                text=mine.text,
                calls=[call for call in (case.base.call, *case.base.more_calls) if call is not None],
                ends=mine.trace.ends,
                base_log_probs=mine.trace.log_probs,
                ft_log_probs=theirs.trace.log_probs,
                base_top=mine.trace.top,
                ft_top=theirs.trace.top,
            )
            for case, mine, theirs in zip(cases, base, tuned, strict=True)
            if mine.trace and theirs.trace
        ]
    )


def _dialect_use(cases: Sequence[CaseReport], read_in: Detection) -> DialectUse:
    """Which dialect the answers were read in, and which others they slipped into."""
    base, tuned = (
        Counter(answer.dialect for answer in answers if answer.dialect)
        for answers in ([case.base for case in cases], [case.ft for case in cases])
    )
    switched = Counter(case.ft.dialect for case in cases if case.ft.dialect and not case.base.dialect)
    message = None
    if switched:
        most, times = switched.most_common(1)[0]
        message = (
            f"the adapter switched from {DIALECTS[read_in.name].title} to {DIALECTS[most].title} "
            f"in {times} of {len(cases)} answers"
        )
    return DialectUse(
        name=read_in.name,
        title=DIALECTS[read_in.name].title,
        why=read_in.why,
        base_drift=dict(base.most_common()),
        ft_drift=dict(tuned.most_common()),
        message=message,
    )
