"""xLAM and APIGen: `query`, `tools` and `answers`, the latter two as JSON or as its text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from loracheck.suite.importers.conversation import text_message
from loracheck.suite.importers.draft import Draft, UnusableError, import_each, parsed, read_call, read_tools

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from loracheck.suite.importers.draft import Imported

# Types are written as in Python: "str", "List[int], optional". What is not here, Any and Union too, asks for nothing.
_TYPES = {
    "str": "string",
    "string": "string",
    "int": "integer",
    "integer": "integer",
    "float": "number",
    "number": "number",
    "bool": "boolean",
    "boolean": "boolean",
    "list": "array",
    "array": "array",
    "tuple": "array",
    "set": "array",
    "dict": "object",
    "object": "object",
}
_TYPE = re.compile(r"(\w+)(?:\[(.*)\])?", re.DOTALL)


def read_xlam(path: Path) -> Iterator[Imported]:
    return import_each(path, _take_apart)


def _take_apart(record: dict[str, Any]) -> Draft:
    if "answers" not in record:
        raise UnusableError("no answers")
    answers = parsed(record["answers"])
    if not isinstance(answers, list):
        raise UnusableError("answers that are no list")
    tools = [tool | {"parameters": _schema(tool.get("parameters") or {})} for tool in read_tools(record.get("tools"))]
    calls = [read_call(answer) for answer in answers]
    return Draft(record.get("id"), [text_message("user", record.get("query"))], tools, calls)


def _schema(parameters: dict[str, Any]) -> dict[str, Any]:
    """JSON Schema for parameters that are listed by name; what is JSON Schema already stays."""
    if isinstance(parameters.get("properties"), dict) and isinstance(parameters.get("type", ""), str):
        return parameters
    entries = {name: entry if isinstance(entry, dict) else {} for name, entry in parameters.items()}
    return {
        "type": "object",
        "properties": {name: _property(entry) for name, entry in entries.items()},
        "required": [name for name, entry in entries.items() if _is_required(entry)],
    }


def _property(entry: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {key: entry[key] for key in ("description", "default", "enum") if key in entry}
    return {**_type(str(entry.get("type", ""))), **kept}


def _type(text: str) -> dict[str, Any]:
    found = _TYPE.match(text.strip())
    if not found:
        return {}
    outer, inner = found[1].lower(), found[2]
    if outer == "optional" and inner:
        return _type(inner)
    if outer not in _TYPES:
        return {}
    if outer == "list" and inner and (items := _type(inner)):
        return {"type": "array", "items": items}
    return {"type": _TYPES[outer]}


def _is_required(entry: dict[str, Any]) -> bool:
    if isinstance(entry.get("required"), bool):
        return bool(entry["required"])
    return "default" not in entry and "optional" not in str(entry.get("type", "")).lower()
