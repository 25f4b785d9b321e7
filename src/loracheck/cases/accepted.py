"""Gold arguments with their choices made: calls that a case would take, to see whether the tool would take them too.

Where gold arguments hold a choice, and where a list is just a list, `arguments_match` knows. It is asked about one
place at a time, with everything around that place left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from loracheck.scoring.arguments import arguments_match

Match: TypeAlias = Callable[[Any, Any], bool]
"""Whether gold takes a value, both standing at a certain place of the arguments."""

_LEFT_OUT = object()


def accepted_arguments(gold: dict[str, Any], parameters: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The first choice at every place, then each other choice once. Empty where the gold arguments take nothing."""
    return _objects(gold, lambda gold, value: arguments_match(gold, value, parameters))


def _objects(gold: dict[str, Any], match: Match) -> list[dict[str, Any]]:
    choices = {name: _property_values(name, wanted, match) for name, wanted in gold.items()}
    if not all(choices.values()):
        return []
    first = {name: values[0] for name, values in choices.items()}
    others = [{**first, name: value} for name, values in choices.items() for value in values[1:]]
    return [{name: value for name, value in chosen.items() if value is not _LEFT_OUT} for chosen in (first, *others)]


def _property_values(name: str, gold: Any, match: Match) -> list[Any]:
    values = _values(gold, lambda gold, value: match({name: gold}, {name: value}))
    return [*values, _LEFT_OUT] if match({name: gold}, {}) else values


def _values(gold: Any, match: Match) -> list[Any]:
    if isinstance(gold, dict):
        return _objects(gold, match)
    if not isinstance(gold, list):
        return [gold]
    plain = _without_objects(gold)
    if match(plain, plain):
        # An object in it may take nothing, and then the array does not either.
        array = _array(gold, match)
        return [array] if match(gold, array) else []
    # A choice takes one of its options, and never itself. Null among them is for leaving out.
    stated = [option for option in gold if option is not None]
    return [value for option in stated for value in _values(option, lambda gold, value: match([gold], value))]


def _array(gold: list[Any], match: Match) -> list[Any]:
    """The list as an array, in which only objects can have choices."""
    return [_item(item, lambda gold, value: match([gold], [value])) for item in gold]


def _item(gold: Any, match: Match) -> Any:
    if isinstance(gold, list):
        return _array(gold, match)
    return next(iter(_objects(gold, match)), gold) if isinstance(gold, dict) else gold


def _without_objects(gold: Any) -> Any:
    """The same lists with no choice inside: whether a list is one depends on nothing else in it."""
    if isinstance(gold, list):
        return [_without_objects(item) for item in gold]
    return "" if isinstance(gold, dict) else gold
