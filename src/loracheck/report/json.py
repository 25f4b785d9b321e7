"""The report as a JSON file."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from loracheck.errors import ReportError
from loracheck.file_kinds import REPORT, misplaced
from loracheck.files import read_bytes
from loracheck.results import SCHEMA_VERSION, Report

Saved = TypeVar("Saved", bound=BaseModel)

OTHER_VERSION = "use the version that wrote it, or run the check again"
_WRITES_ONE = "`loracheck check ... --json REPORT.json` writes one"


def render(report: Report) -> str:
    return json_text(report.model_dump())


def json_text(data: Any) -> str:
    """JSON that anybody reads. ASCII only: model output may hold lone surrogates, which no UTF-8 file can."""
    return json.dumps(_finite(data), indent=2, allow_nan=False) + "\n"


def read_report(path: Path) -> Report:
    return report_of_data(path, read_saved(path))


def read_saved(path: Path) -> dict[str, Any]:
    """Whatever we wrote to a JSON file, with its `schema_version`."""
    try:
        data: dict[str, Any] = json.loads(read_bytes(path, ReportError))
        _ = data["schema_version"]
    except (ValueError, RecursionError, KeyError, TypeError):
        wrong = misplaced(path, "a report", REPORT) or f"{path}: not a loracheck report; {_WRITES_ONE}"
        raise ReportError(wrong) from None
    return data


def report_of_data(path: Path, data: dict[str, Any]) -> Report:
    if data.get("kind") == "sweep":
        raise ReportError(f"{path}: what a sweep found, not a single report; `loracheck report {path.name}` shows it")
    if data.get("kind") == "locate":
        what = f"{path}: what `locate` found, not the report of a check"
        raise ReportError(f"{what}; `loracheck locate` writes it as a page (--html) and as Markdown (--markdown)")
    version = data["schema_version"]
    if version != SCHEMA_VERSION:
        raise ReportError(
            f"{path}: a report of schema version {version}; this loracheck reads {SCHEMA_VERSION}; {OTHER_VERSION}"
        )
    return whole(path, Report, data)


def whole(path: Path, model: type[Saved], data: dict[str, Any]) -> Saved:
    """The data as what it should be; ReportError names the first thing that is missing or wrong."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ReportError(
            f"{path}: not a whole report: {place}: {first['msg']}; was it edited, or cut short?"
        ) from None


def _finite(value: Any) -> Any:
    """JSON has no NaN: a model that writes one gets it quoted. Calls are nested 200 deep at the most."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
