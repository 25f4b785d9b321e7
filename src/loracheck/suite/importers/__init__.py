"""Cases from other people's files. One format a file; each gives, record by record, a case or the reason for none."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from loracheck.errors import CasesError, InputError
from loracheck.files import write_atomically
from loracheck.suite.case import Case
from loracheck.suite.importers.bfcl import read_bfcl
from loracheck.suite.importers.draft import Skipped, Taken, to_json
from loracheck.suite.importers.openai import read_openai
from loracheck.suite.importers.records import read_records
from loracheck.suite.importers.sharegpt import read_sharegpt
from loracheck.suite.importers.xlam import read_xlam

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from loracheck.suite.importers.draft import Imported

FORMATS: dict[str, Callable[[Path], Iterator[Imported]]] = {
    "openai": read_openai,
    "bfcl": read_bfcl,
    "sharegpt": read_sharegpt,
    "xlam": read_xlam,
}
_TELLING_KEYS = {"messages": "openai", "question": "bfcl", "conversations": "sharegpt", "query": "xlam"}
_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class ImportedFile:
    cases: tuple[Case, ...]
    notes: tuple[tuple[int, str], ...]
    """Line and remark for cases that say less than their record."""
    skipped: tuple[Skipped, ...]


def import_cases(
    path: Path,
    form: str | None = None,
    *,
    answers: Path | None = None,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> ImportedFile:
    """The cases of a file in one of `FORMATS`, by default the one its records look like.

    The first `limit` of them, or `sample` of them drawn at random; in the order of the file.
    """
    form = form or detect_format(path)
    if answers is not None and form != "bfcl":
        raise InputError(f"{answers}: the format {form} has its answers in {path} itself; leave --answers out")
    read = partial(read_bfcl, answers=answers) if answers else FORMATS[form]
    taken: list[Taken] = []
    skipped: list[Skipped] = []
    for imported in read(path):
        if isinstance(imported, Skipped):
            skipped.append(imported)
            continue
        taken.append(imported)
        if len(taken) == limit:
            break
    if sample is not None and sample < len(taken):
        taken = _sampled(taken, sample, seed)
    return ImportedFile(
        cases=_named_apart(taken),
        notes=tuple((each.line, each.note) for each in taken if each.note),
        skipped=tuple(skipped),
    )


def detect_format(path: Path) -> str:
    """The format whose telling key one of the first records has."""
    keys: list[str] = []
    for record in islice(read_records(path), _LOOKED_AT):
        if not isinstance(record.value, dict):
            continue
        keys = keys or list(map(str, record.value))
        for key, form in _TELLING_KEYS.items():
            if key in record.value:
                return form
    seen = f"its first record has the keys {', '.join(keys[:8])}" if keys else "it has no records"
    needed = ", ".join(f"{key} ({form})" for key, form in _TELLING_KEYS.items())
    raise CasesError(f"{path}: no known format: {seen}; a record needs one of {needed}")


def foreign_format(path: Path) -> str | None:
    """The format of a file that does not hold cases of ours; None where it does, or where it is no known one."""
    record = next((record.value for record in read_records(path) if isinstance(record.value, dict)), {})
    if record.keys() <= Case.model_fields.keys() and not _is_answered(record):
        return None
    return next((form for key, form in _TELLING_KEYS.items() if key in record), None)


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
        raise InputError(f"{path}: cannot write the file: {problem.strerror}") from None


def _sampled(taken: list[Taken], count: int, seed: int) -> list[Taken]:
    # Python promises the same random() for a seed in every version, but not the same sample().
    generator = random.Random(seed)  # noqa: S311 - no secret
    ranked = sorted(range(len(taken)), key=lambda _: generator.random())
    return [taken[number] for number in sorted(ranked[:count])]


def _named_apart(taken: list[Taken]) -> tuple[Case, ...]:
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
