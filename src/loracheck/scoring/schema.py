"""Does a call fit its tool? By the rules of the verdict, and by the whole JSON Schema.

The whole schema is enums, nesting, combinators, additionalProperties and all: draft 2020-12 unless `$schema` names
another. Nothing is ever fetched: a schema refers to itself or to nothing. `format` is not checked, and 1.0 is an
integer, as the specification has it.
"""

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

# Part of what a schema's author wrote stands in every complaint, and that may be long.
_LONGEST_COMPLAINT = 200


def matches_schema(call: Any, tool_spec: Any) -> bool:
    """True when the name is a string, and the arguments a dict with what the tool asks for.

    The tool specification is data from outside: what is not shaped like one asks for nothing.
    """
    arguments = as_dict(call).get("arguments")
    if not isinstance(as_dict(call).get("name"), str) or not isinstance(arguments, dict):
        return False
    parameters = as_dict(as_dict(unwrapped(tool_spec)).get("parameters"))
    required = parameters.get("required")
    if isinstance(required, (list, tuple)) and any(
        isinstance(name, str) and name not in arguments for name in required
    ):
        return False
    properties = as_dict(parameters.get("properties"))
    return all(_is_of_type(value, as_dict(properties.get(name)).get("type")) for name, value in arguments.items())


def unwrapped(value: Any, *, needs_type: bool = True) -> Any:
    """The tool or call inside OpenAI's wrapper, `{type: function, function: {...}}`; anything else as it is.

    Data sets often leave `type` out. Where it need not be there, a `function` that is an object makes a wrapper.
    """
    outer = as_dict(value)
    is_wrapper = isinstance(outer.get("function"), dict) and (not needs_type or outer.get("type") == "function")
    return outer["function"] if is_wrapper else value


def as_dict(value: Any) -> dict[Any, Any]:
    """Data from outside; what is no dict has nothing in it."""
    return value if isinstance(value, dict) else {}


def _is_of_type(value: Any, declared: Any) -> bool:
    if isinstance(declared, (list, tuple)):
        # A bare "null" is an unknown type name and lets everything through, but in a union it can
        # only mean that None is one of the choices.
        return not declared or any(value is None if name == "null" else _is_named(value, name) for name in declared)
    return _is_named(value, declared)


def _is_named(value: Any, name: Any) -> bool:
    types = _TYPES.get(name) if isinstance(name, str) else None
    # bool is a subclass of int.
    return types is None or (bool in types if isinstance(value, bool) else isinstance(value, types))


def strictly_valid(call: Any, tool_spec: Any) -> bool:
    """True when the name is a string and the arguments an object that the tool's `parameters` accept.

    Never raises. Meant for schemas that `check_schema` has nothing to say about.
    """
    if not matches_schema(call, None):
        return False
    parameters = as_dict(unwrapped(tool_spec)).get("parameters")
    if parameters is None:
        return True
    try:
        return _accepts(_draft(parameters), parameters, call["arguments"])
    except Exception:
        # Values nested without end, numbers too large to divide: what cannot be checked is not known to fit.
        return False


def check_schema(parameters: Any) -> str | None:
    """What is wrong with a tool's schema itself; None when nothing is."""
    try:
        complaint = _complaint(parameters)
    except RecursionError:
        return "it is nested too deeply"
    if complaint is None or len(complaint) <= _LONGEST_COMPLAINT:
        return complaint
    return f"{complaint[: _LONGEST_COMPLAINT - 1]}…"


def _complaint(parameters: Any) -> str | None:
    from jsonschema.exceptions import SchemaError
    from referencing.exceptions import Unresolvable

    if not isinstance(parameters, dict):
        return "it should be a mapping, key: value"
    draft = _draft(parameters)
    if draft is None:
        named = parameters["$schema"]
        return f"$schema {named!r} is not a known draft; leave it out for 2020-12, or name draft 3 to 2020-12"
    try:
        # With the format checker, patterns that are no regular expressions are found too.
        draft.check_schema(parameters, format_checker=draft.FORMAT_CHECKER)
        _resolve_references(parameters, draft)
    except SchemaError as bad:
        place = ".".join(map(str, bad.absolute_path))
        return f"{place}: {bad.message}" if place else bad.message
    except Unresolvable as missing:
        return f"$ref {missing.ref!r} is not in it; copy what it refers to into $defs, nothing is fetched"
    except ValueError as bad:
        return f"an $id or $ref in it is no address: {bad}"
    try:
        _accepts(draft, parameters, {})
    except RecursionError:
        return "a $ref in it leads back to itself without end"
    return None


def _draft(parameters: Any) -> Any:
    """jsonschema's class for the draft that the schema names; None for one that is not known."""
    # Slow to import, and few runs are strict.
    from jsonschema.validators import Draft202012Validator, validator_for

    named = parameters.get("$schema")
    unknown: Any = None
    if named is None:
        return Draft202012Validator
    return validator_for({"$schema": named}, default=unknown) if isinstance(named, str) else unknown


def _accepts(draft: Any, parameters: dict[str, Any], arguments: dict[str, Any]) -> bool:
    from referencing import Registry

    # A registry of one's own: the default one would fetch what a schema refers to.
    return bool(draft(parameters, registry=Registry()).is_valid(arguments))


def _resolve_references(parameters: dict[str, Any], draft: Any) -> None:
    """Unresolvable, when there is a reference to something outside of the schema."""
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]
    from referencing.jsonschema import specification_with

    root = specification_with(draft.META_SCHEMA["$schema"]).create_resource(parameters)
    pending = [(root, REGISTRY.resolver_with_root(root))]
    while pending:
        resource, resolver = pending.pop()
        if isinstance(resource.contents, dict):
            for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
                if isinstance(reference := resource.contents.get(keyword), str):
                    resolver.lookup(reference)
        pending.extend((below, resolver.in_subresource(below)) for below in resource.subresources())
