"""Arguments written as bare text get the type their tool declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..parse import json_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_JSON_TYPES: dict[type, frozenset[str]] = {
    bool: frozenset({"boolean"}),
    int: frozenset({"integer", "number"}),
    float: frozenset({"number"}),
    dict: frozenset({"object"}),
    list: frozenset({"array"}),
    type(None): frozenset({"null"}),
}


class BareText(str):
    """An argument as it stood between its tags: 42 may be a number or a house."""

    __slots__ = ()


def typed(call: dict[str, Any], tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The call, with a value in place of each bare text.

    - Declared as string and nothing else: the text.
    - Declared otherwise: the JSON value it spells, when that is of a declared type or string is not one
      of them; else the text.
    - Not declared: the number, boolean, null, object or array it spells; else the text.
    """
    arguments = call.get("arguments")
    if not isinstance(arguments, dict) or not any(isinstance(value, BareText) for value in arguments.values()):
        return call
    properties = _properties(call.get("name"), tools)
    return {
        **call,
        "arguments": {
            key: _value(value, _types(properties.get(key))) if isinstance(value, BareText) else value
            for key, value in arguments.items()
        },
    }


def json_text(text: str) -> Any:
    """The JSON value that the whole text spells, or the text."""
    text = text.strip()
    read = json_at(text, 0)
    return read[0] if read and read[1] == len(text) else text


def _value(text: BareText, types: frozenset[str]) -> Any:
    plain = str(text)
    if types == {"string"}:
        return plain
    if "boolean" in types and plain.strip().lower() in ("true", "false"):
        # Models also write Python's spelling.
        return plain.strip().lower() == "true"
    value = json_text(plain)
    kinds = _JSON_TYPES.get(type(value))
    if kinds is None or ("string" in types and not kinds & types):
        return plain
    return value


def _properties(name: Any, tools: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    for tool in tools:
        if tool.get("name") == name:
            properties = _dict(tool.get("parameters")).get("properties")
            return _dict(properties)
    return {}


def _types(schema: Any) -> frozenset[str]:
    """Every type a property may have; none when it does not say."""
    found: set[str] = set()
    for part in (schema, *_list(_dict(schema).get("anyOf")), *_list(_dict(schema).get("oneOf"))):
        declared = _dict(part).get("type")
        found.update(name for name in (declared, *_list(declared)) if isinstance(name, str))
    return frozenset(found)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []
