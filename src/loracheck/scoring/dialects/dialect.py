"""What a dialect is, and what reading an answer in one gives.

What a model thinks aloud is not its answer, and arguments written as bare text get the type their tool declares.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from loracheck.scoring.parse import json_at
from loracheck.scoring.schema import as_dict

MAX_CALLS = 128
"""More calls in one answer are a model that does not stop."""

_THINKING_MARKS = re.compile(
    r"(?P<opens><(?:seed:|mm:)?think>|<thinking>|\[THINK\]|<\|START_THINKING\|>|<\|channel>thought"
    r"|<\|channel\|>analysis<\|message\|>)"
    r"|</(?:seed:|mm:)?think>|</thinking>|\[/THINK\]|<\|END_THINKING\|>|<channel\|>|<\|end\|>"
)

_JSON_TYPES: dict[type, set[str]] = {
    bool: {"boolean"},
    int: {"integer", "number"},
    float: {"number"},
    dict: {"object"},
    list: {"array"},
    type(None): {"null"},
}

Call: TypeAlias = "dict[str, Any]"
FoundCalls: TypeAlias = "Iterator[Call | None]"
"""Calls in the order of the answer; None for each place that shows a call's marks and cannot be read."""


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of one answer."""

    calls: tuple[Call, ...] = ()
    """Each `{"name": ..., "arguments": {...}}`; what lacks one of them is the object the model wrote."""
    attempted: bool = False
    """The answer shows the dialect's marks, whether or not a call could be read."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way of writing a tool call."""

    name: str
    title: str
    """As said in messages."""
    find: Callable[[str], FoundCalls]
    mark: str | None = None
    """A pattern that finds the dialect in a chat template. What its groups match is shown to the user."""
    reads_reasoning: bool = False
    """Text the model thinks aloud is searched for calls as well."""

    def read(self, text: str, tools: Sequence[Mapping[str, Any]] = ()) -> Calls:
        """The calls in an answer; `tools` give their types to arguments that are written as bare text.

        Takes time linear in the text, and never raises.
        """
        calls: list[Call] = []
        attempted = False
        for call in self.find(text if self.reads_reasoning else without_reasoning(text)):
            attempted = True
            if call is not None:
                calls.append(typed(call, tools))
                if len(calls) == MAX_CALLS:
                    break
        return Calls(tuple(calls), attempted)


def without_reasoning(text: str) -> str:
    """The answer, stripped, without what is between thinking marks.

    Templates often open the thinking in the prompt, so a first mark that closes ends it. Thinking
    that is never closed was cut off, and leaves no answer.
    """
    kept: list[str] = []
    start = 0
    thinking = False
    for number, mark in enumerate(_THINKING_MARKS.finditer(text)):
        if mark["opens"]:
            if not thinking:
                kept.append(text[start : mark.start()])
            thinking = True
        elif thinking or (number == 0 and mark[0] != "<|end|>"):
            # Other models end every turn with Harmony's mark.
            start = mark.end()
            thinking = False
    if not thinking:
        kept.append(text[start:])
    return "".join(kept).strip()


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
    parameters = next((tool.get("parameters") for tool in tools if tool.get("name") == call.get("name")), None)
    properties = as_dict(as_dict(parameters).get("properties"))
    values = {
        key: _value(value, _types(properties.get(key))) if isinstance(value, BareText) else value
        for key, value in arguments.items()
    }
    return {**call, "arguments": values}


def json_text(text: str) -> Any:
    """The JSON value that the whole text spells, or the text."""
    text = text.strip()
    value_and_end = json_at(text, 0)
    return value_and_end[0] if value_and_end and value_and_end[1] == len(text) else text


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
    """Every type a property may have; none when it does not say."""
    names: set[str] = set()
    for part in (schema, *_list(as_dict(schema).get("anyOf")), *_list(as_dict(schema).get("oneOf"))):
        declared = as_dict(part).get("type")
        names.update(name for name in (declared, *_list(declared)) if isinstance(name, str))
    return names


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []
