"""What was located, in sentences and tables that every form has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from loracheck.locating.grid import Part
from loracheck.locating.located import Located
from loracheck.locating.search import Mend, Trial
from loracheck.report.content import content_of
from loracheck.results import CaseReport, Report, Verdict
from loracheck.text import counted, percent, small

UNKNOWN = (
    "What cannot be known here: whether the mended adapter still does what it was trained for. "
    "These cases only tell whether it calls tools as its base does."
)


@dataclass(frozen=True, slots=True)
class PartRow:
    """A part that was measured."""

    words: str
    removed: str
    alone: str
    update: str


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What becomes of the verdict when parts are left out in the order of their harm."""

    removed: float
    """The share of the update that is left out."""
    back: float
    """The share of the broken cases that were asked and come back."""
    passes: bool
    returned: str
    words: str


def headline(located: Located) -> str:
    """The one sentence that a reader came for."""
    found = located.found
    if located.ending == "passed":
        return "The adapter passes: there is nothing to locate."
    if located.ending == "not_judged":
        return "Nothing could be judged, so there is nothing to locate."
    if found is None:
        return "The adapter fails, and no case that the base gets right is broken: there is nothing to bring back."
    if found.part and found.carried:
        back = _comes_back(located, found.part)
        removed = found.part.mend.removed
        what = f"{located.grid.in_words(removed)} ({percent(located.grid.share(removed), 0)} of the update)"
        if located.ending == "several_parts":
            return f"No single part carries the damage, several do together: without {what} {back}."
        return f"Without {what} {back}."
    return f"No single part carries the damage{_way_out(located)}."


def _way_out(located: Located) -> str:
    found = located.found
    if found is None or found.mended is None:
        return ", and nothing that was tried passes on all cases"
    return f"; {_mend_in_words(located, found.mended.mend)} the adapter passes"


def _mend_in_words(located: Located, mend: Mend) -> str:
    if mend.removed:
        share = percent(located.grid.share(mend.removed), 0)
        return f"without {located.grid.in_words(mend.removed)} ({share} of the update)"
    return f"at scale {mend.scale:g}"


def _comes_back(located: Located, trial: Trial) -> str:
    lost = "lost calls" if all(case.expects_call for case in located.broken) else "broken cases"
    verb = "comes back" if trial.returned == 1 else "come back"
    asked = "" if trial.report else " that were asked"
    return f"{trial.returned} of {trial.broken} {lost}{asked} {verb}"


def verdicts(located: Located) -> list[Verdict]:
    """The adapter's, and that of what it was mended to."""
    found = located.found
    mended = located.writing or (found and found.mended)
    return [located.report.verdict, *([mended.report.verdict] if mended and mended.report else [])]


def why_it_fails(report: Report) -> list[str]:
    """The check's own reasons."""
    return [line for probe in report.judged if probe.verdict == "fail" for line in content_of(probe).why]


def findings(located: Located) -> Iterator[str]:
    """What else was found, a sentence or two each; the most useful first."""
    found = located.found
    if found is None:
        return
    if found.mended:
        yield _mended(located, found.mended)
    elif found.judged:
        yield (
            "Judged on all cases, nothing passes: " + "; ".join(_judged(located, trial) for trial in found.judged) + "."
        )
    if found.elsewhere and found.part:
        yield _elsewhere(located, found.elsewhere, found.part)
    if found.alone:
        part = located.grid.in_words(located.grid.whole - found.alone.mend.removed)
        broken = found.alone.broken - found.alone.returned
        yield f"Alone, {part} breaks {broken} of the {found.alone.broken} that were asked."
    if found.scale is not None:
        yield f"The largest scale of the whole adapter that passes on the cases asked is {found.scale:g}."
    elif not found.carried:
        yield "No scale of the whole adapter, down to 0.05, was found to pass."


def _elsewhere(located: Located, elsewhere: Trial, part: Trial) -> str:
    """What makes a part more than the first one that happened to be tried."""
    removed = elsewhere.mend.removed
    instead = f"{located.grid.in_words(removed)} ({percent(located.grid.share(removed), 0)} of the update)"
    if elsewhere.passes:
        tried = located.grid.in_words(part.mend.removed)
        return f"On the cases asked it passes without {tried}, and just as well without {instead}."
    return f"Leaving out {instead} instead does not help: {_comes_back(located, elsewhere)}."


