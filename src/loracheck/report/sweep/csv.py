"""A sweep as CSV: a line for each cell, and no timings, so that two equal sweeps give equal files."""

from __future__ import annotations

import csv
from io import StringIO

from loracheck.report.sweep.table import reason
from loracheck.results import Provenance
from loracheck.sweeping.results import Figures, Sweep, SweepCell

_PLACES = ("base", "quantization", "adapter", "scale", "run", "checkpoint", "verdict", "score", "z_score")
_FIGURES = tuple(name for name in Figures.model_fields if not name.endswith("_ci_95"))
_INTERVALS = tuple(name for name in Figures.model_fields if name.endswith("_ci_95"))
_ENDS = ("low", "high")

HEAD = (
    *_PLACES,
    *_FIGURES,
    *(f"{name}_{end}" for name in _INTERVALS for end in _ENDS),
    "size_bytes",
    "model_sha256",
    "adapter_sha256",
    "reason",
)


def render(sweep: Sweep) -> str:
    out = StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(HEAD)
    lines.writerows(map(_without_nulls, _row(cell)) for cell in sweep.cells)
    return out.getvalue()


def _without_nulls(value: object) -> object:
    """Python 3.10 refuses to write a null character, and many programs to read one."""
    return value.replace("\0", "\\x00") if isinstance(value, str) else value


def _row(cell: SweepCell) -> list[object]:
    origin = cell.report.provenance if cell.report else Provenance()
    z_scores = [probe.z_score for probe in cell.report.judged] if cell.report else []
    intervals = [getattr(cell.figures, name) or (None, None) for name in _INTERVALS]
    return [
        cell.base,
        cell.quantization,
        cell.adapter,
        f"{cell.scale:g}",
        cell.run,
        cell.checkpoint,
        cell.verdict,
        cell.report.score if cell.report else None,
        # Of several probes there is no one z.
        z_scores[0] if len(z_scores) == 1 else None,
        *(getattr(cell.figures, name) for name in _FIGURES),
        *(end for interval in intervals for end in interval),
        cell.size_bytes,
        (origin.candidate or origin.model).sha256,
        " ".join(adapter.sha256 or "" for adapter in origin.ft_adapters),
        reason(cell),
    ]
