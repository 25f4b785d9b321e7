"""One probe in two reports: what flipped on the cases that both asked, how sure that is, and which report is worse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from loracheck.probes.tool_use_words import paired_sentence
from loracheck.results import CaseReport, ProbeReport, ViewAnswer
from loracheck.scoring import Evidence, Limits, Reading, Trial, judge
from loracheck.scoring.evidence import Subject
from loracheck.scoring.limits import check_limits
from loracheck.scoring.paired_test import PairedTest, paired_test
from loracheck.scoring.statistics import SIGNIFICANT, Paired, cases_needed, mcnemar_p, pair, straddles
from loracheck.scoring.verdict import measure
from loracheck.text import percent, points, small

_GOOD, _BAD = ("pass", "warn"), ("fail", "error")


@dataclass(frozen=True, slots=True)
class Match:
    """One case in both reports; the answers compared are the adapters'."""

    a: CaseReport
    b: CaseReport

    @property
    def is_same_question(self) -> bool:
        asked, asked_again = (
            (case.prompt, case.expect, case.gold_tool_name, case.gold_calls) for case in (self.a, self.b)
        )
        return asked == asked_again

    @property
    def right(self) -> tuple[bool, bool]:
        return self.a.is_right(self.a.ft), self.b.is_right(self.b.ft)


@dataclass(frozen=True, slots=True)
class SharedFigures:
    """What `check` would have counted in one of the reports, had it asked the shared cases alone."""

    evidence: Evidence
    validity: Paired
    """Valid calls, from its base to its adapter."""
    hallucination_rate_base: float | None


