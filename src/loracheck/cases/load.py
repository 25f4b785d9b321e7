"""Suites and cases from files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from importlib.resources import files
from pathlib import Path

from pydantic import RootModel

from loracheck.cases import did_you_mean
from loracheck.cases.case import Case, named_apart
from loracheck.cases.importers import foreign_format, import_cases
from loracheck.cases.read import MAX_JSON_LINES, TextFile, YamlFile, read_json_lines, read_text_file
from loracheck.cases.suite import Suite
from loracheck.errors import CasesError, SuiteError
from loracheck.scoring.schema import check_schema
from loracheck.text import counted

DEFAULT_PACK = "core"

PACKS = {
    "core": "What is asked by default: several tools on offer, every kind of argument.",
    "smoke": "A few of the core cases, for a quick look.",
    "demo": "What `loracheck demo` asks: one tool on offer each time.",
}
"""What the built-in packs are for, the main one first."""


def load_suite(path: str | Path, kind_of_suite: type[Suite] = Suite) -> Suite:
    """The suite in a YAML file; relative paths in it start at the file's folder."""
    path = Path(path)
    file = YamlFile(path, SuiteError)
    if not isinstance(file.value, dict):
        raise SuiteError(f"{path}: not a suite file; it should begin with 'version: 1'")
    return file.validate(kind_of_suite, folder=path.parent).loaded_from(path)


def load_cases(path: str | Path) -> tuple[Case, ...]:
    """Cases from JSON lines, or from a YAML list (.yaml, .yml); each with an id, its number when it has none."""
    path = Path(path)
    cases = _yaml_list(path) if _is_yaml(path) else read_json_lines(read_text_file(path, MAX_JSON_LINES), Case)
    return _each_with_id(path, tuple(cases))


def _is_yaml(path: Path) -> bool:
    return path.suffix.lower() in (".yaml", ".yml")


def _yaml_list(path: Path) -> tuple[Case, ...]:
    file = YamlFile(path, CasesError)
    if not isinstance(file.value, list):
        raise CasesError(f"{path}: not a list of cases")
    return file.validate(RootModel[tuple[Case, ...]]).root


def _each_with_id(path: Path, cases: tuple[Case, ...]) -> tuple[Case, ...]:
    """The cases of the file. CasesError when there are none, or two of one id."""
    if not cases:
        raise CasesError(f"{path}: no cases in it")
    try:
        return named_apart(cases)
    except ValueError as bad:
        raise CasesError(f"{path}: {bad}") from None


def find_cases(name: str | Path, tell: Callable[[str], None] = lambda _: None) -> tuple[Case, ...]:
    """The cases of a file or, where there is no file of that name, of a built-in pack.

    A file in another format that we can import is imported, and `tell` is told how that went.
    """
    path = Path(name)
    # A folder named like a pack hides nothing: it could not be read anyway.
    if str(name) in pack_names() and not path.is_file():
        return load_pack(str(name))
    if not path.suffix and not path.exists():
        packs = f"{', '.join(PACKS)}{did_you_mean(str(name), PACKS)}"
        raise CasesError(f"{path}: no such file, and no built-in pack; the packs are {packs}")
    if _is_yaml(path):
        return load_cases(path)
    file = read_text_file(path)
    format_name = foreign_format(file)
    if format_name is not None:
        return _imported(file, format_name, tell)
    return _each_with_id(path, tuple(read_json_lines(file, Case)))


def _imported(file: TextFile, format_name: str, tell: Callable[[str], None]) -> tuple[Case, ...]:
    imported = import_cases(file, format_name)
    if not imported.cases:
        raise CasesError(
            f"{file.path}: read as {format_name}, and no record could be used; `loracheck cases import` says why"
        )
    skipped = counted(len(imported.skipped), "record")
    remark = f"; {skipped} not used (`loracheck cases import` says why)" if imported.skipped else ""
    tell(f"{file.path}: read as {format_name}, {counted(len(imported.cases), 'case')}{remark}")
    return imported.cases


def pack_names() -> tuple[str, ...]:
    return tuple(PACKS)


def load_pack(name: str) -> tuple[Case, ...]:
    """The cases of a built-in pack."""
    return load_cases(Path(str(files("loracheck.cases").joinpath("packs", f"{name}.jsonl"))))


def find_bad_schema(cases: Iterable[Case]) -> str | None:
    """The first tool whose `parameters` are no JSON Schema, with its case and what is wrong; None when all are."""
    # Cases share their tools, and a schema takes milliseconds.
    checked: set[str] = set()
    for case in cases:
        for tool in case.surface:
            if tool.parameters is None:
                continue
            spelled = json.dumps(tool.parameters)
            if spelled not in checked and (complaint := check_schema(tool.parameters)):
                return f"case {case.id!r}, tool {tool.name!r}: parameters: {complaint}"
            checked.add(spelled)
    return None
