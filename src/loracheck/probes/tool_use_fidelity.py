"""Does the adapter still call tools the way its base does?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from loracheck.cases.entries import ToolUseEntry
from loracheck.engine import Completion, Prompt, View
from loracheck.probes import tool_use_words as words
from loracheck.probes.null_adapter import NO_ADAPTER, null_questions, null_samples, sentinel_samples
from loracheck.probes.probe import Answers, NullViews, Probe, Prompts, Questions, Reason, Row, Step, Views
from loracheck.probes.reading import case_report, read_view
from loracheck.results import CaseReport, ProbeReport, ViewAnswer
from loracheck.scoring import Calibration, Limits, NullSample, Trial, judge
from loracheck.scoring.calibrate import unless_base_falls_short, unless_saturated
from loracheck.scoring.dialects import DIALECTS
from loracheck.scoring.drift import ReadAnswer, measure_drift
from loracheck.scoring.evidence import Cost, DialectUse, Drift, Flips, Rates, Split, Subject, TemplatesDiffer
from loracheck.scoring.outcome import differs_at
from loracheck.scoring.paired_test import paired_test
from loracheck.scoring.statistics import pair
from loracheck.scoring.tries import CaseTries
from loracheck.scoring.verdict import measure
from loracheck.text import cut

_TEMPLATE_LETTERS = 80

# Why there is no z.
NO_CALL_ASKED = "no case asks for a call"
NO_NULL_PROBE = "the suite has no null_adapter probe"

# Evidence that no limit looks at.
_BESIDE = ("other_model", "split", "drift", "no_drift", "templates", "dialect", "weight", "allowed_tools")


class ToolUseProbe(Probe[ToolUseEntry]):
    kind = "tool_use_fidelity"
    entry = ToolUseEntry

    def plan(self, entry: ToolUseEntry, prompts: Prompts, views: Views, nulls: NullViews | None) -> Step[ToolUseEntry]:
        base, tuned = prompts.of(views.base), prompts.of(views.tuned)
        drifts = views.no_drift is None
        questions = [
            Questions(views.base, _with_tries(base, views), traced=drifts or views.again is not None),
            Questions(views.tuned, _with_tries(tuned, views), follows=base if drifts else ()),
        ]
        if views.again:
            questions.append(Questions(views.again, base, traced=True))
        if views.unquantized:
            questions += [Questions(views.unquantized, base), Questions(views.bare, tuned)]
        if nulls and nulls.sentinels is None:
            questions += null_questions(nulls, tuple(_asked(entry, tuned)))
        return Step(entry, prompts, tuple(questions), nulls)

    def judge(self, step: Step[ToolUseEntry], answers: Answers, views: Views) -> ProbeReport:
        entry = step.entry

        def read(view: View) -> list[ViewAnswer]:
            compared = view in (views.base, views.tuned)
            return read_view(view, step, answers, views, entry.allowed_tools, with_tries=compared)

        sent, sent_ft = ([prompt.text for prompt in step.prompts.of(view)] for view in (views.base, views.tuned))
        cases = tuple(map(case_report, entry.cases, sent, sent_ft, read(views.base), read(views.tuned)))
        samples = self._samples(step, answers, views)
        return _judged(
            entry.name,
            cases,
            limits=entry.limits,
            seed=views.seed,
            subject=views.subject,
            flips=_flips(step, cases, answers, views, read(views.again)) if views.again else None,
            samples=samples,
            nulls_on_cases=step.nulls is not None and step.nulls.sentinels is None,
            no_calibration_why=_why_no_nulls(step, views),
            beside={
                "other_model": views.tuned.model != views.base.model,
                "split": _split(cases, read(views.bare), read(views.unquantized)) if views.unquantized else None,
                "drift": _drift(
                    cases, *(answers.of(view, step.prompts.of(view)) for view in (views.base, views.tuned))
                ),
                "no_drift": views.no_drift,
                "templates": _templates_differ(cases),
                "dialect": _dialect_use(cases, views),
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
            subject=evidence.subject,
            flips=evidence.flips,
            nulls_on_cases=null.on == "cases",
            samples={float(name.removeprefix("rank_")): sample for name, sample in null.samples.items()},
            calibrations=None if null.samples or null.mean is None else {1.0: calibration_of(report, limits)},
            no_calibration_why=null.why,
            beside={name: getattr(evidence, name) for name in _BESIDE},
            # No limit has a say in the p-value, which takes samples to compute.
            nulls={"on": null.on, "match": null.match} | ({} if null.samples else {"p_value": null.p_value}),
        )

    def doubts(self, report: ProbeReport) -> Iterable[str]:
        return words.doubts(report)

    def side_notes(self, report: ProbeReport) -> Iterable[str]:
        return words.side_notes(report)

    def reasons(self, report: ProbeReport) -> list[Reason]:
        return words.reasons(report)

    def caution(self, report: ProbeReport) -> str | None:
        return words.caution(report)

    def rows(self, report: ProbeReport) -> Iterable[Row]:
        return words.rows(report)

    def paragraphs(self, report: ProbeReport) -> Iterable[str]:
        return words.paragraphs(report)

    def details(self, report: ProbeReport) -> Iterable[str]:
        return words.details(report)

    def _samples(self, step: Step[ToolUseEntry], answers: Answers, views: Views) -> Mapping[float, NullSample]:
        asked = list(_asked(step.entry, step.prompts.of(views.tuned)))
        if step.nulls is None or not asked:
            return {}
        reader = views.reader_of(views.tuned)
        if step.nulls.sentinels is not None:
            return sentinel_samples(step.nulls, answers, reader)
        cases = list(_asked(step.entry, step.entry.cases))
        return null_samples(step.nulls, answers, asked, cases, reader)


def _with_tries(prompts: tuple[Prompt, ...], views: Views) -> tuple[Prompt, ...]:
    return (*prompts, *(attempt for prompt in prompts for attempt in views.tries_at(prompt)))


def _asked(entry: ToolUseEntry, aligned: Sequence[Any]) -> Iterable[Any]:
    """Of what stands beside each case, that of the cases which expect a call."""
    return (each for case, each in zip(entry.cases, aligned, strict=True) if case.expects_call)


def _why_no_nulls(step: Step[ToolUseEntry], views: Views) -> str:
    if not views.under_test:
        return NO_ADAPTER
    return NO_CALL_ASKED if step.nulls else NO_NULL_PROBE


def _judged(
    name: str,
    cases: Sequence[CaseReport],
    *,
    limits: Limits,
    seed: int,
    subject: Subject,
    flips: Flips | None,
    samples: Mapping[float, NullSample],
    nulls_on_cases: bool,
    calibrations: Mapping[float, Calibration] | None = None,
    no_calibration_why: str | None,
    beside: dict[str, Any],
    nulls: dict[str, Any],
) -> ProbeReport:
    """The report on cases that have been read; `beside` is evidence that no limit looks at."""
    judgement = judge(
        [Trial(case.base.reading, case.ft.reading, case.expects_call, _tries(case)) for case in cases],
        samples=samples,
        calibrations=calibrations,
        no_calibration_why=no_calibration_why,
        nulls_on_cases=nulls_on_cases,
        limits=limits,
        flips=flips,
        subject=subject,
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


def _tries(case: CaseReport) -> CaseTries | None:
    base, ft = (tuple(each.reading for each in answer.tries) for answer in (case.base, case.ft))
    # A report that is judged again may have been edited by hand.
    return CaseTries(case.id, base, ft) if base and len(base) == len(ft) else None


def calibration_of(report: ProbeReport, limits: Mapping[str, float]) -> Calibration:
    """For reports that do not hold each null adapter's answers: their statistics are enough for one z."""
    evidence = report.comparison
    null, floor = evidence.null, replace(evidence.limits, **limits).assert_z_gte
    calibration = unless_saturated(Calibration(null.mean, null.std, null.n, null.rates or ()), floor)
    return unless_base_falls_short(calibration, evidence.json_valid_rate_base, evidence.json_valid_rate_ft, floor)


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


