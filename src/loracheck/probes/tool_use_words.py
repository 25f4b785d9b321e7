"""What a comparison of two views says, in words: written once, for every form of the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from loracheck.probes import certainty_words, dialect_words, tries_words
from loracheck.probes.probe import Reason, Row
from loracheck.results import ProbeReport, ViewAnswer
from loracheck.scoring.evidence import Drift, Evidence, Split, Subject, TemplatesDiffer
from loracheck.scoring.limits import LimitCheck, is_exactly_at
from loracheck.scoring.paired_test import PairedTest
from loracheck.scoring.statistics import wilson
from loracheck.text import cut, interval_points, percent, points, signed, small, visible

FEW_CASES = 8

_INSTEAD = {
    "no_call": "answered without a call",
    "malformed": "cannot be read",
    "truncated": "cut off before the end",
    "bad_arguments": "made with bad arguments",
}


# Rows


def rows(report: ProbeReport) -> Iterator[Row]:
    """The judged figures first, then what stands beside the verdict, as far as the report has it."""
    evidence = report.comparison
    checks = evidence.checks(report.z_score)
    valid, names = checks["assert_validity_delta_gte"], checks["assert_hallucination_lte"]
    null, rates = evidence.null, (percent(report.base_value), percent(report.ft_value))
    named_base = "" if evidence.hallucination_rate_base is None else percent(evidence.hallucination_rate_base)
    yield Row("valid calls", *rates, points(valid.value), f"at least {points(valid.bound)}", valid.kept)
    yield Row("wrong tool names", named_base, percent(names.value), "", f"at most {percent(names.bound)}", names.kept)
    yield _null_row(report, checks["assert_z_gte"])
    # Sentinels are other questions than the cases: there is nothing to compare.
    if null.p_value is not None and null.on == "cases":
        yield Row("p, null adapters", limit="not judged", note=f"exact, one-sided {small(null.p_value)}")
    if evidence.split:
        yield from _split_rows(evidence.split)
    pairs = "–" if evidence.num_arg_pairs_compared is None else evidence.num_arg_pairs_compared
    drift = percent(evidence.mean_arg_disagreement)
    yield Row("argument drift", adapter=drift, limit="not judged", note=f"{pairs} pairs compared")
    if evidence.exact_arguments_ft is not None:
        yield _optional("exact arguments", evidence.exact_arguments_base, checks["assert_exact_arguments_gte"])
    if several := evidence.several:
        note = f"{several.cases} cases with several calls"
        yield _optional("all calls right", several.right_base, checks["assert_all_calls_gte"], note)
        yield Row("calls missing", str(several.missing_base), str(several.missing_ft), limit="not judged")
        yield Row("calls too many", str(several.extra_base), str(several.extra_ft), limit="not judged")
    if evidence.tries:
        yield from tries_words.rows_beside(evidence.tries, checks["assert_pass_hat_k_delta_gte"])
    if evidence.strict:
        strict = percent(evidence.strict.base), percent(evidence.strict.ft)
        yield Row("strict schema", *strict, limit="not judged", is_asked_for=True)
    if evidence.abstention:
        asked = "–" if evidence.abstention.cases is None else evidence.abstention.cases
        note = f"{asked} cases that fit no tool"
        yield _optional("abstains", evidence.abstention.base, checks["assert_abstention_gte"], note)
    of = len(report.asked) if evidence.num_cases is None else evidence.num_cases
    if of and report.ft_value is not None and 0 <= report.ft_value <= 1:
        # Not the report's own interval, a bootstrap that has no width where all answers are alike.
        low, high = wilson(report.ft_value, of)
        yield Row("95% interval", limit=f"{percent(low, 0)} to {percent(high, 0)} valid calls, of {of}")


def _split_rows(split: Split) -> Iterator[Row]:
    """What each change to the base cost in valid calls."""
    parts = (("quantizing alone", split.quantization), ("adapter alone", split.adapter), ("both together", split.both))
    for name, cost in parts:
        rates = percent(cost.json_valid_rate_base), percent(cost.json_valid_rate_ft)
        flips = f"valid calls: {cost.paired.lost} lost, {cost.paired.gained} gained" if cost.paired else ""
        yield Row(name, *rates, points(cost.validity_delta), flips, is_asked_for=True)


def _optional(name: str, base: float | None, check: LimitCheck, note: str = "") -> Row:
    """What is judged only where the suite gave it a limit."""
    limit = "not judged" if check.bound is None else f"at least {percent(check.bound)}"
    return Row(name, percent(base), percent(check.value), "", limit, check.kept, note)


def _null_row(report: ProbeReport, check: LimitCheck) -> Row:
    null = report.comparison.null
    name, base = "above null adapters", "" if null.base_z is None else f"z {signed(null.base_z)}"
    if report.z_score is None:
        why = visible(cut(null.why, 300)) if null.why else "no null adapters"
        return Row(name, base, "–", limit=f"not judged: {why}")
    note = f"they get {percent(null.mean, 0)} ± {percent(null.std, 0)}"
    return Row(name, base, f"z {signed(report.z_score)}", "", f"at least z {signed(check.bound)}", check.kept, note)


# Reasons


def reasons(report: ProbeReport) -> list[Reason]:
    """Why the verdict is what it is, in the order of the limits."""
    nothing = report.comparison.compares_nothing and report.verdict in ("pass", "fail")
    if report.verdict == "pass" and report.cases and not nothing:
        return [_nothing_broke(report)]
    checks = report.comparison.checks(report.z_score) if report.verdict == "fail" else {}
    missed = [
        _REASONS[limit](report, check)
        for limit, check in checks.items()
        # A z of 0 is no reason of its own where there was nothing to compare.
        if check.kept is False and (not nothing or limit == "assert_abstention_gte")
    ]
    if nothing:
        return [certainty_words.nothing_compared(report.comparison), *missed]
    return missed or [Reason(report.message)]


def _lost(report: ProbeReport, check: LimitCheck) -> Reason:
    asked = report.asked
    lost = Counter(_instead(case.ft) for case in asked if case.base.valid and not case.ft.valid)
    limit = (
        ", exactly at the limit: rounding decides"
        if _is_at_the_limit(report)
        else f"; the limit is {points(check.bound)}"
    )
    rates = f"from {percent(report.base_value)} to {percent(report.ft_value)}"
    detail = f"Valid calls went {rates}, a change of {points(check.value)}{limit}."
    n = lost.total()
    if not n:
        return Reason(detail)
    instead = ", ".join(f"{times} {what}" if len(lost) > 1 else what for what, times in lost.most_common())
    return Reason(f"{n} of {len(asked)} calls {'is' if n == 1 else 'are'} lost: {instead}.", detail)


def _instead(answer: ViewAnswer) -> str:
    """What became of a call that is lost."""
    if answer.dialect:
        return f"written as {dialect_words.title(answer.dialect)}, which its base does not write"
    return _INSTEAD.get(answer.outcome, answer.outcome)


def _is_at_the_limit(report: ProbeReport) -> bool:
    test, floor = report.comparison.paired.validity, report.comparison.limits.assert_validity_delta_gte
    return test is not None and is_exactly_at(test.gained, test.lost, test.n, floor)


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


def _not_all_calls(report: ProbeReport, check: LimitCheck) -> Reason:
    several = report.comparison.several
    detail = ""
    if several:
        detail = (
            f"Of the calls that were expected {several.missing_ft} were not made and {several.wrong_arguments_ft} have "
            f"other arguments; {several.extra_ft} more were made."
        )
    share = percent(check.value)
    return Reason(
        f"{share} of the answers make all their calls right, and the limit is {percent(check.bound)}.", detail
    )


_REASONS: dict[str, Callable[[ProbeReport, LimitCheck], Reason]] = {
    "assert_validity_delta_gte": _lost,
    "assert_hallucination_lte": _misnamed,
    "assert_z_gte": _near_nulls,
    "assert_exact_arguments_gte": _inexact,
    "assert_abstention_gte": _overeager,
    "assert_all_calls_gte": _not_all_calls,
    "assert_pass_hat_k_delta_gte": tries_words.too_few_all_right,
}


def _nothing_broke(report: ProbeReport) -> Reason:
    total = len(report.cases)
    right = sum(case.is_right(case.base) for case in report.cases)
    broken, mended = len(report.broken), sum(case.mended for case in report.cases)
    if not right:
        subject = report.comparison.subject
        none = "none without it" if subject == "adapter" else "none with the base"
        return Reason(
            f"{mended} of {total} cases are right with the {subject}, {none}.",
            "The base got nothing right, so there was nothing to break.",
        )
    more = [f"{mended} more are right now."] if mended else []
    if _is_at_the_limit(report):
        more.append("Valid calls are exactly at the limit: rounding decides.")
    if not broken:
        return Reason(
            f"Nothing broke: the {right} of {total} cases the base gets right are still right.", " ".join(more)
        )
    return Reason(f"{broken} of {right} cases the base gets right broke, within the limits.", " ".join(more))


# Paragraphs


def paragraphs(report: ProbeReport) -> Iterator[str]:
    """One for what the report has to say about each thing."""
    evidence = report.comparison
    validity, exact = evidence.paired.validity, evidence.paired.exact_call
    if validity:
        yield paired_sentence("Valid calls", validity)
    if exact and (validity is None or exact.counts != validity.counts):
        yield paired_sentence("Exact calls", exact, is_first=validity is None)
    if evidence.several and evidence.several.paired:
        yield paired_sentence("All calls", evidence.several.paired, is_first=False)
    if evidence.tries:
        yield tries_words.summary(evidence.tries)
    if doubt := certainty_words.doubt_about_validity(evidence):
        yield doubt
    yield from certainty_words.chances(evidence)
    by_rank = (evidence.z_by_rank or {}).items()
    if len(by_rank) > 1:
        ranks = (f"×{visible(cut(name, 20)).removeprefix('rank_')} {signed(z)}" for name, z in by_rank)
        yield f"z by rank of the null adapters: {', '.join(ranks)}."
    yield from _drift_or_why_not(evidence)
    if evidence.templates:
        yield from _other_template(evidence.templates)
    if evidence.dialect:
        yield from dialect_words.sentences(evidence.dialect, evidence.subject)


def _drift_or_why_not(evidence: Evidence) -> Iterator[str]:
    if evidence.drift:
        plainly = _drift_in_a_word(evidence.drift, evidence.subject)
        yield from plainly if evidence.other_model else _drift_sentences(evidence.drift)
    if evidence.no_drift:
        yield f"Drift was not measured: {visible(cut(evidence.no_drift, 300))}."


def details(report: ProbeReport) -> Iterator[str]:
    """What takes some knowledge to read."""
    evidence = report.comparison
    if evidence.drift:
        if evidence.other_model:
            yield from _drift_sentences(evidence.drift)
        worst = (("format", evidence.drift.worst_format), ("values", evidence.drift.worst_values))
        if named := [f"{kind} {small(kl)}" for kind, kl in worst if kl is not None]:
            yield f"Largest KL at one place: {', '.join(named)}."


def paired_sentence(what: str, test: PairedTest, *, is_first: bool = True) -> str:
    """What changed case by case, and how often chance would split the changed cases like that."""
    change = f"change {points(test.delta, 0)}"
    if test.interval_95:
        change += f", 95% interval {interval_points(*test.interval_95)}"
    counts = f"{what}: {test.lost} lost, {test.gained} gained of {test.n}; {change}"
    if test.mcnemar_p is None or not test.lost + test.gained:
        return f"{counts}."
    share = certainty_words.how_often(test.mcnemar_p)
    if not is_first:
        return f"{counts}; such a split in {share} of checks."
    would = f"a split this uneven would come up in {share} of checks"
    return f"{counts}. If changed cases were as likely gained as lost, {would}."


def caution(report: ProbeReport) -> str | None:
    return certainty_words.caution(report)


def _drift_in_a_word(drift: Drift, subject: Subject) -> Iterator[str]:
    if drift.changed:
        places = f"At {percent(drift.changed)} of the places in the base's own calls"
        yield f"{places} the {subject} would write another token."
    elif drift.changed is not None:
        yield f"In the base's own calls the {subject} would write the same token everywhere."


def _other_template(differ: TemplatesDiffer) -> Iterator[str]:
    if not differ.prompts:
        return
    place = f"first {visible(cut(differ.case or '?', 40))}, from character {differ.position} on"
    base, candidate = (visible((text or "")[:40]) for text in (differ.base, differ.ft))
    yield (
        f"The chat templates differ: {differ.prompts} of {differ.cases} prompts are not the same, {place}: "
        f"“{base}” for the base, “{candidate}” for the candidate. --template base asks both alike."
    )


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


# Doubts

_NOTHING_VALID = "no valid call in either view: the verdict compares nothing with nothing"
_NO_PAIRS = "no case where both views make a valid call: how arguments drifted could not be compared"


def doubts(report: ProbeReport) -> Iterator[str]:
    """What makes a verdict worth little."""
    evidence, asked = report.comparison, report.asked
    if not any(case.base.valid or case.ft.valid for case in asked):
        if asked:
            yield _NOTHING_VALID
    elif not any(case.base.valid and case.ft.valid for case in asked):
        yield _NO_PAIRS
    # A suite of no_call cases alone, with a limit on them, is no suite of too few calls.
    asks_for_none = not asked and evidence.limits.assert_abstention_gte is not None
    if len(asked) < FEW_CASES and not asks_for_none:
        yield _too_few(report)
    yield from _silent_nulls(evidence)
    if evidence.dialect:
        yield from dialect_words.doubts(evidence.dialect)
    yield from dialect_words.cut_off_in_thinking(report.cases, evidence.subject)


def side_notes(report: ProbeReport) -> Iterator[str]:
    """What the verdict says already, or nobody can change."""
    yield from (_NOTHING_VALID, _NO_PAIRS)
    if caution(report):
        yield _too_few(report)
    yield from _silent_nulls(report.comparison)


def _too_few(report: ProbeReport) -> str:
    return f"only {len(report.asked)} cases that expect a call: a verdict needs {FEW_CASES} at the least"


def _silent_nulls(evidence: Evidence) -> Iterator[str]:
    if evidence.null.rates and not evidence.null.usable:
        yield f"the null adapters say nothing: {evidence.null.why}"
