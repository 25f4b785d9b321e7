"""Do cases fit their tools? What can be wrong with them that loading them does not tell."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from loracheck.cases import did_you_mean, near_pairs
from loracheck.cases.accepted import accepted_arguments
from loracheck.cases.case import Case, Tool
from loracheck.scoring.schema import as_dict, check_schema, strictly_valid
from loracheck.scoring.several import ExpectedCall
from loracheck.text import cut

_LONGEST_VALUE = 80
# With these left out, a schema says what an argument has to be, whichever others there are.
_ABOUT_OTHERS = ("required", "minProperties", "dependentRequired", "dependencies")
# With one of these, a schema may know more arguments than `properties` lists.
_MORE_PROPERTIES = (
    "additionalProperties",
    "patternProperties",
    "$ref",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "then",
    "else",
)


@dataclass(frozen=True, slots=True)
class Misfit:
    """Something a case expects that cannot come, or a tool that cannot be checked."""

    case: str
    tool: str
    problem: str


@dataclass(frozen=True, slots=True)
class CasesFit:
    """How cases and tools go together."""

    misfits: tuple[Misfit, ...]
    not_asked_for: tuple[str, ...]
    """Tools that are on offer and that no case expects by name."""
    near: tuple[tuple[str, str], ...]
    """Tools that are on offer together and whose names could be confused, the nearest first."""


def fit_of(cases: Sequence[Case]) -> CasesFit:
    # In the order of the cases; a dict, because a set has none.
    offered = dict.fromkeys(tool.name for case in cases for tool in case.surface)
    asked_for = {call.name for case in cases for call in case.expected_calls}
    near: dict[tuple[str, str], float] = {}
    for names in dict.fromkeys(tuple(sorted(tool.name for tool in case.surface)) for case in cases):
        near |= near_pairs(names)
    return CasesFit(
        # Two calls of one tool may have the same mistake.
        misfits=tuple(dict.fromkeys(_misfits(cases))),
        not_asked_for=tuple(name for name in offered if name not in asked_for),
        near=tuple(sorted(near, key=lambda both: (-near[both], both))),
    )


def bad_schemas(cases: Iterable[Case]) -> Iterator[tuple[str, Misfit]]:
    """The `parameters` that are no JSON Schema, as text, each with the first case and tool that have them."""
    # Cases share their tools, and a schema takes milliseconds.
    checked: set[str] = set()
    for case in cases:
        for tool in case.surface:
            spelled = json.dumps(tool.parameters)
            if tool.parameters is not None and spelled not in checked and (complaint := check_schema(tool.parameters)):
                yield spelled, Misfit(case.id, tool.name, f"parameters: {complaint}")
            checked.add(spelled)


def _misfits(cases: Sequence[Case]) -> Iterator[Misfit]:
    uncheckable = dict(bad_schemas(cases))
    yield from uncheckable.values()
    for case in cases:
        tools = {tool.name: tool for tool in case.surface}
        for call in case.expected_calls:
            if call.name not in tools:
                yield Misfit(case.id, call.name, f"not on offer{did_you_mean(call.name, tools)}")
            elif json.dumps(tools[call.name].parameters) not in uncheckable:
                yield from (Misfit(case.id, call.name, problem) for problem in _problems(call, tools[call.name]))


def _problems(call: ExpectedCall, tool: Tool) -> Iterable[str]:
    if call.arguments is None:
        return ()
    try:
        taken = accepted_arguments(call.arguments, tool.parameters)
    except RecursionError:
        return ("the arguments are nested too deeply to check",)
    if not taken:
        return ("no arguments would be right; is one of the choices empty?",)
    # What is wrong with one argument is wrong whatever is chosen for the others.
    return dict.fromkeys(problem for arguments in taken for problem in _misfitting(arguments, tool))


def _misfitting(arguments: dict[str, Any], tool: Tool) -> Iterator[str]:
    """Which arguments do not fit the tool, by its whole schema."""
    parameters = tool.parameters or {}
    properties = as_dict(parameters.get("properties"))
    lists_all = bool(properties) and all(parameters.get(key, False) is False for key in _MORE_PROPERTIES)
    unknown = arguments.keys() - properties.keys() if lists_all else set()
    yield from (f"no argument {name!r} in the schema{did_you_mean(name, properties)}" for name in sorted(unknown))
    known = {name: value for name, value in arguments.items() if name not in unknown}
    if not _is_accepted(known, parameters):
        yield from list(_culprits(known, parameters)) or ["the arguments do not fit the schema together"]


def _culprits(arguments: dict[str, Any], parameters: dict[str, Any]) -> Iterator[str]:
    required = parameters.get("required")
    for name in required if isinstance(required, list) else ():
        if name not in arguments:
            yield f"{name} is left out, and the schema requires it"
    alone = {key: value for key, value in parameters.items() if key not in _ABOUT_OTHERS}
    for name, value in arguments.items():
        if not _is_accepted({name: value}, alone):
            yield f"{name}: {cut(json.dumps(value, ensure_ascii=False), _LONGEST_VALUE)} does not fit the schema"


def _is_accepted(arguments: dict[str, Any], parameters: dict[str, Any]) -> bool:
    return strictly_valid({"name": "", "arguments": arguments}, {"parameters": parameters})