@dataclass(frozen=True)
class ProbeDiff:
    a: ProbeReport
    b: ProbeReport

    @property
    def subject(self) -> Subject:
        """What both reports checked; an adapter where the two are not alike."""
        both = {self.a.comparison.subject, self.b.comparison.subject}
        return "candidate" if both == {"candidate"} else "adapter"

    @cached_property
    def same_ids(self) -> tuple[Match, ...]:
        others = {case.id: case for case in self.b.cases}
        return tuple(Match(case, others[case.id]) for case in self.a.cases if case.id in others)

    @cached_property
    def matches(self) -> tuple[Match, ...]:
        """The shared cases: answers to two questions are no pair, even under one id."""
        return tuple(match for match in self.same_ids if match.is_same_question)

    @cached_property
    def broke(self) -> tuple[Match, ...]:
        return tuple(match for match in self.matches if match.right == (True, False))

    @cached_property
    def mended(self) -> tuple[Match, ...]:
        return tuple(match for match in self.matches if match.right == (False, True))

    @property
    def base_flips(self) -> list[str]:
        """The shared cases that the base itself answers otherwise."""
        return [match.a.id for match in self.matches if match.a.base.outcome != match.b.base.outcome]

    @property
    def only_a(self) -> list[str]:
        return _only(self.a.cases, self.b.cases)

    @property
    def only_b(self) -> list[str]:
        return _only(self.b.cases, self.a.cases)

    @property
    def shares_all(self) -> bool:
        return len(self.a.cases) == len(self.matches) == len(self.b.cases)

    # The figures, and how sure their change is

    @cached_property
    def shared(self) -> tuple[SharedFigures, SharedFigures]:
        """A's and B's."""
        return _count([match.a for match in self.matches]), _count([match.b for match in self.matches])

    @property
    def validity_change(self) -> float | None:
        """By how much adapter less base is more in B than in A.

        Counted in cases, because the difference of two rates may lie a rounding error over a limit.
        """
        a, b = (figures.validity for figures in self.shared)
        return ((b.gained - b.lost) - (a.gained - a.lost)) / a.n if a.n else None

    @cached_property
    def paired(self) -> PairedTest:
        """Valid calls of A's adapter against those of B's."""
        a, b = ([answer.valid for answer in answers] for answers in self._adapter_answers)
        return paired_test(pair(a, b))

    @cached_property
    def paired_names(self) -> PairedTest:
        """Answers of A's adapter that name no wrong tool against those of B's."""
        a, b = ([answer.outcome != "wrong_tool" for answer in answers] for answers in self._adapter_answers)
        return paired_test(pair(a, b))

    @property
    def _adapter_answers(self) -> tuple[list[ViewAnswer], list[ViewAnswer]]:
        asked = [match for match in self.matches if match.a.expects_call]
        return [match.a.ft for match in asked], [match.b.ft for match in asked]

    # Which is worse

    @property
    def limits(self) -> Limits:
        """B's, as far as they can be held against a change."""
        limits = self.b.comparison.limits
        # A floor over 0 asks for more valid calls than the base makes, not for more than A's adapter does.
        return replace(limits, assert_validity_delta_gte=min(0.0, limits.assert_validity_delta_gte))

    @property
    def inconclusive(self) -> bool | None:
        """Whether other cases like these could well have put the change on the other side of its limit.

        None where there is no telling: without cases, and where the base changed too, which the interval leaves out.
        """
        if self.base_flips or self.paired.interval_95 is None:
            return None
        return straddles(self.paired.interval_95, self.limits.assert_validity_delta_gte)

    @property
    def cases_needed(self) -> int | None:
        """How many shared cases would settle it four times out of five."""
        if self.inconclusive is None:
            return None
        return cases_needed(Paired(*self.paired.counts), self.limits.assert_validity_delta_gte)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What changed case by case, how sure that is, and whether the cases are too few to tell."""
        return tuple(self._sentences())

    def _sentences(self) -> Iterator[str]:
        if self.paired.n:
            yield paired_sentence("Valid calls, A to B", self.paired)
        if self.inconclusive:
            floor, needed = points(self.limits.assert_validity_delta_gte), self.cases_needed
            doubt = (
                f"Too few shared cases to be sure whether B is worse: the 95% interval has the limit of {floor} inside."
            )
            yield f"{doubt} About {needed:,} would settle it four times in five." if needed else doubt

    @property
    def worse(self) -> tuple[str, ...]:
        """Why B is worse; empty when it is not."""
        return tuple(why for is_worse, why in self._changes() if is_worse)

    @property
    def better(self) -> tuple[str, ...]:
        """Why B is better: by the same limits, A would be worse than B."""
        return tuple(why for is_worse, why in self._changes() if not is_worse)

    def _changes(self) -> Iterator[tuple[bool, str]]:
        """Whether B is worse or better in it, and what it is, with the p of the answers that flipped."""
        a, b = self.shared
        change = self.validity_change
        if change is not None and self._misses("assert_validity_delta_gte", -abs(change)):
            figures = f"{points(a.validity.delta)} in A, {points(b.validity.delta)} in B"
            allowed = f"limit {100 * abs(self.limits.assert_validity_delta_gte):.1f} either way"
            why = f"valid calls, {self.subject} less base: {figures}; a change of {points(change)}, {allowed}"
            yield change < 0, f"{why} ({self._chance(self.paired.lost, self.paired.gained)})"
        was, is_now = a.evidence.hallucination_rate or 0.0, b.evidence.hallucination_rate or 0.0
        if was != is_now and self._misses("assert_hallucination_lte", change, max(was, is_now)):
            bound = percent(self.limits.assert_hallucination_lte)
            why = f"wrong tool names: {percent(was)} in A, {percent(is_now)} in B; limit {bound}"
            yield is_now > was, f"{why} ({self._chance(self.paired_names.lost, self.paired_names.gained)})"
        verdicts = self.a.verdict, self.b.verdict
        if any(verdict in _GOOD for verdict in verdicts) and any(verdict in _BAD for verdict in verdicts):
            cases = "" if self.shares_all else ", each on all of its own cases"
            why = f"the verdict: {self.a.verdict} in A, {self.b.verdict} in B{cases}"
            yield self.b.verdict in _BAD, f"{why} ({self._chance(len(self.broke), len(self.mended))})"

    def _chance(self, lost: int, gained: int) -> str:
        """How easily the answers would flip like this, from A to B, if either way were as likely."""
        if not lost + gained:
            return f"no such answer of the {self.subject}s flipped"
        p = mcnemar_p(lost, gained)
        return f"{lost} lost, {gained} gained: McNemar p {small(p)}" + (", may be chance" if p >= SIGNIFICANT else "")

    def _misses(self, limit: str, delta: float | None, wrong_names: float | None = None) -> bool:
        return check_limits(self.limits, delta=delta, hallucination=wrong_names, z=None)[limit].kept is False


def _only(here: Iterable[CaseReport], there: Iterable[CaseReport]) -> list[str]:
    known = {case.id for case in there}
    return [case.id for case in here if case.id not in known]


def _count(cases: Sequence[CaseReport]) -> SharedFigures:
    trials = [Trial(_reading(case.base), _reading(case.ft), case.expects_call) for case in cases]
    asked = [trial for trial in trials if trial.expects_call]
    return SharedFigures(
        evidence=judge(trials).evidence,
        validity=pair((trial.base.valid for trial in asked), (trial.ft.valid for trial in asked)),
        # The base's wrong names are counted by the adapter's rule: as if it were the adapter.
        hallucination_rate_base=measure([Trial(trial.ft, trial.base) for trial in asked]).hallucination_rate,
    )


def _reading(answer: ViewAnswer) -> Reading:
    # How far arguments drifted is not asked here, and in a file that was edited by hand a call can be anything.
    return replace(answer.reading, call=None)
