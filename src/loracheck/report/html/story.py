"""The verdict in plain words: what broke, and one case that shows it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loracheck.report.evidence import part
from loracheck.report.html.cases import called, fate, row
from loracheck.report.html.evidence import words
from loracheck.report.html.shown import minus, points
from loracheck.report.judged import broken
from loracheck.report.signals import signals
from loracheck.report.text import percent

if TYPE_CHECKING:
    from loracheck.report.html.cases import Row
    from loracheck.report.model import CaseReport, ProbeReport
    from loracheck.report.signals import Signal

_EXAMPLE_CHARACTERS = 600

_INSTEAD = {
    "no_call": "answered without a call",
    "malformed": "written as broken JSON",
    "truncated": "cut off before the end",
    "bad_arguments": "made with bad arguments",
}


@dataclass(frozen=True, slots=True)
class Reason:
    headline: str
    detail: str = ""


def reasons(probe: ProbeReport) -> list[Reason]:
    """Why the verdict is what it is, in the order of the signals."""
    if probe.verdict == "pass" and probe.cases:
        return [_nothing_broke(probe)]
    missed = [_missed(probe, signal) for signal in signals(probe) if signal.kept is False]
    return (missed if probe.verdict == "fail" else []) or [Reason(probe.message)]


def hangs_on_validity(probe: ProbeReport) -> bool:
    """Whether no other limit was missed than that on the change of valid calls."""
    return all(signal.kept is not False or signal.name == "valid calls" for signal in signals(probe))


def _missed(probe: ProbeReport, signal: Signal) -> Reason:
    said = {"valid calls": _lost, "wrong tool names": _misnamed, "z against noise": _near_noise, "abstains": _overeager}
    limit = f"{signal.name}: {signal.ft}, and the limit is {signal.limit}."
    return said[signal.name](probe, minus(limit)) if signal.name in said else Reason(minus(limit))


def _lost(probe: ProbeReport, limit: str) -> Reason:
    cases = called(probe.cases)
    lost = Counter(case.ft.outcome for case in cases if case.base.valid and not case.ft.valid)
    n = lost.total()
    if not n:
        return Reason(limit)
    instead = ", ".join(
        f"{times} {_INSTEAD[outcome]}" if len(lost) > 1 else _INSTEAD[outcome]
        for outcome, times in lost.most_common()
        if outcome in _INSTEAD
    )
    floor = points(part(probe.evidence, "limits").get("assert_validity_delta_gte"))
    return Reason(
        f"{n} of {len(cases)} calls {'is' if n == 1 else 'are'} lost: {instead}.",
        f"Valid calls went from {percent(probe.base_value)} to {percent(probe.ft_value)}, "
        f"a change of {points(probe.evidence.get('validity_delta'))}; the limit is {floor}.",
    )


def _misnamed(probe: ProbeReport, limit: str) -> Reason:
    cases = called(probe.cases)
    wrong = [case for case in cases if case.ft.outcome == "wrong_tool"]
    if not wrong:
        return Reason(limit)
    first = wrong[0]
    name = words(first.ft.call.get("name")) if isinstance(first.ft.call, dict) else None
    such = f", such as {name[:80]} for {first.gold_tool_name}" if name and first.gold_tool_name else ""
    return Reason(
        f"{len(wrong)} of {len(cases)} answers {'names' if len(wrong) == 1 else 'name'} a wrong tool{such}.",
        f"That is {percent(probe.evidence.get('hallucination_rate'))} of the valid calls; "
        f"the limit is {percent(part(probe.evidence, 'limits').get('assert_hallucination_lte'))}.",
    )


def _near_noise(_: ProbeReport, limit: str) -> Reason:
    return Reason("Its valid calls are too close to those of random noise.", limit)


def _overeager(probe: ProbeReport, limit: str) -> Reason:
    quiet = [case for case in probe.cases if case.expect == "no_call"]
    loud = sum(case.ft.outcome != "no_call" for case in quiet)
    return Reason(f"{loud} of {len(quiet)} requests that fit no tool bring a call.", limit) if loud else Reason(limit)


def _nothing_broke(probe: ProbeReport) -> Reason:
    fates = Counter(fate(case) for case in probe.cases)
    before = fates["right"] + fates["broken"]
    total = len(probe.cases)
    if not before:
        return Reason(
            f"{fates['mended']} of {total} cases are right with the adapter, none without it.",
            "The base got nothing right, so there was nothing to break.",
        )
    gained = f"{fates['mended']} more are right now." if fates["mended"] else ""
    if not fates["broken"]:
        return Reason(f"Nothing broke: the {before} of {total} cases the base gets right are still right.", gained)
    return Reason(f"{fates['broken']} of {before} cases the base gets right broke, within the limits.", gained)


def example(probe: ProbeReport) -> Row | None:
    """The case that shows best what broke: of the most frequent kind, and short."""
    found = broken(probe.cases)
    if not found:
        return None
    ((kind, _),) = Counter((case.expect, case.ft.outcome) for case in found).most_common(1)
    alike = [case for case in found if (case.expect, case.ft.outcome) == kind]
    return row(min(alike, key=_plain), _EXAMPLE_CHARACTERS)


def _plain(case: CaseReport) -> tuple[bool, int]:
    """A base that is right in its arguments too goes before, then the shorter case."""
    return case.base.arguments_correct is False, len(case.prompt) + len(case.base.text) + len(case.ft.text)