def _flips(
    step: Step[ToolUseEntry],
    cases: Sequence[CaseReport],
    answers: Answers,
    views: Views,
    again: Sequence[ViewAnswer],
) -> Flips | None:
    """What the base made of the cases that expect a call when it was asked them once more."""
    asked = list(_asked(step.entry, step.prompts.of(views.base)))
    if not asked or views.again is None:
        return None
    first, second = (answers.of(view, asked) for view in (views.base, views.again))
    changed = (case.base.outcome != now.outcome for case, now in zip(cases, again, strict=True) if case.expects_call)
    return Flips(
        answers=sum(a.tokens != b.tokens for a, b in zip(first, second, strict=True)) / len(asked),
        outcomes=sum(changed) / len(asked),
        cases=len(asked),
        width=views.again.width,
        rounded_alike=all(a.trace is not None and a.trace == b.trace for a, b in zip(first, second, strict=True)),
    )


def _split(cases: Sequence[CaseReport], quantized: Sequence[ViewAnswer], adapted: Sequence[ViewAnswer]) -> Split:
    """What each change to the base did alone, and both together; `adapted` is the adapter on the base as it is."""

    def cost(answers: Iterable[ViewAnswer]) -> Cost:
        asked = [
            Trial(case.base.reading, answer.reading)
            for case, answer in zip(cases, answers, strict=True)
            if case.expects_call
        ]
        valid = pair((trial.base.valid for trial in asked), (trial.ft.valid for trial in asked))
        return Cost(**measure(asked).model_dump(include=set(Rates.model_fields)), paired=paired_test(valid))

    return Split(quantization=cost(quantized), adapter=cost(adapted), both=cost(case.ft for case in cases))


