"""Arguments written as bare text get the type that their tool declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loracheck.scoring.parse import json_at
from loracheck.scoring.schema import as_dict

_JSON_TYPES: dict[type, set[str]] = {
    bool: {"boolean"},
    int: {"integer", "number"},
    float: {"number"},
    dict: {"object"},
    list: {"array"},
    type(None): {"null"},
}


class BareText(str):
    """An argument as it stood between its tags: 42 may be a number or a house."""

    __slots__ = ()


def typed(call: dict[str, Any], tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The call, with a value in place of each bare text, at any depth.

    - Declared as string and nothing else: the text.
    - Declared otherwise: the JSON value it spells, when that is of a declared type or string is not one
      of them; else the text.
    - Not declared: the number, boolean, null, object or array it spells; else the text.
    """
    arguments = call.get("arguments")
    if not isinstance(arguments, dict) or not any(
        isinstance(value, (BareText, dict, list)) for value in arguments.values()
    ):
        return call
    parameters = next((tool.get("parameters") for tool in tools if tool.get("name") == call.get("name")), None)
    return {**call, "arguments": _typed(arguments, parameters)}


def json_text(text: str) -> Any:
    """The JSON value that the whole text spells, or the text."""
    text = text.strip()
    value_and_end = json_at(text, 0)
    return value_and_end[0] if value_and_end and value_and_end[1] == len(text) else text


def _typed(value: Any, schema: Any) -> Any:
    if isinstance(value, BareText):
        return _value(value, _types(schema))
    if isinstance(value, dict):
        properties: dict[Any, Any] = {}
        for choice in _choices(schema):
            properties.update(as_dict(choice.get("properties")))
        return {key: _typed(item, properties.get(key)) for key, item in value.items()}
    if isinstance(value, list):
        items = next((choice["items"] for choice in _choices(schema) if "items" in choice), None)
        return [_typed(item, items) for item in value]
    return value


def _value(text: BareText, types: set[str]) -> Any:
    plain = str(text)
    if types == {"string"}:
        return plain
    if "boolean" in types and plain.strip().lower() in ("true", "false"):
        # Models also write Python's spelling.
        return plain.strip().lower() == "true"
    value = json_text(plain)
    kinds = _JSON_TYPES.get(type(value))
    return plain if kinds is None or ("string" in types and not kinds & types) else value


def _types(schema: Any) -> set[str]:
    """Every type a value may have; none when it does not say."""
    declared = [choice.get("type") for choice in _choices(schema)]
    return {name for names in declared for name in (names, *_list(names)) if isinstance(name, str)}


def _choices(schema: Any) -> list[dict[Any, Any]]:
    """The schema, and those it is a choice of."""
    schema = as_dict(schema)
    return [schema, *map(as_dict, _list(schema.get("anyOf"))), *map(as_dict, _list(schema.get("oneOf")))]


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []
