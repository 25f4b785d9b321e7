"""Cases from other people's files. A new format is a file here and a line in `FORMATS`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from loracheck.cases.case import Case
from loracheck.cases.importers.bfcl import read_bfcl
from loracheck.cases.importers.draft import Imported, Skipped, Taken, to_json
from loracheck.cases.importers.openai import read_openai
from loracheck.cases.importers.sharegpt import read_sharegpt
from loracheck.cases.importers.xlam import read_xlam
from loracheck.cases.read import TextFile, read_records
from loracheck.errors import CasesError, InputError
from loracheck.files import ELSEWHERE, write_atomically


@dataclass(frozen=True, slots=True)
class Format:
    name: str
    telling_key: str
    """A record that has this key is of this format."""
    read: Callable[[TextFile], Iterator[Imported]]
    """Gives, record by record, a case or the reason for none."""


FORMATS = {
    each.name: each
    for each in (
        Format("openai", "messages", read_openai),
        Format("bfcl", "question", read_bfcl),
        Format("sharegpt", "conversations", read_sharegpt),
        Format("xlam", "query", read_xlam),
    )
}
"""By name; of a record with the keys of two formats, the first counts."""
_RECORDS_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class ImportedFile:
    cases: tuple[Case, ...]
    notes: tuple[tuple[int, str], ...]
    """Line and remark for cases that say less than their record."""
    skipped: tuple[Skipped, ...]


def import_cases(
    file: TextFile,
    format_name: str | None = None,
    *,
    answers: Path | None = None,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> ImportedFile:
    """The cases of a file in one of `FORMATS`, by default the one its records look like.

    The first `limit` of them, or `sample` of them drawn at random; in the order of the file.
    """
    format_name = format_name or detect_format(file)
    read = FORMATS[format_name].read
    if answers is not None:
        if format_name != "bfcl":
            raise InputError(
                f"{answers}: the format {format_name} has its answers in {file.path} itself; leave --answers out"
            )
        read = partial(read_bfcl, answers=answers)
    taken: list[Taken] = []
    skipped: list[Skipped] = []
    for imported in read(file):
        if isinstance(imported, Skipped):
            skipped.append(imported)
            continue
        taken.append(imported)
        if len(taken) == limit:
            break
    if sample is not None and sample < len(taken):
        taken = _sampled(taken, sample, seed)
    return ImportedFile(
        cases=_with_distinct_ids(taken),
        notes=tuple((each.line, each.note) for each in taken if each.note),
        skipped=tuple(skipped),
    )


def detect_format(file: TextFile) -> str:
    """The format that one of the first records is in."""
    keys: list[str] = []
    for record in islice(read_records(file), _RECORDS_LOOKED_AT):
        if not isinstance(record.value, dict):
            continue
        keys = keys or list(map(str, record.value))
        if format_name := _format_of(record.value):
            return format_name
    seen = f"its first record has the keys {', '.join(keys[:8])}" if keys else "it has no records"
    needed = ", ".join(f"{each.telling_key} ({each.name})" for each in FORMATS.values())
    raise CasesError(f"{file.path}: no known format: {seen}; a record needs one of {needed}")


def foreign_format(file: TextFile) -> str | None:
    """The format of a file that does not hold cases of ours; None where it does, or where we know no such format."""
    record = next((record.value for record in read_records(file) if isinstance(record.value, dict)), {})
    if record.keys() <= Case.model_fields.keys() and not _is_answered(record):
        return None
    return _format_of(record)


def _format_of(record: dict[str, Any]) -> str | None:
    return next((each.name for each in FORMATS.values() if each.telling_key in record), None)


def _is_answered(record: dict[str, Any]) -> bool:
    """A conversation that ends with the assistant is training data; one of ours leaves that turn to the model."""
    messages = record.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    return isinstance(last, dict) and last.get("role") == "assistant"


def write_cases(path: Path, cases: Sequence[Case]) -> None:
    """Cases as JSON lines, for `load_cases`."""
    try:
        write_atomically(path, "".join(f"{to_json(case)}\n" for case in cases).encode())
    except OSError as problem:
        raise InputError(f"{path}: cannot write the file: {problem.strerror}; {ELSEWHERE}") from None


def _sampled(taken: list[Taken], count: int, seed: int) -> list[Taken]:
    # Python promises the same random() for a seed in every version, but not the same sample().
    generator = random.Random(seed)  # noqa: S311 - no secret
    ranked = sorted(range(len(taken)), key=lambda _: generator.random())
    return [taken[number] for number in sorted(ranked[:count])]


def _with_distinct_ids(taken: list[Taken]) -> tuple[Case, ...]:
    """The cases; one whose id another has already is told apart by its line."""
    seen: set[str] = set()
    cases = []
    for each in taken:
        name = each.case.id
        while name in seen:
            name = f"{name}@{each.line}"
        seen.add(name)
        cases.append(each.case if name == each.case.id else each.case.model_copy(update={"id": name}))
    return tuple(cases)
