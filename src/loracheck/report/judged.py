"""The probes that have a verdict, and which of their cases broke."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loracheck.report.model import CaseReport, ProbeReport, Report, ViewAnswer


def judged_probes(report: Report) -> list[ProbeReport]:
    """All but the noise baselines, which have no verdict of their own."""
    return [probe for probe in report.probes if probe.kind != "null_adapter"]


def is_right(case: CaseReport, answer: ViewAnswer) -> bool:
    """What the case asks for: a valid call of a tool that exists, or no call where no tool fits."""
    return answer.outcome == ("no_call" if case.expect == "no_call" else "valid")


def broke(case: CaseReport) -> bool:
    """The base does it right and the adapter does not."""
    return is_right(case, case.base) and not is_right(case, case.ft)


def broken(cases: Iterable[CaseReport]) -> list[CaseReport]:
    return [case for case in cases if broke(case)]
