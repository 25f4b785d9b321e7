"""The Berkeley Function Calling Leaderboard, v3 and v4: questions in one file, accepted answers in another."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from loracheck.cases.importers.draft import Call, Draft, Imported, UnusableError, import_each, read_tools, text_message
from loracheck.cases.read import TextFile, read_records, read_text_file

_TYPES = {
    **{name: name for name in ("string", "integer", "number", "boolean", "array", "object", "null")},
    "dict": "object",
    "float": "number",
    "tuple": "array",
}
_LEFT_OUT = ""
_ROLES = ("system", "user", "assistant")


def read_bfcl(file: TextFile, answers: Path | None = None) -> Iterator[Imported]:
    """The answers, where not given, are looked for where the leaderboard keeps them."""
    accepted = _read_answers(answers or _find_answers(file.path))
    return import_each(file, partial(_take_apart, accepted))


def _find_answers(path: Path) -> Path | None:
    places = (path.parent / "possible_answer" / path.name, path.with_name(f"possible_answer_{path.name}"))
    return next((place for place in places if place.is_file()), None)


def _read_answers(path: Path | None) -> dict[Any, Any]:
    records = [record.value for record in read_records(read_text_file(path))] if path else []
    return {str(value.get("id")): value.get("ground_truth") for value in records if isinstance(value, dict)}


def _take_apart(accepted: dict[str, Any], record: dict[str, Any]) -> Draft:
    name = str(record.get("id"))
    tools = read_tools(record.get("function"))
    for tool in tools:
        if "parameters" in tool:
            tool["parameters"] = _schema(tool["parameters"])
    # Two kinds of questions have no file of answers: those that no function fits, and those that one or another does.
    fits_none = "irrelevance" in name
    fits_some = not fits_none and "relevance" in name and name not in accepted
    calls = [] if fits_none or fits_some else _calls(accepted.get(name), tools)
    messages = _messages(record.get("question"))
    return Draft(record.get("id"), messages, tools, calls, has_choices=True, takes_any_call=fits_some)


def _messages(question: Any) -> list[dict[str, Any]]:
    """The one turn of a question. A later turn would follow an answer that no file has."""
    if isinstance(question, str):
        return [text_message("user", question)]
    if not isinstance(question, list):
        raise UnusableError("no question")
    if question and isinstance(question[0], list):
        if len(question) > 1:
            raise UnusableError("several turns, without the answers between them")
        question = question[0]
    if not all(isinstance(message, dict) and message.get("role") in _ROLES for message in question):
        raise UnusableError("a question that is no list of messages")
    return [text_message(message["role"], message.get("content")) for message in question]


def _schema(value: Any) -> Any:
    """JSON Schema from the leaderboard's: Python's names for types, and `any`, which asks for nothing."""
    if not isinstance(value, dict):
        return value
    schema = dict(value)
    if "type" in schema:
        known = _TYPES.get(schema["type"]) if isinstance(schema["type"], str) else None
        schema = {**schema, "type": known} if known else {key: schema[key] for key in schema if key != "type"}
    if isinstance(schema.get("properties"), dict):
        # By name: an argument may be called "type" or "items" itself.
        schema["properties"] = {name: _schema(below) for name, below in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in schema:
            schema[key] = _schema(schema[key])
    return schema


def _calls(truth: Any, tools: list[dict[str, Any]]) -> list[Call]:
    if truth is None:
        raise UnusableError("no accepted answer; --answers FILE names where they are")
    if not isinstance(truth, list) or not truth or not all(isinstance(call, dict) and call for call in truth):
        raise UnusableError("an accepted answer that is no call")
    schemas = {tool["name"]: tool.get("parameters") or {} for tool in tools}
    named = [next(iter(call.items())) for call in truth]
    if not all(isinstance(arguments, dict) for _, arguments in named):
        raise UnusableError("an accepted answer that is no call")
    return [Call(name, _accepted(arguments, schemas.get(name))) for name, arguments in named]


def _accepted(arguments: dict[str, Any], schema: Any) -> dict[str, Any]:
    """The accepted values of each argument; objects among them have their own, and so do those in an array."""
    return {name: _choice(values, _below(schema, "properties", name)) for name, values in arguments.items()}


def _choice(values: Any, schema: Any) -> Any:
    if not isinstance(values, list):
        return _value(values, schema)
    options = [None if value == _LEFT_OUT else _value(value, schema) for value in values]
    if _below(schema, "type") == "array":
        # No other value could be a valid argument, and beside it the lists would not read as a choice.
        options = [option for option in options if isinstance(option, list | None)]
        if values and not options:
            # The name of a variable, say. Without it, an empty array would be expected.
            raise UnusableError("an accepted answer that its own function does not take")
    return options


def _value(value: Any, schema: Any) -> Any:
    if isinstance(value, dict):
        return _accepted(value, schema)
    if isinstance(value, list):
        return [_value(item, _below(schema, "items")) for item in value]
    return value


def _below(schema: Any, *path: str) -> Any:
    for step in path:
        schema = schema.get(step) if isinstance(schema, dict) else None
    return schema
