"""Running a report again: the suite it came from, and whether a second run found the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from loracheck.errors import ReportError
from loracheck.suite.suite import Suite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from loracheck.report.model import Report


def suite_of(report: Report, source: Path, sha256_of: Callable[[Path], str]) -> Suite:
    """The suite that the report in the file `source` came from, on the very same model and adapters.

    A relative path is looked for where we are, then beside the report.
    """
    try:
        suite = Suite.model_validate(report.provenance["suite"])
        recorded = [entry["sha256"] for entry in _files(report.provenance)]
    except (KeyError, TypeError, ValidationError):
        raise ReportError(f"{source}: the report does not hold its suite; it is of an older loracheck") from None
    suite = suite.with_models(_found(suite.models.base.gguf, source))
    suite = suite.with_adapter_files(lambda path: _found(path, source))
    used = [suite.models.base.gguf, *(entry.gguf for entry in suite.adapter_entries)]
    for path, digest in zip(used, recorded, strict=True):
        if not path.is_file():
            raise ReportError(f"{source}: it came from {path}, which is not there; put it back")
        if sha256_of(path) != digest:
            raise ReportError(f"{source}: {path} has changed since; a second run would be of another file")
    file = report.provenance.get("suite_file")
    return suite.loaded_from(Path(file)) if isinstance(file, str) else suite


def differences(first: Report, second: Report) -> Iterator[str]:
    """The dotted names of everything two runs found differently; how long they took does not count."""
    skipped = {"timing", "provenance", "warnings", "loracheck_version"}
    yield from _differences("", first.model_dump(exclude=skipped), second.model_dump(exclude=skipped))


def _files(provenance: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield provenance["model"]
    yield from provenance["base_adapters"]
    yield from provenance["ft_adapters"]


def _found(path: Path, source: Path) -> Path:
    beside = source.parent / path
    return beside if not path.exists() and beside.exists() else path


def _differences(place: str, first: Any, second: Any) -> Iterator[str]:
    if isinstance(first, dict) and isinstance(second, dict):
        for name in {**first, **second}:
            yield from _differences(f"{place}.{name}".lstrip("."), first.get(name), second.get(name))
    elif isinstance(first, list | tuple) and isinstance(second, list | tuple) and len(first) == len(second):
        for index, (left, right) in enumerate(zip(first, second, strict=True)):
            yield from _differences(f"{place}[{index}]", left, right)
    elif first != second:
        yield place
