"""What several tries at each case say, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from loracheck.probes import certainty_words
from loracheck.probes.probe import Reason, Row
from loracheck.results import ProbeReport
from loracheck.scoring.limits import LimitCheck
from loracheck.scoring.tries import TriedRate, Tries
from loracheck.text import counted, cut, interval_points, percent, points, visible

_MOST_NAMES = 8


def summary(tries: Tries) -> str:
    """All of it in a line or two; the pages have more."""
    valid, exact = tries.valid, tries.exact
    shares = f"valid calls {percent(valid.base)} to {percent(valid.ft)}"
    as_expected = f"as expected {percent(exact.base)} to {percent(exact.ft)} ({_change(exact)})"
    return f"{_asked(tries)}: {shares}, {as_expected}{_all_right(tries)}."


def rows_beside(tries: Tries, check: LimitCheck) -> Iterator[Row]:
    """Of the table of what is judged: in how many cases all tries are as expected."""
    *_, row = _several_right(tries)
    if check.bound is not None:
        yield replace(row, change=points(check.value), limit=f"at least {points(check.bound)}", kept=check.kept)
    elif tries.tries > 1:
        yield replace(row, limit="not judged", is_asked_for=True)


def rows(tries: Tries) -> Iterator[Row]:
    """The figures of a page's own table: what stands under `limit` are notes, as nothing is judged in it."""
    for name, rate in (("valid calls", tries.valid), ("calls as expected", tries.exact)):
        yield Row(name, percent(rate.base), percent(rate.ft), points(rate.delta), "; ".join(_notes(rate)))
    if tries.tries > 1:
        yield from _several_right(tries)


def details(tries: Tries) -> Iterator[str]:
    """What a page has room for beside its table."""
    exact = tries.exact
    between, within = exact.variance_between_cases, exact.variance_within_cases
    if between is not None and within is not None and between + within > 0:
        share = between / (between + within)
        yield (
            f"Of the variance of the change in calls as expected, {percent(share, 0)} comes from the choice of cases "
            f"and {percent(1 - share, 0)} from the luck of the tries: more {'cases' if share >= 0.5 else 'tries'} "
            "would tell more."
        )
    if exact.flaky_ft:
        yield f"Now as expected and now not, only with the adapter: {_names(exact.flaky_ft)}."
    if exact.flaky_base:
        yield f"Now as expected and now not, only in the base: {_names(exact.flaky_base)}."


def too_few_all_right(report: ProbeReport, check: LimitCheck) -> Reason:
    detail = f"That is a change of {points(check.value)}; the limit is {points(check.bound)}."
    tries = report.comparison.tries
    if tries is None or not tries.exact.pass_all_ft:
        return Reason("Fewer cases come out right in all their tries.", detail)
    base, ft = percent(tries.exact.pass_all_base[-1]), percent(tries.exact.pass_all_ft[-1])
    return Reason(f"All {tries.tries} tries are as expected in {ft} of the cases, in the base in {base}.", detail)


def _asked(tries: Tries) -> str:
    many = "1 try" if tries.tries == 1 else f"{tries.tries} tries"
    return f"{many} at each of {counted(tries.cases, 'case')}"


def _change(rate: TriedRate) -> str:
    change = f"change {points(rate.delta)}"
    return f"{change}, 95% interval {interval_points(*rate.interval_95)}" if rate.interval_95 else change


def _all_right(tries: Tries) -> str:
    exact = tries.exact
    if tries.tries < 2 or not exact.pass_all_base or not exact.pass_all_ft:
        return ""
    return f", all {tries.tries} right {percent(exact.pass_all_base[-1])} to {percent(exact.pass_all_ft[-1])}"


def _notes(rate: TriedRate) -> Iterator[str]:
    if rate.interval_95:
        yield f"95% interval {interval_points(*rate.interval_95)}"
    split = f"{counted(rate.worse, 'case')} worse, {rate.better} better"
    is_told = rate.sign_p is not None and rate.worse + rate.better > 0
    yield f"{split}: by chance in {certainty_words.how_often(rate.sign_p or 0.0)} of checks" if is_told else split


def _several_right(tries: Tries) -> Iterator[Row]:
    k, exact = tries.tries, tries.exact
    yield _chance_row(f"any of {k} as expected", f"pass@{k}", exact.pass_at_base, exact.pass_at_ft)
    yield _chance_row(f"all {k} as expected", f"pass^{k}", exact.pass_all_base, exact.pass_all_ft)


def _chance_row(name: str, note: str, base: Sequence[float], ft: Sequence[float]) -> Row:
    before, after = base[-1] if base else None, ft[-1] if ft else None
    change = None if before is None or after is None else after - before
    return Row(name, percent(before), percent(after), points(change), note)


def _names(cases: Sequence[str]) -> str:
    more = f" and {len(cases) - _MOST_NAMES} more" if len(cases) > _MOST_NAMES else ""
    return ", ".join(visible(cut(name, 40)) for name in cases[:_MOST_NAMES]) + more
