"""A sweep as a JSON file."""

from __future__ import annotations

from pathlib import Path

from loracheck.errors import ReportError
from loracheck.report.json import OTHER_VERSION, json_text, read_saved, report_of_data, whole
from loracheck.results import Report
from loracheck.sweeping.results import SCHEMA_VERSION, Sweep


def render(sweep: Sweep) -> str:
    return json_text(sweep.model_dump())


def read_sweep(path: Path) -> Sweep:
    saved = read_report_or_sweep(path)
    if isinstance(saved, Report):
        raise ReportError(f"{path}: the report of one check, not of a sweep; `loracheck sweep --json` writes one")
    return saved


def read_report_or_sweep(path: Path) -> Report | Sweep:
    data = read_saved(path)
    if data.get("kind") != "sweep":
        return report_of_data(path, data)
    version = data["schema_version"]
    if version != SCHEMA_VERSION:
        raise ReportError(
            f"{path}: a sweep of schema version {version}; this loracheck reads {SCHEMA_VERSION}; {OTHER_VERSION}"
        )
    return whole(path, Sweep, data)
