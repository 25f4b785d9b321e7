"""What every form shows of a probe, whatever its kind: the forms only set it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

from loracheck.probes import words_of
from loracheck.probes.certainty_words import how_often
from loracheck.probes.probe import Reason, Row
from loracheck.results import CaseReport, ProbeReport, Report, Verdict
from loracheck.scoring import Evidence, Outcome
from loracheck.scoring.chance import chance_of_any
from loracheck.scoring.evidence import Subject
from loracheck.text import cut, small

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True, slots=True)
class Content:
    """A probe's report in words and numbers."""

    verdict: Verdict
    grade: str | None
    """How sure the verdict is: belongs right beside it."""
    reasons: list[Reason]
    caution: str | None
    """What belongs beside the verdict; it is not said again in the paragraphs."""
    rows: list[Row]
    paragraphs: list[str]
    details: list[str]
    """More paragraphs, for the pages and for whoever asks for more."""
    subject: Subject
    """What was checked: the heading of its figures."""
    transitions: Transitions | None
    """None for a probe that compares no two views, and where nothing is known about outcomes."""

    @property
    def matrix_corner(self) -> str:
        return f"base ↓  {self.subject} →"

    @property
    def why(self) -> list[str]:
        """The reasons, a line each."""
        return [f"{reason.headline} {reason.detail}".strip() for reason in self.reasons]


@dataclass(frozen=True, slots=True)
class Transitions:
    """What became of the base's outcomes with the adapter."""

    counts: Mapping[tuple[Outcome, Outcome], int]

    @property
    def any_changed(self) -> bool:
        return any(before != after for before, after in self.counts)

    @property
    def columns(self) -> list[Outcome]:
        """The outcomes that the adapter brought."""
        return [outcome for outcome in OUTCOMES if any(outcome == after for _, after in self.counts)]

    @property
    def rows(self) -> list[tuple[Outcome, list[int]]]:
        """Each outcome of the base, and how many of its cases went to which column."""
        rows = [outcome for outcome in OUTCOMES if any(outcome == before for before, _ in self.counts)]
        return [(before, [self.counts.get((before, after), 0) for after in self.columns]) for before in rows]


def content_of(probe: ProbeReport) -> Content:
    words = words_of(probe.kind)
    caution = words.caution(probe)
    return Content(
        verdict=probe.effective_verdict,
        grade=probe.grade_in_words,
        reasons=words.reasons(probe),
        caution=caution,
        rows=list(words.rows(probe)),
        paragraphs=[paragraph for paragraph in words.paragraphs(probe) if paragraph != caution],
        details=list(words.details(probe)),
        subject=probe.comparison.subject,
        transitions=_transitions(probe) if isinstance(probe.evidence, Evidence) else None,
    )


def broken_example(probe: ProbeReport) -> CaseReport | None:
    """The case that shows best what broke: of the most frequent kind, and short."""
    broken = probe.broken
    if not broken:
        return None
    ((kind, _),) = Counter((case.expect, case.ft.outcome) for case in broken).most_common(1)
    return min((case for case in broken if (case.expect, case.ft.outcome) == kind), key=_plainness)


def _plainness(case: CaseReport) -> tuple[bool, int]:
    """A base that is right in its arguments too goes before, then the shorter case."""
    return case.base.arguments_correct is False, len(case.prompt) + len(case.base.text) + len(case.ft.text)


def to_act_on(warnings: Iterable[str], reports: Iterable[Report]) -> list[str]:
    """The warnings without those of these reports that a reader can do nothing about."""
    notes = {warning for report in reports for probe in report.judged for warning in side_notes(probe)}
    return [warning for warning in warnings if warning not in notes]


def side_notes(probe: ProbeReport) -> dict[str, str]:
    """What a reader can do nothing about: as the report's warnings have it, and as a sentence of the probe's own."""
    notes = words_of(probe.kind).side_notes(probe)
    return {f"{probe.name}: {note}": note[:1].upper() + note[1:] for note in notes}


def together(report: Report) -> str | None:
    """What chance makes of several probes in one report; None where there is only one."""
    evidence = [probe.comparison for probe in report.judged]
    chances = [chance for each in evidence if (chance := each.power.chance_of_fail) is not None]
    if len(chances) < 2:
        return None
    flips = (
        "answers flip by chance as measured"
        if any(each.flips for each in evidence)
        else "1 answer in 50 flips by chance"
    )
    tries = f"{len(chances)} probes are {len(chances)} tries: if {flips}, at least one of them"
    said = f"{tries} FAILs in {how_often(chance_of_any(chances))} of runs."
    corrected = {name: p for name, p in (report.holm_p or {}).items() if p < 1}
    if corrected:
        named = [f"{small(p)} in {cut(name, 40)}" for name, p in sorted(corrected.items(), key=lambda item: item[1])]
        said += f" Corrected for that (Holm), p is {', '.join(named[:5])}{', …' if len(named) > 5 else ''}."
    return said


def _transitions(probe: ProbeReport) -> Transitions | None:
    counts = Counter((case.base.outcome, case.ft.outcome) for case in probe.asked)
    if not counts:
        # A report without its cases still has their number.
        counted = probe.comparison.transitions
        counts.update({(was, is_now): counted.get(was, {}).get(is_now, 0) for was in OUTCOMES for is_now in OUTCOMES})
    return Transitions({move: many for move, many in counts.items() if many}) if any(counts.values()) else None
