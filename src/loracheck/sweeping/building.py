"""From cells that were checked to a sweep: where those without effect are drawn, the curves, and what they say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version

from loracheck.judge import judge_again
from loracheck.sweeping.findings import curves_of, findings_of
from loracheck.sweeping.results import Figures, Sweep, SweepCell, figures_of, worst


def build(cells: Sequence[SweepCell], timing: dict[str, float], warnings: Sequence[str] = ()) -> Sweep:
    """The sweep that these cells make."""
    drawn = tuple(_at_the_bases_values(cell, cells) for cell in cells)
    curves = tuple(curves_of(drawn))
    return Sweep(
        loracheck_version=version("loracheck"),
        verdict=worst(drawn),
        findings=tuple(findings_of(drawn, curves)),
        cells=drawn,
        curves=curves,
        warnings=(*_shared_warnings(drawn), *warnings),
        timing=timing,
    )


def judge_sweep_again(sweep: Sweep, limits: dict[str, float]) -> Sweep:
    """The sweep that other limits would have given."""
    cells = [
        cell.model_copy(update={"report": again, "verdict": again.verdict, "figures": figures_of(again)})
        if cell.report and (again := judge_again(cell.report, limits))
        else cell
        for cell in sweep.cells
    ]
    return build(cells, sweep.timing)


def _at_the_bases_values(cell: SweepCell, cells: Sequence[SweepCell]) -> SweepCell:
    """A cell without effect is drawn where its base is."""
    if cell.has_effect:
        return cell
    beside = next((other.figures for other in cells if other.base == cell.base and other.report), Figures())
    return cell.model_copy(update={"figures": beside.of_base()})


def _shared_warnings(cells: Sequence[SweepCell]) -> Iterator[str]:
    reports = [cell.report for cell in cells if cell.report]
    for warning in reports[0].warnings if reports else ():
        if all(warning in report.warnings for report in reports):
            yield warning
