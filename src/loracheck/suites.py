"""The suite a user asks for: from a file, from options, from both, or from a report that is to be run again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import ValidationError

from loracheck.cases.case import Case, Tool
from loracheck.cases.entries import NullAdapterEntry
from loracheck.cases.load import DEFAULT_PACK, ToolList, find_cases, load_pack, load_tools, tell_if_not_used
from loracheck.cases.load import load_suite as load_suite_file
from loracheck.cases.suite import AdapterEntry, Suite, adapter_entry, quick_suite
from loracheck.errors import InputError, ReportError, SuiteError
from loracheck.file_kinds import SUITE, misplaced
from loracheck.models.peft import is_peft_folder, source_hashes
from loracheck.probes import suite_type
from loracheck.provenance import model_record
from loracheck.quantized import file_type
from loracheck.results import AdapterRecord, FileRecord, Report

AnyPath: TypeAlias = "str | os.PathLike[str]"
Adapters: TypeAlias = "AnyPath | AdapterEntry | Sequence[AnyPath | AdapterEntry]"
Tools: TypeAlias = "AnyPath | Sequence[Tool | Mapping[str, Any]]"

MISSING = "give a suite file, or both a base model and an adapter, a candidate, or a type to quantize to"
_BOTH = "a candidate and quantize exclude each other, as the quantized base is the candidate; give one of them"


def load_suite(path: AnyPath, tools: tuple[Tool, ...] = ()) -> Suite:
    """The suite in a YAML file; relative paths in it start at the file's folder.

    Cases that name no tools get `tools`, or where there are none those of the suite's `tools_file`.
    """
    if wrong := misplaced(Path(path), "a suite file", SUITE):
        raise SuiteError(wrong)
    return load_suite_file(Path(path), suite_type(), tools)


@contextmanager
def _in_plain_words() -> Iterator[None]:
    """What pydantic has against a keyword, as an error of ours."""
    try:
        yield
    except ValidationError as bad:
        first = bad.errors()[0]
        problem = first["msg"].removeprefix("Value error, ")
        # What is wrong with several of them together has no place of its own.
        place = "".join(f"{step}." for step in first["loc"]).rstrip(".")
        raise InputError(f"{place + ': ' if place else ''}{problem[:1].lower()}{problem[1:]}") from None


@_in_plain_words()
def build_suite(
    suite: Suite | AnyPath | None = None,
    *,
    base: AnyPath | None = None,
    adapter: Adapters = (),
    base_adapter: Adapters = (),
    candidate: AnyPath | None = None,
    quantize: str | None = None,
    cases: AnyPath | Sequence[Case] | None = None,
    tools: Tools | None = None,
    null_runs: int | None = None,
    null: bool = True,
    template_args: Mapping[str, Any] | None = None,
    folder: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
    **defaults: Any,
) -> Suite:
    """A suite file with models, cases and settings over it, or a suite made from these alone.

    `tools` are on offer in every case that names none, and win over the `tools_file` of the file. Template arguments
    are added to those of the file. `folder` is where relative paths start, if not here; `tell` hears what was made of
    cases in a format of others, and of tools that no case needs.
    """
    if candidate is not None and quantize is not None:
        raise InputError(_BOTH)
    beside = _Beside(folder)
    model, other = (None if path is None else beside.path(path) for path in (base, candidate))
    adapters, base_adapters = beside.adapters(adapter), beside.adapters(base_adapter)
    given = beside.tools(tools)
    loaded = load_suite(beside.path(suite), given) if isinstance(suite, str | os.PathLike) else suite
    asked = beside.cases(cases, given or _tools_of(loaded, cases), tell)
    if loaded is not None:
        # What is asked for here wins: one of the two is enough, and two are too many.
        kept = loaded.with_defaults(quantize=None) if other else loaded.without_candidate() if quantize else loaded
        built = kept.with_models(model, adapters, base_adapters, other)
        built = (
            built
            if asked is None
            else built.with_cases(asked, str(cases) if isinstance(cases, str | os.PathLike) else "")
        )
    elif model is None:
        raise InputError(MISSING)
    else:
        built = quick_suite(model, adapters, base_adapters, load_pack(DEFAULT_PACK) if asked is None else asked, other)
    if given:
        built = built.model_copy(
            update={"tools_file": beside.path(tools) if isinstance(tools, str | os.PathLike) else None}
        )
        tell_if_not_used(given, (case for entry in built.entries for case in entry.asks), tell)
    if template_args:
        defaults["template_args"] = {**built.defaults.template_args, **template_args}
    defaults["quantize"] = quantize
    built = built.with_defaults(**{key: value for key, value in defaults.items() if value is not None})
    _confirm_models(built)
    if null_runs is not None:
        # A copy takes any number, an entry knows which there may be.
        NullAdapterEntry(name="nulls", runs=null_runs)
    return built.with_nulls(null_runs) if null else built.without_nulls()


def _confirm_models(suite: Suite) -> None:
    place = "" if suite.file is None else f"{suite.file}: models.ft: "
    if not suite.checks_something:
        fix = "give it adapters, or a gguf of its own, or say what to quantize to" if place else MISSING
        raise InputError(f"{place}nothing to check; {fix}" if place else MISSING)
    if suite.models.ft.gguf and suite.defaults.quantize:
        raise InputError(f"{place}{_BOTH}")
    if suite.defaults.quantize:
        quantizations([suite.defaults.quantize], suite, "defaults")


def quantizations(names: Iterable[str], suite: Suite, section: str) -> list[str]:
    """What a section of the suite asks to quantize to, as llama.cpp spells it. InputError for what cannot be made."""
    try:
        return [file_type(name) for name in names]
    except InputError as bad:
        place = "" if suite.file is None else f"{suite.file}: {section}.quantize: "
        raise InputError(f"{place}{bad}") from None


def _tools_of(suite: Suite | None, cases: AnyPath | Sequence[Case] | None) -> tuple[Tool, ...]:
    """What a suite has for cases that come from elsewhere and name no tools."""
    if suite is None or suite.tools_file is None or not isinstance(cases, str | os.PathLike):
        return ()
    return load_tools(suite.tools_file)


class _Beside:
    """Paths as a user gives them."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def path(self, path: AnyPath) -> Path:
        expanded = Path(path).expanduser()
        return self._folder / expanded if self._folder else expanded

    def adapters(self, given: Adapters) -> list[AdapterEntry]:
        several = [given] if isinstance(given, str | os.PathLike | AdapterEntry) else given
        return [each if isinstance(each, AdapterEntry) else adapter_entry(self.path(each)) for each in several]

    def tools(self, given: Tools | None) -> tuple[Tool, ...]:
        if given is None:
            return ()
        if isinstance(given, str | os.PathLike):
            return load_tools(self.path(given))
        return ToolList.model_validate({"tools": given}).tools

    def cases(
        self, given: AnyPath | Sequence[Case] | None, tools: tuple[Tool, ...], tell: Callable[[str], None]
    ) -> Sequence[Case] | None:
        if given is None or not isinstance(given, str | os.PathLike):
            return given
        # A pack has a name, and no folder.
        file = self.path(given)
        return find_cases(file if file.is_file() else Path(given), tell, tools)