def _templates_differ(cases: Sequence[CaseReport]) -> TemplatesDiffer | None:
    others = [case for case in cases if case.sent_ft is not None]
    if not others:
        return None
    first, text = others[0], others[0].sent_ft or ""
    at = differs_at(first.sent, text) or 0
    return TemplatesDiffer(
        prompts=len(others),
        cases=len(cases),
        case=first.id,
        position=at,
        base=cut(first.sent[at:], _TEMPLATE_LETTERS),
        ft=cut(text[at:], _TEMPLATE_LETTERS),
    )


def _dialect_use(cases: Sequence[CaseReport], views: Views) -> DialectUse:
    """How calls are asked for, how each view writes them, and which ways of writing them do not count."""
    base, tuned = [case.base for case in cases], [case.ft for case in cases]
    asked, asked_ft = (views.asked[view.model] for view in (views.base, views.tuned))
    differs = asked_ft.name != asked.name
    return DialectUse(
        name=asked.name,
        title=DIALECTS[asked.name].title,
        why=asked.why,
        ft_name=asked_ft.name if differs else None,
        ft_why=asked_ft.why if differs else None,
        spoken=views.spoken,
        read_as=views.read_as,
        base_counts=_counted(case.base.written_in for case in cases if case.expects_call),
        ft_counts=_counted(case.ft.written_in for case in cases if case.expects_call),
        base_drift=_counted(answer.dialect for answer in base),
        ft_drift=_counted(answer.dialect for answer in tuned),
        message=_switched(cases, views),
    )


def _counted(names: Iterable[str | None]) -> dict[str, int]:
    return dict(Counter(name for name in names if name).most_common())


def _switched(cases: Sequence[CaseReport], views: Views) -> str | None:
    """Says so where the adapter gave up the way its base writes calls."""
    switched = Counter(case.ft.dialect for case in cases if case.ft.dialect and not case.base.dialect)
    if not switched:
        return None
    most, times = switched.most_common(1)[0]
    before = views.read_as or views.spoken or views.asked[views.base.model].name
    return (
        f"the {views.subject} switched from {DIALECTS[before].title} to {DIALECTS[most].title} "
        f"in {times} of {len(cases)} answers"
    )
