"""The records of somebody else's file, each with the line it begins on."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from loracheck.errors import CasesError
from loracheck.inputs import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Record:
    line: int
    value: Any
    """Whatever the JSON says; `Record.unreadable` for a line that is no JSON."""

    unreadable = object()


def read_records(path: Path) -> Iterator[Record]:
    """The records of a JSON-lines file, or of a file that is one JSON array."""
    text = read_text(path, CasesError)
    return _elements(path, text) if text.lstrip().startswith("[") else _lines(text)


def _lines(text: str) -> Iterator[Record]:
    # Not splitlines(): that also cuts at U+2028 and its like, which JSON allows inside strings.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield Record(number, _DECODER.decode(line))
        except (ValueError, RecursionError):
            yield Record(number, Record.unreadable)


def _elements(path: Path, text: str) -> Iterator[Record]:
    line, at = 1, 0
    separator = "["
    while True:
        before, at = at, _skip(text, at)
        line += text.count("\n", before, at)
        if text[at : at + 1] == "]":
            return
        if text[at : at + 1] != separator:
            raise CasesError(f"{path}:{line}: not a JSON array: {separator} or ] should stand here")
        separator = ","
        before, at = at, _skip(text, at + 1)
        line += text.count("\n", before, at)
        if text[at : at + 1] == "]":
            return
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as bad:
            raise CasesError(f"{path}:{line}: not JSON: {bad}") from None
        yield Record(line, value)
        line += text.count("\n", at, end)
        at = end


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(parse_constant=_refuse)