def suite_of(report: Report, source: Path, hash_of: Callable[[Path], str]) -> Suite:
    """The suite that the report in the file `source` came from, on the very same model and adapters.

    A relative path is looked for where we are, then beside the report.
    """
    if report.redacted:
        raise ReportError(f"{source}: the report is redacted and does not hold its suite; give the whole report")
    try:
        suite = suite_type().model_validate(report.provenance.suite)
    except ValidationError:
        raise ReportError(
            f"{source}: the report does not hold its suite; it is of an older loracheck; run the check itself again"
        ) from None
    suite = suite.with_files(lambda path: _found(path, source))
    for path in _changed(suite, report, source, hash_of):
        raise ReportError(
            f"{source}: {path} has changed since; a second run would be of another file; put the old one back"
        )
    file = report.provenance.suite_file
    return suite if file is None else suite.loaded_from(Path(file))


def _changed(suite: Suite, report: Report, source: Path, hash_of: Callable[[Path], str]) -> Iterator[Path]:
    """The files that are not what they were when the report was made."""
    provenance = report.provenance
    for path in suite.files:
        if not path.exists():
            raise ReportError(f"{source}: it came from {path}, which is not there; put it back")
    candidate = suite.models.ft.gguf
    models = [(suite.models.base.gguf, provenance.model)]
    models += [(candidate, provenance.candidate or FileRecord())] if candidate else []
    for path, record in models:
        if record.hashes != model_record(path, hash_of).hashes:
            yield path
    adapters, records = suite.adapters, (*provenance.base_adapters, *provenance.ft_adapters)
    if len(records) != len(adapters):
        raise ReportError(f"{source}: it names {len(records)} adapters, and its suite {len(adapters)}; was it edited?")
    for entry, record in zip(adapters, records, strict=True):
        if _adapter_changed(entry.gguf, record, hash_of):
            yield entry.gguf


def _adapter_changed(path: Path, record: AdapterRecord, hash_of: Callable[[Path], str]) -> bool:
    if is_peft_folder(path):
        return source_hashes(path) != record.peft
    return hash_of(path) != record.sha256


def _found(path: Path, source: Path) -> Path:
    beside = source.parent / path
    return beside if not path.exists() and beside.exists() else path
