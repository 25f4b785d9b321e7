"""One probe as the page shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loracheck.report.evidence import part
from loracheck.report.html import statistics, story
from loracheck.report.html.cases import choices, rows
from loracheck.report.html.evidence import counts, words
from loracheck.report.html.matrix import matrix
from loracheck.report.html.plots import changes, measures, noise
from loracheck.report.signals import signals

if TYPE_CHECKING:
    from loracheck.report.html.cases import Choice, Row
    from loracheck.report.html.matrix import Matrix
    from loracheck.report.html.plots import Changes, Measure, Noise
    from loracheck.report.model import ProbeReport
    from loracheck.report.signals import Signal


@dataclass(frozen=True, slots=True)
class ProbeView:
    probe: ProbeReport
    number: int
    fidelity: bool
    reasons: list[story.Reason]
    caution: str | None
    example: Row | None
    signals: list[Signal]
    measures: list[Measure]
    changes: Changes | None
    noise: Noise | None
    no_noise: str
    noise_on: str
    matrix: Matrix | None
    statistics: list[str]
    drift: dict[str, Any]
    moved: list[dict[str, Any]]
    dialect: dict[str, Any]
    dialect_drift: dict[str, dict[str, int]]
    table: list[Row]
    choices: dict[str, list[Choice]]


def view(probe: ProbeReport, place: int) -> ProbeView:
    table = rows(probe.cases)
    null, drift, dialect = (part(probe.evidence, name) for name in ("null", "drift", "dialect"))
    moved = drift.get("moved")
    caution, decisive = statistics.caution(probe), story.hangs_on_validity(probe)
    return ProbeView(
        probe=probe,
        number=place,
        fidelity=probe.kind == "tool_use_fidelity",
        reasons=story.reasons(probe),
        caution=caution if decisive else None,
        example=story.example(probe),
        signals=list(signals(probe)),
        measures=measures(probe),
        changes=changes(probe),
        noise=noise(probe),
        no_noise=words(null.get("why")) or "the report has no noise baseline",
        noise_on="the suite's own cases" if null.get("on") == "cases" else "two sentinel questions",
        matrix=matrix(probe),
        statistics=[*statistics.sentences(probe), *([caution] if caution and not decisive else [])],
        drift=drift,
        moved=[step for step in moved if isinstance(step, dict)][:5] if isinstance(moved, list) else [],
        dialect=dialect,
        dialect_drift={side: found for side in ("base", "ft") if (found := counts(dialect, f"{side}_drift"))},
        table=table,
        choices=choices(table),
    )
