"""Several calls in one answer: which of the expected ones they are.

A call is paired with an expected one of the same name. Of all such pairings the best is taken: the one with the most
right calls, then with the most pairs, then with the fewest arguments that are not as expected. To take the first that
fits, call by call, could give away what another one needs: where a search for "Rome" or "Roma" and one for "Rome" are
expected, "Rome" and "Roma" are both right, in either order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from loracheck.scoring.arguments import arguments_match
from loracheck.scoring.assignment import assign
from loracheck.scoring.schema import as_dict, matches_schema, unwrapped

Order: TypeAlias = Literal["any", "strict"]


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """One of the calls that an answer should make."""

    name: str
    arguments: dict[str, Any] | None = None
    """Plain values or choices, as in gold arguments; None where any that fit the tool will do."""


@dataclass(frozen=True, slots=True)
class Matched:
    """The calls of one answer beside the expected ones; a call is known by its place on its side."""

    pairs: tuple[tuple[int, int], ...]
    """An expected call and the one that was made for it, in the order of the expected ones."""
    right_arguments: tuple[bool, ...]
    """For each pair: whether the call fits its tool and has the expected arguments."""
    missing: tuple[int, ...]
    """Expected, and not made."""
    extra: tuple[int, ...]
    """Made, and not expected."""
    right: bool
    """Every expected call was made, with the right arguments, and no other; in their order where that was asked for."""

    @property
    def wrong_arguments(self) -> int:
        """How many of the expected calls were made with other arguments."""
        return self.right_arguments.count(False)


def match_calls(
    expected: Sequence[ExpectedCall],
    answered: Sequence[Mapping[str, Any]],
    tools: Sequence[Any] = (),
    order: Order = "any",
) -> Matched:
    """Pair the answered calls with the expected ones. A tool that is not among `tools` asks for nothing."""
    costs = _costs(expected, answered, tools)
    places = range(len(expected))
    in_sequence = len(expected) == len(answered) and all(costs.get((place, place)) == _RIGHT for place in places)
    if order == "strict" and in_sequence:
        # Calls that are alike could be paired crosswise just as well.
        pairs = [(place, place) for place in places]
    else:
        pairs = sorted(_best_pairs(expected, answered, costs))
    right_arguments = tuple(costs[both] == _RIGHT for both in pairs)
    made, used = {wanted for wanted, _ in pairs}, {call for _, call in pairs}
    missing = tuple(place for place in places if place not in made)
    extra = tuple(place for place in range(len(answered)) if place not in used)
    is_whole = not missing and not extra and all(right_arguments)
    return Matched(tuple(pairs), right_arguments, missing, extra, is_whole and (order == "any" or in_sequence))


_Cost: TypeAlias = tuple[int, int]
"""1 for a call that is not right, and how many of its arguments are not as expected."""

_RIGHT: _Cost = (0, 0)


def _costs(
    expected: Sequence[ExpectedCall], answered: Sequence[Mapping[str, Any]], tools: Sequence[Any]
) -> dict[tuple[int, int], _Cost]:
    """The cost of every pair with one name."""
    golds = [_spelled_each(wanted.arguments) for wanted in expected]
    given = [_spelled_each(call.get("arguments")) for call in answered]
    fits = [matches_schema(call, _spec(call.get("name"), tools)) for call in answered]
    # Calls of one answer share most of their values, and looking each two up in the schema is what takes time.
    compared: dict[tuple[str, ...], bool] = {}
    costs: dict[tuple[int, int], _Cost] = {}
    for here, wanted in enumerate(expected):
        parameters = _spec(wanted.name, tools).get("parameters")
        for there, call in enumerate(answered):
            if call.get("name") != wanted.name:
                continue
            values = as_dict(call.get("arguments"))
            differing = 0 if wanted.arguments is None else len(values.keys() - golds[here].keys())
            for name, accepted in (wanted.arguments or {}).items():
                texts = wanted.name, name, golds[here][name], given[there].get(name, "")
                if texts not in compared:
                    value = {name: values[name]} if name in values else {}
                    compared[texts] = arguments_match({name: accepted}, value, parameters)
                differing += not compared[texts]
            costs[here, there] = int(differing > 0 or not fits[there]), differing
    return costs


def _spec(name: Any, tools: Sequence[Any]) -> dict[str, Any]:
    specs = (as_dict(unwrapped(tool)) for tool in tools)
    return next((spec for spec in specs if spec.get("name") == name), {})


def _spelled_each(arguments: Any) -> dict[str, str]:
    return {name: _spelled(value) for name, value in as_dict(arguments).items()}


def _spelled(value: Any) -> str:
    """A text that no other value has, never an empty one; 1, 1.0 and true are three values."""
    pieces: list[str] = []
    # Without recursion: values may be nested without limit.
    pending = [value]
    while pending:
        piece = pending.pop()
        if isinstance(piece, dict):
            pieces.append(f"{{{len(piece)}")
            for name in sorted(piece, key=repr):
                pending += (piece[name], name)
        elif isinstance(piece, (list, tuple)):
            pieces.append(f"[{len(piece)}")
            pending += piece
        else:
            # Python spells out no integer of more than some thousand digits, except in hexadecimal.
            pieces.append(hex(piece) if type(piece) is int else repr(piece))
    return " ".join(pieces)


def _best_pairs(
    expected: Sequence[ExpectedCall], answered: Sequence[Mapping[str, Any]], costs: Mapping[tuple[int, int], _Cost]
) -> list[tuple[int, int]]:
    # Where several pairings are equally good, what the calls are decides, and not where they stand: in another order
    # the same calls are paired the same way.
    rows = sorted({here for here, _ in costs}, key=lambda here: _spelled(expected[here].arguments))
    columns = sorted({there for _, there in costs}, key=lambda there: _spelled(answered[there].get("arguments")))
    pairs: list[tuple[int, int]] = []
    for name in {expected[here].name for here in rows}:
        ours = [here for here in rows if expected[here].name == name]
        theirs = [there for there in columns if answered[there]["name"] == name]
        # One call that is not right weighs more than all the arguments that could differ in any pairing.
        one_call = 1 + sum(max(costs[here, there][1] for there in theirs) for here in ours)
        weights = [[costs[here, there][0] * one_call + costs[here, there][1] for there in theirs] for here in ours]
        pairs += [(ours[row], theirs[column]) for row, column in assign(weights)]
    return pairs
