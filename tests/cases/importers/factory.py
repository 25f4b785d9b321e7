"""Files of other formats, and what became of their records."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from loracheck.cases.importers.draft import Taken
from loracheck.cases.read import read_text_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from loracheck.cases.case import Case
    from loracheck.cases.importers.draft import Imported
    from loracheck.cases.read import TextFile

WEATHER = {
    "name": "get_weather",
    "description": "The weather.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "array", "items": {"type": "string"}}},
        "required": ["city"],
    },
}
TIME = {"name": "get_time", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}}


def write_lines(path: Path, *records: Any) -> TextFile:
    """A file of these records, read again."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return read_text_file(path)


def the_case(imported: Iterator[Imported]) -> Case:
    (one,) = imported
    assert isinstance(one, Taken), one
    assert one.note == ""
    return one.case


def reason(read: Callable[[TextFile], Iterator[Imported]], path: Path, record: Any) -> str:
    """Why a file of this record gives no case."""
    (one,) = read(write_lines(path, record))
    assert not isinstance(one, Taken), one.case
    return one.reason
