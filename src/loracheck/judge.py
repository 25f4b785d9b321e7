"""Judge: a plan and its answers become a Report. Pure Python: no files, no model, no clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields

from loracheck.cases import did_you_mean
from loracheck.errors import ReportError
from loracheck.plan import Plan
from loracheck.probes import KINDS, words_of
from loracheck.probes.probe import Answers
from loracheck.probes.reading import having_heard_the_base
from loracheck.results import CaseReport, ProbeReport, Report, overall
from loracheck.scoring import Limits

# The limits that are judged only on some cases, and what these cases have.
_NEEDED: dict[str, tuple[str, Callable[[CaseReport], bool]]] = {
    "assert_exact_arguments_gte": ("gold_arguments", lambda case: case.ft.arguments_correct is not None),
    "assert_abstention_gte": ("expect: no_call", lambda case: not case.expects_call),
    "assert_all_calls_gte": ("gold_calls", lambda case: case.ft.matched is not None),
    "assert_pass_hat_k_delta_gte": ("several tries", lambda case: case.expects_call and bool(case.ft.tries)),
}


def judge(plan: Plan, answers: Answers) -> Report:
    views = having_heard_the_base(plan.views, plan.steps, answers)
    probes = tuple(KINDS[step.entry.kind].judge(step, answers, views) for step in plan.steps)
    verdict, score = overall(probes)
    from_store = sum(answer.stored for answer in answers)
    return Report(
        loracheck_version=plan.loracheck_version,
        verdict=verdict,
        score=score,
        probes=probes,
        provenance=plan.provenance,
        timing={
            "load_seconds": answers.load_seconds,
            "answers_from_store": from_store,
            "answers_computed": len(answers) - from_store,
        },
        warnings=(*doubts_of(probes), *plan.warnings),
    )


def judge_again(report: Report, limits: Mapping[str, float]) -> Report:
    """The report those limits would have given: `NAME.assert_…` for one probe, `assert_…` for all of them.

    ReportError for a limit that does not exist or that no case speaks to, or a probe that the report does not have.
    """
    by_probe = _limits_by_probe(report.judged, limits)
    seed = report.provenance.seeds.get("bootstrap")
    # A file may be edited by hand.
    seed = seed if isinstance(seed, int) and seed >= 0 else 0
    probes = tuple(
        words.judge_again(probe, by_probe[probe.name], seed)
        if by_probe.get(probe.name) and (words := KINDS.get(probe.kind))
        else probe
        for probe in report.probes
    )
    verdict, score = overall(probes)
    kept = [warning for warning in report.warnings if warning not in set(doubts_of(report.probes))]
    return report.model_copy(
        update={
            "verdict": verdict,
            "score": score,
            "probes": probes,
            "warnings": (*doubts_of(probes), *kept),
            "judged_with": {**_outlasting(report.judged_with or {}, limits), **limits},
        }
    )


def _outlasting(earlier: Mapping[str, float], limits: Mapping[str, float]) -> dict[str, float]:
    """What an earlier judging again set, without what a limit for all probes has now overruled."""
    return {spelled: bound for spelled, bound in earlier.items() if spelled.rpartition(".")[2] not in limits}


def doubts_of(probes: Iterable[ProbeReport]) -> Iterator[str]:
    """What makes their verdicts worth little, a warning each."""
    for probe in probes:
        yield from (f"{probe.name}: {doubt}" for doubt in words_of(probe.kind).doubts(probe))


def _limits_by_probe(probes: Sequence[ProbeReport], limits: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """A limit for one probe counts before one for all, whatever their order."""
    known = [field.name for field in fields(Limits)]
    by_probe: dict[str, dict[str, float]] = {probe.name: {} for probe in probes}
    for spelled, bound in sorted(limits.items(), key=lambda item: "." in item[0]):
        name, _, limit = spelled.rpartition(".")
        if limit not in known:
            raise ReportError(f"no limit {limit!r}; there are {', '.join(known)}{did_you_mean(limit, known)}")
        if name and name not in by_probe:
            raise ReportError(
                f"no probe {name!r} in the report; it has {', '.join(by_probe)}{did_you_mean(name, by_probe)}"
            )
        meant = [probe for probe in probes if name in ("", probe.name)]
        what, is_judged_on = _NEEDED.get(limit, ("", None))
        if meant and is_judged_on and not any(is_judged_on(case) for probe in meant for case in probe.cases):
            names = ", ".join(probe.name for probe in meant)
            raise ReportError(f"{names}: {limit} needs cases with {what}, and there are none; leave it out")
        for probe in meant:
            by_probe[probe.name][limit] = bound
    return by_probe
