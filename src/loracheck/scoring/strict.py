"""Does a call fit the whole JSON Schema of its tool? Enums, nesting, combinators, additionalProperties and all.

Draft 2020-12 unless `$schema` names another. Nothing is ever fetched: a schema refers to itself or to nothing. `format`
is not checked, and 1.0 is an integer, as the specification has it.
"""

from __future__ import annotations

from typing import Any

from .schema import matches_schema, unwrapped

# Part of what a schema's author wrote stands in every complaint, and that may be long.
_LONGEST_COMPLAINT = 200


def strictly_valid(call: Any, tool_spec: Any) -> bool:
    """True when the name is a string and the arguments an object that the tool's `parameters` accept.

    Never raises. Meant for schemas that `check_schema` has nothing to say about.
    """
    if not matches_schema(call, None):
        return False
    tool = unwrapped(tool_spec)
    parameters = tool.get("parameters") if isinstance(tool, dict) else None
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
