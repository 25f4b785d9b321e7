"""A report, or the diff of two, as one HTML file that needs nothing else; nothing that a model wrote can run in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from loracheck.probes import tries_words
from loracheck.report.content import content_of, side_notes, to_act_on, together
from loracheck.report.diff import Diff
from loracheck.report.diff.show import figures, judged_again_notes, verdict_in_words
from loracheck.report.html.cases import CaseView, case_table, choices, example
from loracheck.report.html.parts import compare, page
from loracheck.report.html.plots import changes, measures, null_dots
from loracheck.report.outcomes import OUTCOME_NAMES, outcome_name
from loracheck.report.tries import MEANINGS, MOST_MARKS, lost_tries
from loracheck.results import NullAdapterEvidence, ProbeReport, Report
from loracheck.scoring import Evidence
from loracheck.scoring.evidence import DialectUse

_LONGEST = 1_000

# A page of a few megabytes at the most; the JSON has everything.
MOST_FLIPS, MOST_STRIPS, _LETTERS = 200, 200, 4000


def render(report: Report) -> str:
    adapter, base = report.provenance.compared
    return page(
        "page.jinja",
        script="page.js",
        report=report,
        adapter=adapter,
        base=base,
        subject=next((probe.comparison.subject for probe in report.judged), "adapter"),
        together=together(report),
        to_act_on=to_act_on(report.warnings, [report]),
        probes=[_probe_view(probe, place, report) for place, probe in enumerate(report.judged, 1)],
        provenance=_provenance(report),
        outcome_names=OUTCOME_NAMES,
        outcome_name=outcome_name,
        mark_names=MEANINGS,
        most_marks=MOST_MARKS,
    )


def to_html(diff: Diff, a: str = "A", b: str = "B") -> str:
    """`a` and `b` are what the reader knows the reports by, such as file names."""
    return page(
        "diff.jinja",
        diff=diff,
        names={"A": a, "B": b},
        headline=verdict_in_words(diff),
        notes=judged_again_notes(diff),
        figures=figures,
        marked=lambda match: compare(match.a.ft.text[:_LETTERS], match.b.ft.text[:_LETTERS]),
        letters=_LETTERS,
        most=MOST_FLIPS,
        outcome_names=OUTCOME_NAMES,
        outcome_name=outcome_name,
    )


def _probe_view(probe: ProbeReport, number: int, report: Report) -> dict[str, Any]:
    """One probe as the page shows it."""
    notes = side_notes(probe)
    table = case_table(probe.cases)
    return {
        "probe": probe,
        "number": number,
        "content": content_of(probe),
        "side_notes": [f"{notes[warning]}." for warning in report.warnings if warning in notes],
        "example": example(probe),
        "table": table,
        "choices": choices(table, probe.comparison.subject),
        "is_comparison": isinstance(probe.evidence, Evidence),
        "measures": measures(probe),
        "changes": changes(probe),
        "null_dots": null_dots(probe),
        "tries": _tries(probe, table),
        "other_dialects": _other_dialects(probe.comparison.dialect or DialectUse()),
    }


def _tries(probe: ProbeReport, table: Sequence[CaseView]) -> dict[str, Any] | None:
    """What several tries say, and the strips of the cases in which the adapter lost most of them first."""
    tries = probe.comparison.tries
    if tries is None:
        return None
    strips = sorted((view for view in table if any(view.marks)), key=lambda view: lost_tries(*view.marks), reverse=True)
    return {
        "evidence": tries,
        "rows": list(tries_words.rows(tries)),
        "details": list(tries_words.details(tries)),
        "table": strips[:MOST_STRIPS],
        "left_out": max(0, len(strips) - MOST_STRIPS),
    }


def _other_dialects(use: DialectUse) -> list[tuple[str, int, int]]:
    """How many answers of the base, and with the adapter, are in another dialect than they should be; most first."""
    names = {**use.ft_drift, **use.base_drift}
    counts = [(name, use.base_drift.get(name, 0), use.ft_drift.get(name, 0)) for name in names]
    return sorted((line for line in counts if any(line[1:])), key=lambda line: -line[1] - line[2])


# Where the report comes from


def _provenance(report: Report) -> dict[str, list[tuple[str, str]]]:
    """Names and values, by heading."""
    # The suite would have to be cut; the JSON report has it whole.
    groups: dict[str, Any] = report.provenance.model_dump(exclude_defaults=True, exclude={"suite"})
    for title, field in (("adapter", "ft_adapters"), ("adapters of the base", "base_adapters")):
        if field in groups:
            groups[title] = groups.pop(field)
    groups["timing"] = report.timing
    for probe in report.probes:
        if isinstance(probe.evidence, NullAdapterEvidence):
            made = probe.evidence.model_dump(exclude_defaults=True)
            names = {"valid_by_rank": "valid_calls_by_rank"}
            groups[f"null adapters {probe.name}"] = {names.get(name, name): value for name, value in made.items()}
    return {title.replace("_", " "): list(_lines(value)) for title, value in groups.items()}


def _lines(value: Any) -> Iterator[tuple[str, str]]:
    """Two levels are spread over lines of their own; what is deeper is written as JSON."""
    if isinstance(value, list | tuple) and any(isinstance(item, dict) for item in value):
        for item in value:
            yield from _lines(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield str(name).replace("_", " "), _written(item)
    else:
        yield "", _written(value)


def _written(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return (value if isinstance(value, str) else json.dumps(value, default=str))[:_LONGEST]
