"""Suites and cases from files."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import RootModel

from loracheck.errors import CasesError, SuiteError
from loracheck.probes.tool_use_fidelity import ToolUseFidelityProbe
from loracheck.suite.case import Case, named_apart
from loracheck.suite.importers import foreign_format, import_cases
from loracheck.suite.read import YamlFile, read_json_lines
from loracheck.suite.suite import BaseEntry, FtEntry, Models, Suite

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from loracheck.suite.suite import AdapterEntry

DEFAULT_PACK = "core"
YAML = (".yaml", ".yml")

PACKS = {
    "core": "What is asked by default: several tools on offer, every kind of argument.",
    "smoke": "A few of the core cases, for a quick look.",
    "demo": "What `loracheck demo` asks: one tool on offer each time.",
}
"""What the built-in packs are for, the main one first."""


class _CaseList(RootModel[tuple[Case, ...]]):
    pass


def load_suite(path: str | Path) -> Suite:
    """The suite in a YAML file; relative paths in it start at the file's folder.

    A suite without a null_adapter gets the default noise baseline; `without_nulls()` takes it off.
    """
    path = Path(path)
    file = YamlFile(path, SuiteError)
    if not isinstance(file.value, dict):
        raise SuiteError(f"{path}: not a suite file; it should begin with 'version: 1'")
    return file.validate(Suite, folder=path.parent).with_nulls().loaded_from(path)


def load_cases(path: str | Path) -> tuple[Case, ...]:
    """Cases from JSON lines, or from a YAML list (.yaml, .yml); each with an id, its number when it has none."""
    path = Path(path)
    if path.suffix.lower() in YAML:
        file = YamlFile(path, CasesError)
        if not isinstance(file.value, list):
            raise CasesError(f"{path}: not a list of cases")
        cases = file.validate(_CaseList).root
    else:
        cases = tuple(case for _, case in read_json_lines(path, Case, CasesError))
    if not cases:
        raise CasesError(f"{path}: no cases in it")
    try:
        return named_apart(cases)
    except ValueError as bad:
        raise CasesError(f"{path}: {bad}") from None


def find_cases(name: str | Path, tell: Callable[[str], None] = lambda _: None) -> tuple[Case, ...]:
    """The cases of a file or, where there is no file of that name, of a built-in pack.

    A file in a format of others is imported, and `tell` hears what was made of it.
    """
    path = Path(name)
    # A folder named like a pack hides nothing: it could not be read anyway.
    if str(name) in pack_names() and not path.is_file():
        return load_pack(str(name))
    if not path.suffix and not path.exists():
        raise CasesError(f"{path}: no such file, and no built-in pack; the packs are {', '.join(pack_names())}")
    # A pipe can be read but once, so what comes out of one is taken for cases of ours.
    form = foreign_format(path) if path.is_file() and path.suffix.lower() not in YAML else None
    return load_cases(path) if form is None else _imported(path, form, tell)


def _imported(path: Path, form: str, tell: Callable[[str], None]) -> tuple[Case, ...]:
    found = import_cases(path, form)
    left_out = f"; {len(found.skipped)} records not used" if found.skipped else ""
    tell(f"{path}: read as {form}, {len(found.cases)} cases{left_out} (`loracheck cases import` tells more)")
    if not found.cases:
        raise CasesError(f"{path}: read as {form}, and no record could be used; `loracheck cases import` tells why")
    return found.cases


def pack_names() -> tuple[str, ...]:
    return tuple(PACKS)


def load_pack(name: str) -> tuple[Case, ...]:
    """The cases of a built-in pack."""
    return load_cases(Path(str(files("loracheck.suite").joinpath("packs", f"{name}.jsonl"))))


def quick_suite(
    base: Path,
    adapters: Sequence[AdapterEntry],
    base_adapters: Sequence[AdapterEntry] = (),
    cases: Sequence[Case] | None = None,
) -> Suite:
    """The suite that `loracheck check --base --adapter` runs: noise baseline, then tool use on the given cases."""
    return Suite(
        models=Models(
            base=BaseEntry(gguf=base, adapters=tuple(base_adapters)),
            ft=FtEntry(adapters=tuple(adapters)),
        ),
        suite=(
            ToolUseFidelityProbe(
                name="tools_intact",
                cases=tuple(cases) if cases is not None else load_pack(DEFAULT_PACK),
            ),
        ),
    ).with_nulls()
