"""Where the report comes from, as lines of a table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from loracheck.report.evidence import part
from loracheck.report.html.evidence import words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loracheck.report.model import Report

_LONGEST = 1_000


def compared(report: Report) -> tuple[str, str]:
    """What was checked, and what it was checked against, by their file names."""
    adapters, below = (_names(report.provenance.get(f"{side}_adapters")) for side in ("ft", "base"))
    base = words(part(report.provenance, "model").get("path"))
    return " + ".join(adapters) or "adapter", " + ".join([_name(base) if base else "base", *below])


def provenance(report: Report) -> dict[str, list[tuple[str, str]]]:
    """Names and values, by heading."""
    groups: dict[str, Any] = {**report.provenance, "timing": report.timing}
    for probe in report.probes:
        if probe.kind == "null_adapter":
            groups[f"noise baseline {probe.name}"] = probe.evidence
    return {title.replace("_", " "): list(_lines(value)) for title, value in groups.items()}


def _lines(value: Any) -> Iterator[tuple[str, str]]:
    """Two levels are spread over lines of their own; what is deeper is written as JSON."""
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
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


def _names(adapters: object) -> list[str]:
    found = adapters if isinstance(adapters, list) else []
    paths = [(words(entry.get("path")), entry.get("scale")) for entry in found if isinstance(entry, dict)]
    return [_name(path) + ("" if scale in (None, 1) else f"@{scale}") for path, scale in paths if path]


def _name(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
