"""Arguments of calls: how far two are apart, and whether they are the ones a case expects.

The gold arguments of a case are plain values or choices of accepted ones. Which of the two a list is, the tool's schema
decides:

- where it asks for no array, a list is a choice;
- where it asks for an array, a list of lists is a choice, and any other list is the array itself; an array of arrays
  is one level deeper: there a list of lists is the array, and a list of lists of lists is a choice;
- null in a choice means that the argument may be left out.

Choices stand where an argument or a property of a nested object stands; an array's items are compared as they are,
objects among them by the rules above. Two calls are compared without recursion: values may be nested without limit.
"""

from __future__ import annotations

from typing import Any

_ABSENT = object()

# A reference may lead to itself.
_MAX_STEPS = 16


def field_disagreement(base_call: dict[str, Any], ft_call: dict[str, Any]) -> float:
    """The share of leaf paths, over both calls, whose values differ or which one side lacks."""
    base_arguments = base_call.get("arguments") or {}
    ft_arguments = ft_call.get("arguments") or {}
    if not isinstance(base_arguments, dict) or not isinstance(ft_arguments, dict):
        return 1.0
    leaves = differing = 0
    # Both sides are walked in step: spelling out the path of every leaf would take quadratic space.
    pending: list[tuple[Any, Any]] = [(base_arguments, ft_arguments)]
    while pending:
        base, ft = pending.pop()
        if isinstance(base, dict) or isinstance(ft, dict):
            # A leaf opposite a dict is a path that the other side lacks.
            lone = sum(not isinstance(side, dict) and side is not _ABSENT for side in (base, ft))
            leaves += lone
            differing += lone
            left, right = (side if isinstance(side, dict) else {} for side in (base, ft))
            pending.extend((left.get(key, _ABSENT), right.get(key, _ABSENT)) for key in left.keys() | right.keys())
        else:
            leaves += 1
            differing += not same_value(base, ft)
    return differing / leaves if leaves else 0.0


def same_value(a: Any, b: Any) -> bool:
    """Deep equality of JSON values, where 1 equals 1.0 but not true, at any depth.

    NaN equals nothing, itself included.
    """
    pending: list[tuple[Any, Any]] = [(a, b)]
    while pending:
        left, right = pending.pop()
        if isinstance(left, dict) and isinstance(right, dict):
            if left.keys() != right.keys():
                return False
            pending.extend((value, right[key]) for key, value in left.items())
        elif isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
            if len(left) != len(right):
                return False
            pending.extend(zip(left, right, strict=True))
        elif isinstance(left, bool) != isinstance(right, bool) or left != right:
            return False
    return True


def arguments_match(gold: dict[str, Any], arguments: dict[str, Any], parameters: dict[str, Any] | None) -> bool:
    """Whether every argument is accepted, none is missing and none is there that the gold does not name."""
    try:
        return _Schema(parameters, parameters).accepts_object(gold, arguments)
    except RecursionError:
        # No parsed call is nested that deeply, so none can be meant.
        return False


def gold_of(arguments: dict[str, Any], parameters: dict[str, Any] | None) -> dict[str, Any]:
    """Gold arguments that accept these alone: a list that would read as a choice becomes a choice of that one list."""
    return _Schema(parameters, parameters).gold_of_object(arguments)


class _Schema:
    """A place in a tool's schema. It is data from outside: what is not shaped like a schema asks for nothing."""

    __slots__ = ("_branches", "_root")

    def __init__(self, schema: Any, root: Any) -> None:
        self._root = root
        self._branches = _branches(schema, root)

    def accepts_object(self, gold: Any, value: Any) -> bool:
        if not isinstance(gold, dict) or not isinstance(value, dict) or not value.keys() <= gold.keys():
            return False
        return all(
            self._property(name)._accepts_argument(wanted, value.get(name, _ABSENT)) for name, wanted in gold.items()
        )

    def gold_of_object(self, value: dict[str, Any]) -> dict[str, Any]:
        return {name: self._property(name)._gold_of_argument(item) for name, item in value.items()}

    def _accepts_argument(self, gold: Any, value: Any) -> bool:
        if not self._is_choice(gold):
            return value is not _ABSENT and self._accepts(gold, value)
        return any(option is None if value is _ABSENT else self._accepts(option, value) for option in gold)

    def _accepts(self, gold: Any, value: Any) -> bool:
        if isinstance(gold, dict):
            return self.accepts_object(gold, value)
        if not isinstance(gold, list):
            return same_value(gold, value)
        if not isinstance(value, list) or len(gold) != len(value):
            return False
        items = self._items()
        return all(items._accepts(wanted, item) for wanted, item in zip(gold, value, strict=True))

    def _gold_of_argument(self, value: Any) -> Any:
        gold = self._gold_of(value)
        return [gold] if self._is_choice(gold) else gold

    def _gold_of(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self.gold_of_object(value)
        if isinstance(value, list):
            items = self._items()
            return [items._gold_of(item) for item in value]
        return value

    def _is_choice(self, gold: Any) -> bool:
        if not isinstance(gold, list):
            return False
        depth = self._array_depth()
        if not depth:
            return True
        # [[]] alone could be an array of arrays just as well.
        is_clear = depth == 1 or any(option is None or option for option in gold)
        return bool(gold) and is_clear and all(option is None or _is_nested(option, depth) for option in gold)

    def _array_depth(self) -> int:
        """How many arrays the schema asks for inside each other."""
        depth, place = 0, self
        while depth < _MAX_STEPS and any(_asks_for_array(branch) for branch in place._branches):
            depth, place = depth + 1, place._items()
        return depth

    def _property(self, name: str) -> _Schema:
        return self._below(("properties", name), ("additionalProperties",))

    def _items(self) -> _Schema:
        return self._below(("items",))

    def _below(self, *paths: tuple[str, ...]) -> _Schema:
        for path in paths:
            for branch in self._branches:
                schema: Any = branch
                for step in path:
                    schema = schema.get(step) if isinstance(schema, dict) else None
                if schema is not None:
                    return _Schema(schema, self._root)
        return _Schema(None, self._root)


def _branches(schema: Any, root: Any) -> list[dict[str, Any]]:
    """The schema, what it refers to and what it combines, as far as these are schemas at all."""
    branches: list[dict[str, Any]] = []
    pending = [schema]
    while pending and len(branches) < _MAX_STEPS:
        branch = pending.pop(0)
        if not isinstance(branch, dict):
            continue
        branches.append(branch)
        if "$ref" in branch:
            pending.append(_referred(branch["$ref"], root))
        for combinator in ("allOf", "anyOf", "oneOf"):
            if isinstance(combined := branch.get(combinator), list):
                pending.extend(combined)
    return branches


def _referred(reference: Any, root: Any) -> Any:
    """What a reference such as #/$defs/Point points to; None for all that is not in this schema."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    place = root
    for step in reference[1:].split("/")[1:]:
        place = place.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(place, dict) else None
    return place


def _asks_for_array(schema: dict[str, Any]) -> bool:
    declared = schema.get("type")
    if declared is None:
        return "items" in schema or "prefixItems" in schema
    return "array" in declared if isinstance(declared, list) else declared == "array"


def _is_nested(value: Any, depth: int) -> bool:
    """A list, of lists (or nulls) where depth is 2, and so on."""
    return isinstance(value, list) and (
        depth == 1 or all(item is None or _is_nested(item, depth - 1) for item in value)
    )
