"""What a comparison of two views says, in words: written once, for every form of the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from loracheck.probes.probe import Reason, Row
from loracheck.results import ProbeReport
from loracheck.scoring.dialects import DIALECTS
from loracheck.scoring.evidence import DialectUse, Drift, PairedTest
from loracheck.scoring.limits import LimitCheck
from loracheck.text import cut, percent, points, signed, small, visible

FEW_CASES = 8

_INSTEAD = {
    "no_call": "answered without a call",
    "malformed": "written as broken JSON",
    "truncated": "cut off before the end",
    "bad_arguments": "made with bad arguments",
}


# Rows


def rows(report: ProbeReport) -> Iterator[Row]:
    """The judged figures first, then what stands beside the verdict, as far as the report has it."""
    evidence = report.comparison
    checks = evidence.checks(report.z_score)
    valid, names = checks["assert_validity_delta_gte"], checks["assert_hallucination_lte"]
    rates = percent(report.base_value), percent(report.ft_value)
    yield Row("valid calls", *rates, points(valid.value), f"at least {points(valid.bound)}", valid.kept)
    yield Row("wrong tool names", "", percent(names.value), "", f"at most {percent(names.bound)}", names.kept)
    yield _null_row(report, checks["assert_z_gte"])
    if evidence.null.p_value is not None:
        yield Row("p against nulls", limit=f"not judged; exact, one-sided {small(evidence.null.p_value)}")
    pairs = "–" if evidence.num_arg_pairs_compared is None else evidence.num_arg_pairs_compared
    drift = percent(evidence.mean_arg_disagreement)
    yield Row("argument drift", adapter=drift, limit=f"not judged; {pairs} pairs compared")
    if evidence.exact_arguments_ft is not None:
        yield _optional("exact arguments", evidence.exact_arguments_base, checks["assert_exact_arguments_gte"])
    if evidence.strict:
        yield Row("strict schema", percent(evidence.strict.base), percent(evidence.strict.ft), limit="not judged")
    if evidence.abstention:
        asked = "–" if evidence.abstention.cases is None else evidence.abstention.cases
        note = f"; {asked} cases that fit no tool"
        yield _optional("abstains", evidence.abstention.base, checks["assert_abstention_gte"], note)
    if report.ci_95:
        low, high = report.ci_95
        of = len(report.cases) if evidence.num_cases is None else evidence.num_cases
        yield Row("95% interval", limit=f"{percent(low, 0)} to {percent(high, 0)} of {of} cases valid")


def _optional(name: str, base: float | None, check: LimitCheck, note: str = "") -> Row:
    """What is judged only where the suite gave it a limit."""
    limit = "not judged" if check.bound is None else f"at least {percent(check.bound)}"
    return Row(name, percent(base), percent(check.value), "", f"{limit}{note}", check.kept)


def _null_row(report: ProbeReport, check: LimitCheck) -> Row:
    null = report.comparison.null
    if report.z_score is None:
        why = visible(cut(null.why, 300)) if null.why else "no null adapters"
        return Row("z against nulls", adapter="–", limit=f"not judged: {why}")
    limit = f"at least {signed(check.bound)}; nulls: {percent(null.mean, 0)} ± {percent(null.std, 0)}"
    return Row("z against nulls", "", signed(report.z_score), "", limit, check.kept)


# Reasons


def reasons(report: ProbeReport) -> list[Reason]:
    """Why the verdict is what it is, in the order of the limits."""
    if report.verdict == "pass" and report.cases:
        return [_nothing_broke(report)]
    checks = report.comparison.checks(report.z_score) if report.verdict == "fail" else {}
    missed = [_REASONS[limit](report, check) for limit, check in checks.items() if check.kept is False]
    return missed or [Reason(report.message)]


def _lost(report: ProbeReport, check: LimitCheck) -> Reason:
    asked = report.asked
    lost = Counter(case.ft.outcome for case in asked if case.base.valid and not case.ft.valid)
    detail = (
        f"Valid calls went from {percent(report.base_value)} to {percent(report.ft_value)}, "
        f"a change of {points(check.value)}; the limit is {points(check.bound)}."
    )
    n = lost.total()
    if not n:
        return Reason(detail)
    instead = ", ".join(
        f"{times} {_INSTEAD[outcome]}" if len(lost) > 1 else _INSTEAD[outcome]
        for outcome, times in lost.most_common()
        if outcome in _INSTEAD
    )
    return Reason(f"{n} of {len(asked)} calls {'is' if n == 1 else 'are'} lost: {instead}.", detail)


def _misnamed(report: ProbeReport, check: LimitCheck) -> Reason:
    asked = report.asked
    wrong = [case for case in asked if case.ft.outcome == "wrong_tool"]
    if not wrong:
        return Reason(f"{percent(check.value)} of the valid calls name a wrong tool, over {percent(check.bound)}.")
    first = wrong[0]
    name = first.ft.call.get("name") if isinstance(first.ft.call, dict) else None
    such = f", such as {name[:80]} for {first.gold_tool_name}" if isinstance(name, str) and first.gold_tool_name else ""
    headline = f"{len(wrong)} of {len(asked)} answers {'names' if len(wrong) == 1 else 'name'} a wrong tool{such}."
    return Reason(headline, f"That is {percent(check.value)} of the valid calls; the limit is {percent(check.bound)}.")


def _near_nulls(_: ProbeReport, check: LimitCheck) -> Reason:
    return Reason(
        "Its valid calls are too close to those of null adapters.",
        f"z is {signed(check.value)}, and the limit is {signed(check.bound)}.",
    )


def _inexact(_: ProbeReport, check: LimitCheck) -> Reason:
    return Reason(f"{percent(check.value)} of the arguments are exact, and the limit is {percent(check.bound)}.")


def _overeager(report: ProbeReport, check: LimitCheck) -> Reason:
    quiet = [case for case in report.cases if case.expect == "no_call"]
    loud = sum(case.ft.outcome != "no_call" for case in quiet)
    detail = f"It abstains in {percent(check.value)} of them; the limit is {percent(check.bound)}."
    return Reason(f"{loud} of {len(quiet)} requests that fit no tool bring a call.", detail)


_REASONS: dict[str, Callable[[ProbeReport, LimitCheck], Reason]] = {
    "assert_validity_delta_gte": _lost,
    "assert_hallucination_lte": _misnamed,
    "assert_z_gte": _near_nulls,
    "assert_exact_arguments_gte": _inexact,
    "assert_abstention_gte": _overeager,
}


def _nothing_broke(report: ProbeReport) -> Reason:
    total = len(report.cases)
    right = sum(case.is_right(case.base) for case in report.cases)
    broken, mended = len(report.broken), sum(case.mended for case in report.cases)
    if not right:
        return Reason(
            f"{mended} of {total} cases are right with the adapter, none without it.",
            "The base got nothing right, so there was nothing to break.",
        )
    gained = f"{mended} more are right now." if mended else ""
    if not broken:
        return Reason(f"Nothing broke: the {right} of {total} cases the base gets right are still right.", gained)
    return Reason(f"{broken} of {right} cases the base gets right broke, within the limits.", gained)


# Paragraphs


def paragraphs(report: ProbeReport) -> Iterator[str]:
    """One for what the report has to say about each thing."""
    evidence = report.comparison
    validity, exact = evidence.paired.validity, evidence.paired.exact_call
    if validity:
        yield paired_sentence("Valid calls", validity)
    if exact and (validity is None or exact.counts != validity.counts):
        yield paired_sentence("Exact calls", exact)
    if too_few := _too_few(report):
        yield too_few
    if evidence.power.detectable_drop is not None:
        drop = 100 * evidence.power.detectable_drop
        yield f"With this many cases, a drop of {drop:.0f} points or more is found four times out of five."
    by_rank = (evidence.z_by_rank or {}).items()
    if len(by_rank) > 1:
        ranks = (f"×{visible(cut(name, 20)).removeprefix('rank_')} {signed(z)}" for name, z in by_rank)
        yield f"z by rank of the null adapters: {', '.join(ranks)}."
    if evidence.drift:
        yield from _drift_sentences(evidence.drift)
    if evidence.dialect:
        yield from _dialect_sentences(evidence.dialect)


def paired_sentence(what: str, test: PairedTest) -> str:
    """What changed case by case, and how sure that is."""
    change = f"change {points(test.delta, 0)}"
    if test.interval_95:
        low, high = test.interval_95
        change += f", 95% interval {100 * low:+.0f} to {100 * high:+.0f}"
    return f"{what}: {test.lost} lost, {test.gained} gained of {test.n}; {change}; McNemar p {small(test.mcnemar_p)}."


def caution(report: ProbeReport) -> str | None:
    """Too few cases, unless another limit than that on valid calls was missed: more would not change such a verdict."""
    checks = report.comparison.checks(report.z_score).items()
    missed_others = any(check.kept is False and limit != "assert_validity_delta_gte" for limit, check in checks)
    return None if missed_others else _too_few(report)


def _too_few(report: ProbeReport) -> str | None:
    """Says so where too few cases were asked to tell whether valid calls keep their limit."""
    evidence = report.comparison
    if not evidence.power.inconclusive:
        return None
    floor = points(evidence.limits.assert_validity_delta_gte)
    doubt = f"Too few cases to be sure: the 95% interval of the change has the limit of {floor} inside."
    needed = evidence.power.cases_needed
    return f"{doubt} About {needed:,} cases would settle it." if needed else doubt


def _drift_sentences(drift: Drift) -> Iterator[str]:
    kinds = []
    if drift.kl_format is not None:
        kinds.append(f"format KL {small(drift.kl_format)}, {percent(drift.changed_format)}")
    if drift.kl_values is not None:
        kinds.append(f"values KL {small(drift.kl_values)}, {percent(drift.changed_values)}")
    if kinds:
        yield f"Drift on the base's own calls: {'; '.join(kinds)} of tokens changed."
    if drift.moved:
        most = drift.moved[0]
        case, before, after = (visible(cut(text, 20)) for text in (most.case, most.base_top, most.ft_top))
        yield f"Most moved: {case}, token {most.position}: “{before}” to “{after}”."


def _dialect_sentences(use: DialectUse) -> Iterator[str]:
    if use.message:
        yield f"Dialect: {visible(cut(use.message, 300))}."
    elif use.name not in (None, "json") and use.title:
        why = f" ({visible(cut(use.why, 200))})" if use.why else ""
        yield f"Dialect: {visible(cut(use.title, 80))}{why}."


# Doubts


def doubts(report: ProbeReport) -> Iterator[str]:
    """What makes a verdict worth little."""
    evidence, asked = report.comparison, report.asked
    if not any(case.base.valid or case.ft.valid for case in asked):
        if asked:
            yield "no valid call in either view: the verdict compares nothing with nothing"
    elif not any(case.base.valid and case.ft.valid for case in asked):
        yield "no case where both views make a valid call: how arguments drifted could not be compared"
    # A suite of no_call cases alone, with a limit on them, is no suite of too few calls.
    asks_for_none = not asked and evidence.limits.assert_abstention_gte is not None
    if len(asked) < FEW_CASES and not asks_for_none:
        yield f"only {len(asked)} cases that expect a call: a verdict needs {FEW_CASES} at the least"
    if evidence.null.rates and not evidence.null.usable:
        yield f"the null adapters say nothing: {evidence.null.why}"
    use = evidence.dialect
    if use and use.base_drift and sum(use.base_drift.values()) > len(report.cases) / 2:
        most = max(use.base_drift, key=use.base_drift.__getitem__)
        title = DIALECTS[most].title if most in DIALECTS else most
        yield (
            f"{use.base_drift[most]} of {len(report.cases)} answers of the base are in the dialect {title} and were "
            f"read as {use.title}; try --dialect {most}"
        )
