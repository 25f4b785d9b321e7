"""A sweep as one HTML file that needs nothing else."""

from __future__ import annotations

from loracheck.report.html.parts import page
from loracheck.report.sweep.plots import MOST_CHARTS, charts, heat, heat_tables
from loracheck.report.sweep.table import FIGURES, columns, headline, lines, troubles
from loracheck.results import FileRecord
from loracheck.sweeping.results import Sweep, SweepCell


def render(sweep: Sweep) -> str:
    return page(
        "sweep.jinja",
        sweep=sweep,
        headline=headline(sweep),
        charts=charts(sweep),
        more_charts=max(0, len(sweep.curves) - MOST_CHARTS),
        heat_tables=heat_tables(sweep),
        heat=heat,
        axes=columns(sweep),
        figures=FIGURES,
        lines=lines(sweep),
        troubles=troubles(sweep),
        link=_link,
        files=_files(sweep),
        settings=_settings(sweep),
    )


def _link(cell: SweepCell) -> str | None:
    """To the cell's own page. A file may be a stranger's: nothing but a path beside this page is followed."""
    page = cell.page
    return page if page and ":" not in page and not page.startswith(("/", "\\")) else None


def _files(sweep: Sweep) -> list[tuple[str, str]]:
    """Every file of the sweep with its SHA-256, once."""
    records: dict[str, FileRecord] = {}
    for report in (cell.report for cell in sweep.cells if cell.report):
        origin = report.provenance
        models = (origin.model, origin.candidate or origin.model)
        parts = [part for model in models for part in (model, *model.parts)]
        for record in (*parts, *origin.base_adapters, *origin.ft_adapters):
            if record.path:
                records.setdefault(record.path, record)
    return [(path, record.sha256 or "–") for path, record in records.items()]


def _settings(sweep: Sweep) -> list[tuple[str, str]]:
    report = next((cell.report for cell in sweep.cells if cell.report), None)
    if report is None:
        return []
    origin = report.provenance
    answering = {name for cell in sweep.cells if cell.report for name in cell.report.provenance.answered_by}
    told = {
        **origin.settings,
        "llama-cpp-python": origin.llama_cpp,
        "machine": origin.machine,
        "answered by": ", ".join(sorted(answering)) or "this process",
    }
    return [(name.replace("_", " "), str(value)) for name, value in told.items()]
