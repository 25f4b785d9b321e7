"""Suites and cases from files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, RootModel, field_validator

from loracheck.cases import PACKS, did_you_mean
from loracheck.cases.case import Case, Surface, Tool, named_apart
from loracheck.cases.fit import bad_schemas
from loracheck.cases.importers import foreign_format, import_cases
from loracheck.cases.read import MAX_JSON_LINES, JsonFile, TextFile, YamlFile, read_json_lines, read_text_file
from loracheck.cases.suite import Suite
from loracheck.errors import CasesError, SuiteError
from loracheck.file_kinds import CASES, misplaced
from loracheck.text import counted

DEFAULT_PACK = "core"
_TOO_MUCH_YAML = "write the tools as JSON, which may be larger"


def load_suite(path: str | Path, kind_of_suite: type[Suite] = Suite, tools: tuple[Tool, ...] = ()) -> Suite:
    """The suite in a YAML file; relative paths in it start at the file's folder.

    Cases that name no tools get `tools`, or where there are none those of the suite's `tools_file`.
    """
    path = Path(path)
    file = YamlFile(path, SuiteError)
    if not isinstance(file.value, dict):
        raise SuiteError(f"{path}: not a suite file; it should begin with 'version: 1'")
    named = file.value.get("tools_file")
    if not tools and isinstance(named, str):
        tools = load_tools(path.parent / Path(named).expanduser())
    return file.validate(kind_of_suite, folder=path.parent, tools=tools).loaded_from(path)


class ToolList(BaseModel):
    """What an MCP server answers to tools/list. A request to OpenAI or Anthropic has its tools in the same place."""

    tools: Surface = Field(min_length=1)
    nextCursor: str | None = None  # noqa: N815 - MCP's name

    @field_validator("nextCursor")
    @classmethod
    def _is_whole(cls, cursor: str | None) -> str | None:
        if cursor:
            raise ValueError("the server has more tools than these; put all of them into one list")
        return cursor


class _Reply(BaseModel):
    """The same, as it comes over JSON-RPC."""

    result: ToolList


def load_tools(path: str | Path) -> tuple[Tool, ...]:
    """Tools from a JSON file, or from a YAML file (.yaml, .yml): a list of them, or what MCP's tools/list gives."""
    path = Path(path)
    if wrong := misplaced(path, "a list of tools", CASES):
        raise CasesError(wrong)
    file = YamlFile(path, CasesError, _TOO_MUCH_YAML) if _is_yaml(path) else JsonFile(path, CasesError)
    if isinstance(file.value, list):
        return file.validate(RootModel[Annotated[Surface, Field(min_length=1)]]).root
    keys = file.value if isinstance(file.value, dict) else {}
    if "tools" in keys:
        return file.validate(ToolList).tools
    if "result" in keys:
        return file.validate(_Reply).result.tools
    raise CasesError(f"{path}: no list of tools; it should be one, or have one under 'tools', as MCP's tools/list does")


def load_cases(path: str | Path, tools: tuple[Tool, ...] = ()) -> tuple[Case, ...]:
    """Cases from JSON lines, or from a YAML list (.yaml, .yml); each with an id, its number when it has none.

    Those that name no tools get `tools`.
    """
    path = Path(path)
    if _is_yaml(path):
        return _each_with_id(path, _yaml_list(path, tools))
    return _each_with_id(path, tuple(read_json_lines(read_text_file(path, MAX_JSON_LINES, tools), Case)))


def _is_yaml(path: Path) -> bool:
    return path.suffix.lower() in (".yaml", ".yml")


def _yaml_list(path: Path, tools: tuple[Tool, ...]) -> tuple[Case, ...]:
    file = YamlFile(path, CasesError)
    if not isinstance(file.value, list):
        raise CasesError(f"{path}: not a list of cases; begin each with a dash: - prompt: …")
    return file.validate(RootModel[tuple[Case, ...]], tools=tools).root


def _each_with_id(path: Path, cases: tuple[Case, ...]) -> tuple[Case, ...]:
    """The cases of the file. CasesError when there are none, or two of one id."""
    if not cases:
        raise CasesError(f"{path}: no cases in it; write some, or name another file")
    try:
        return named_apart(cases)
    except ValueError as bad:
        raise CasesError(f"{path}: {bad}") from None


def find_cases(
    name: str | Path, tell: Callable[[str], None] = lambda _: None, tools: tuple[Tool, ...] = ()
) -> tuple[Case, ...]:
    """The cases of a file or, where there is no file of that name, of a built-in pack.

    A file in another format that we can import is imported, and `tell` is told how that went. Cases that name no tools
    get `tools`.
    """
    path = Path(name)
    # A folder named like a pack hides nothing: it could not be read anyway.
    if str(name) in pack_names() and not path.is_file():
        return load_pack(str(name))
    if not path.suffix and not path.exists():
        packs = f"{', '.join(PACKS)}{did_you_mean(str(name), PACKS)}"
        raise CasesError(f"{path}: no such file, and no built-in pack; the packs are {packs}")
    if wrong := misplaced(path, "a file of cases", CASES):
        raise CasesError(wrong)
    if _is_yaml(path):
        return load_cases(path, tools)
    file = read_text_file(path, tools=tools)
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


def tell_if_not_used(tools: tuple[Tool, ...], cases: Iterable[Case], tell: Callable[[str], None]) -> None:
    """A remark on tools for all cases when every case names its own."""
    names = [tool.name for tool in tools]
    if not any([tool.name for tool in case.surface] == names for case in cases):
        tell("every case names its own tools; those that were given for all cases are not used")


def pack_names() -> tuple[str, ...]:
    return tuple(PACKS)


def load_pack(name: str) -> tuple[Case, ...]:
    """The cases of a built-in pack."""
    return load_cases(Path(str(files("loracheck.cases").joinpath("packs", f"{name}.jsonl"))))


def find_bad_schema(cases: Iterable[Case]) -> str | None:
    """The first tool whose `parameters` are no JSON Schema, with its case and what is wrong; None when all are."""
    bad = next((misfit for _, misfit in bad_schemas(cases)), None)
    return f"case {bad.case!r}, tool {bad.tool!r}: {bad.problem}" if bad else None