def _mended(located: Located, trial: Trial) -> str:
    kept = trial.mend.scale * located.grid.norm_kept(trial.mend.removed)
    newly = f", {trial.lost} of the others break" if trial.lost else ", none of the others breaks"
    words = _mend_in_words(located, trial.mend)
    cases = counted(trial.broken + trial.others, "case")
    return (
        f"Mended: {words} it passes on all {cases}: {_comes_back(located, trial)}{newly}. "
        f"It keeps {percent(kept, 0)} of the update's norm."
    )


def _judged(located: Located, trial: Trial) -> str:
    newly = f", and {trial.lost} of the others break" if trial.lost else ""
    return f"{_mend_in_words(located, trial.mend)} {_comes_back(located, trial)}{newly}"


def writing(located: Located) -> str | None:
    """The written adapter's verdict beside the old one; None where nothing was to be written."""
    done = located.writing
    if done is None:
        return None
    was, is_now = located.report.verdict.upper(), done.report.verdict.upper()
    if done.written:
        return f"Wrote {done.path}: {is_now} on all cases, where the adapter itself is {was}."
    return (
        f"{done.path} was not written: checked on all cases, the mended adapter is {is_now}, as the adapter is {was}."
    )


def effort(located: Located) -> Iterator[str]:
    """How it was found: whether parts can be trusted, what it cost, and what was not tried."""
    found, difference = located.found, located.difference
    if found is None or difference is None:
        return
    if difference.bitwise_same:
        yield "All parts together compute bitwise what the whole adapter does."
    else:
        drift = "" if difference.drift is None else f", KL {small(difference.drift)} apart on the base's calls"
        yield (
            f"All parts together are not bitwise the whole adapter: {difference.changed} of {difference.answers} "
            f"answers differ{drift}. llama.cpp adds up a stack in an order of its own, which rounds otherwise."
        )
    views, answers = located.full_grid
    broken, others = located.asked
    yield (
        f"{found.views} views of {located.budget} at the most, {located.answers:,} answers; leaving out every pair "
        f"once and trying each alone, on all cases, takes {views:,} views and {answers:,} answers."
    )
    yield (
        f"A trial asked {counted(broken, 'broken case')}{f' and up to {others} others' if others else ''}, the "
        "shortest; parts were ranked by drift on the base's own calls."
    )
    yield from found.untried
    yield "Not tried: parts other than bands of layers, kinds of modules and what these have in common."


def part_rows(located: Located) -> list[PartRow]:
    """Every band and kind that was measured, in the order of the grid."""
    measured: dict[Part, dict[str, float]] = {}
    for harm in located.found.harms if located.found else ():
        measured.setdefault(harm.part, {})[harm.way] = harm.share
    return [
        PartRow(
            located.grid.in_words(part),
            percent(shares.get("removed"), 0),
            percent(shares.get("alone"), 0),
            percent(located.grid.share(part), 0),
        )
        for part, shares in measured.items()
    ]


def curve(located: Located) -> list[CurvePoint]:
    """From the adapter as it is to nothing of it, which is the base."""
    if located.found is None:
        return []
    asked = located.asked[0]
    tried = [
        CurvePoint(
            located.grid.share(trial.mend.removed),
            trial.returned / trial.broken,
            trial.passes,
            f"{trial.returned} of {trial.broken}",
            located.grid.in_words(trial.mend.removed),
        )
        for trial in located.found.curve
    ]
    first = CurvePoint(0.0, 0.0, False, f"0 of {asked}", "nothing")
    last = CurvePoint(1.0, 1.0, True, f"{asked} of {asked}", "everything: the base itself")
    return [first, *tried, last]


def with_and_without(located: Located) -> list[tuple[CaseReport, CaseReport | None]]:
    """The broken cases as the adapter answers them, and mended; None where nothing was judged on all cases."""
    found = located.found
    judged = found and (found.mended or (found.judged[0] if found.judged else None))
    before = [case for probe in located.report.probes for case in probe.cases]
    if not judged or not judged.report:
        return [(case, None) for case in before if case.broke]
    after = [case for probe in judged.report.probes for case in probe.cases]
    return [(was, is_now) for was, is_now in zip(before, after, strict=True) if was.broke]
