"""How sure a verdict is, in words: what to bear in mind beside it, and what chance alone would make of such cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from loracheck.probes.probe import Reason
from loracheck.results import ProbeReport
from loracheck.scoring.evidence import Evidence, Flips, Power
from loracheck.text import counted, interval_points, percent, points, signed

_VALIDITY = "assert_validity_delta_gte"
_OTHERS = {
    "assert_hallucination_lte": "wrong tool names",
    "assert_z_gte": "z",
    "assert_exact_arguments_gte": "exact arguments",
    "assert_abstention_gte": "abstention",
    "assert_all_calls_gte": "answers with all their calls right",
    "assert_pass_hat_k_delta_gte": "the change of pass^k",
}
_IN_WORDS: dict[str, Callable[[float], str]] = {"assert_z_gte": signed, "assert_pass_hat_k_delta_gte": points}
_NO_VALID_CALL = {
    "truncated": "cut off before the end",
    "no_call": "without a call",
    "malformed": "calls that cannot be read",
    "bad_arguments": "calls with bad arguments",
}
# A harmless adapter that FAILs more often than this by its base's own wrong names is worth a word.
_OFTEN = 0.05


def nothing_compared(evidence: Evidence) -> Reason:
    """Why the verdict says nothing about the adapter."""
    came_out: Counter[str] = Counter()
    for counts in evidence.outcomes.values():
        came_out.update(counts)
    kinds = [(times, _NO_VALID_CALL[kind]) for kind, times in came_out.most_common() if kind in _NO_VALID_CALL]
    headline = "Nothing was compared: neither view makes a valid call."
    if not kinds:
        return Reason(headline)
    (most, what), *others = kinds
    share = f"{most} of {came_out.total()}" if others else f"All {most}"
    return Reason(headline, f"{share} answers are {what}{''.join(f', {times} {kind}' for times, kind in others)}.")


# What to bear in mind


def caution(report: ProbeReport) -> str | None:
    """Too few cases, where the verdict hangs on a number whose interval holds its limit."""
    evidence = report.comparison
    checks = evidence.checks(report.z_score)
    doubts = {limit: doubt for limit in checks if (doubt := _doubt(evidence, limit))}
    missed = [limit for limit, check in checks.items() if check.kept is False]
    # One limit that was surely missed is enough: more cases would not change such a verdict.
    if any(limit not in doubts for limit in missed):
        return None
    return next((doubts[limit] for limit in missed or checks if limit in doubts), None)


def doubt_about_validity(evidence: Evidence) -> str | None:
    """Says so where too few cases were asked to tell whether valid calls keep their limit."""
    if evidence.compares_nothing or not evidence.power.inconclusive:
        return None
    interval = evidence.paired.validity.interval_95 if evidence.paired.validity else None
    change = f"may be {interval_points(*interval)} points (95% interval)" if interval else "is not known well"
    limit = points(evidence.limits.assert_validity_delta_gte)
    return f"Too few cases to be sure: the change {change}, and the limit is {limit}.{_advice(evidence.power)}"


def _doubt(evidence: Evidence, limit: str) -> str | None:
    if limit == _VALIDITY:
        return doubt_about_validity(evidence)
    known = evidence.certainty.get(limit)
    if evidence.compares_nothing or not known or known.grade == "established" or not known.interval_95:
        return None
    in_words = _IN_WORDS.get(limit, percent)
    low, high, bound = map(in_words, (*known.interval_95, getattr(evidence.limits, limit)))
    return (
        f"Too few cases to be sure: {_OTHERS[limit]} may be {low} to {high} (95% interval), and the limit is {bound}."
    )


def _advice(power: Power) -> str:
    # Reports of an older loracheck have the number for even odds where that for four in five is now.
    even, needed = (power.cases_even_odds, power.cases_needed) if power.cases_even_odds else (power.cases_needed, None)
    more = f", and about {_about(needed)} for four in five" if needed else ""
    return f" It takes about {_about(even)} cases in all for even odds of being sure{more}." if even else ""


def _about(many: int) -> str:
    """In three digits."""
    return f"{round(many, 3 - len(str(many))):,}" if many > 999 else str(many)


# What chance alone would do


def chances(evidence: Evidence) -> Iterator[str]:
    """What it takes to FAIL with so many cases, and how often chance would bring it about."""
    power = evidence.power
    if what_fails := "; ".join(_what_fails(power, evidence.num_cases)):
        yield f"{what_fails}.{_by_chance(power, evidence.flips)}"
    if evidence.flips:
        yield from _flips(evidence.flips)
    if (chance := power.chance_of_fail_by_names) is not None and chance >= _OFTEN:
        a_subject = "an adapter" if evidence.subject == "adapter" else "a candidate"
        yield (
            f"The base itself names a wrong tool in {percent(evidence.hallucination_rate_base)} of its valid calls: "
            f"{a_subject} that does no worse FAILs {how_often(chance)} of runs by the limit of "
            f"{percent(evidence.limits.assert_hallucination_lte)}."
        )


def _what_fails(power: Power, cases: int | None) -> Iterator[str]:
    detectable = None if power.detectable_drop is None else _drop(power.detectable_drop)
    if power.fails_from and power.failing_drop is not None:
        such = f"A check of {counted(cases, 'case')}" if cases else "Such a check"
        yield f"{such} FAILs from {counted(power.fails_from, 'lost case')}"
        yield f"a true drop of {_drop(power.failing_drop)} points FAILs 4 runs in 5"
        if detectable:
            yield f"p < 0.05 needs {detectable}"
    elif detectable:
        yield f"A true drop of {detectable} points gives p < 0.05 in 4 runs of 5"


def _by_chance(power: Power, flips: Flips | None) -> str:
    if power.chance_of_fail is None or power.flip_rate is None or not power.fails_from:
        return ""
    measured = f"{percent(power.flip_rate)} of answers flip by chance, as measured,"
    rate = measured if flips and flips.rate else "1 answer in 50 flips by chance,"
    return f" If {rate} that alone FAILs {how_often(power.chance_of_fail)} of runs."


def _flips(flips: Flips) -> Iterator[str]:
    if flips.rounded_alike:
        yield "Asked once more at another width, the base computed the very same: that measures no flips."
    elif flips.answers is not None and flips.outcomes is not None:
        width = f", {counted(flips.width, 'case')} at a time," if flips.width else ""
        changed = f"{percent(flips.answers)} of its answers and {percent(flips.outcomes)} of their outcomes"
        yield f"Asked once more{width} the base changed {changed}."


def _drop(share: float) -> str:
    return f"{100 * share:.{0 if share >= 0.1 else 1}f}"


def how_often(share: float) -> str:
    """A chance: what is rare keeps a digit, what is very rare has none."""
    if 0 < share < 0.001:
        return "under 0.1%"
    return percent(share, 1 if share < 0.0995 else 0)
