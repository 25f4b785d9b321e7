"""xLAM and APIGen: `query`, `tools` and `answers`, the latter two as JSON or as its text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from loracheck.cases.importers import draft
from loracheck.cases.importers.draft import Draft, UnusableError
from loracheck.cases.read import TextFile

# Types are written as in Python: "str", "List[int], optional". What is not here, Any and Union too, asks for nothing.
_TYPES = {
    **dict.fromkeys(("str", "string"), "string"),
    **dict.fromkeys(("int", "integer"), "integer"),
    **dict.fromkeys(("float", "number"), "number"),
    **dict.fromkeys(("bool", "boolean"), "boolean"),
    **dict.fromkeys(("list", "array", "tuple", "set"), "array"),
    **dict.fromkeys(("dict", "object"), "object"),
}
_TYPE = re.compile(r"(\w+)(?:\[(.*)\])?", re.DOTALL)


def read_xlam(file: TextFile) -> Iterator[draft.Imported]:
    return draft.import_each(file, _take_apart)


def _take_apart(record: dict[str, Any]) -> Draft:
    if "answers" not in record:
        raise UnusableError("no answers")
    answers = draft.parsed(record["answers"])
    if not isinstance(answers, list):
        raise UnusableError("answers that are no list")
    tools = draft.read_tools(record.get("tools"))
    tools = [tool | {"parameters": _schema(tool.get("parameters") or {})} for tool in tools]
    calls = [draft.read_call(answer) for answer in answers]
    return Draft(record.get("id"), [draft.text_message("user", record.get("query"))], tools, calls)


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
    written = _TYPE.match(text.strip())
    if not written:
        return {}
    outer, inner = written[1].lower(), written[2]
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
