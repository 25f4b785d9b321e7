"""Does a call fit the tool it was meant for?"""

from __future__ import annotations

from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}


def matches_schema(call: Any, tool_spec: Any) -> bool:
    """True when the name is a string, and the arguments a dict with what the tool asks for.

    The tool specification is data from outside: what is not shaped like one asks for nothing.
    """
    if not isinstance(call, dict):
        return False
    arguments = call.get("arguments")
    if not isinstance(call.get("name"), str) or not isinstance(arguments, dict):
        return False
    parameters = _dict(_dict(unwrapped(tool_spec)).get("parameters"))
    required = parameters.get("required")
    if isinstance(required, (list, tuple)):
        for name in required:
            if isinstance(name, str) and name not in arguments:
                return False
    properties = _dict(parameters.get("properties"))
    return all(_is_of_type(value, _dict(properties.get(name)).get("type")) for name, value in arguments.items())


def unwrapped(tool_spec: Any) -> Any:
    """The tool inside an OpenAI wrapper, `{type: function, function: {...}}`."""
    outer = _dict(tool_spec)
    inner = outer.get("function")
    return inner if outer.get("type") == "function" and isinstance(inner, dict) else tool_spec


def _dict(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}


def _is_of_type(value: Any, declared: Any) -> bool:
    if isinstance(declared, (list, tuple)):
        # A bare "null" is an unknown type name and lets everything through, but in a union it can
        # only mean that None is one of the choices.
        return not declared or any(
            value is None if member == "null" else _is_of_named_type(value, member) for member in declared
        )
    return _is_of_named_type(value, declared)


def _is_of_named_type(value: Any, name: Any) -> bool:
    types = _TYPES.get(name) if isinstance(name, str) else None
    if types is None:
        return True
    if isinstance(value, bool):
        # bool is a subclass of int.
        return bool in types
    return isinstance(value, types)
