"""Dialects without marks of their own: JSON, with different keys."""

from __future__ import annotations

import re
from typing import Any

from loracheck.scoring.dialects.after_mark import as_call, calls_in, value_at
from loracheck.scoring.dialects.dialect import Dialect, FoundCalls
from loracheck.scoring.dialects.python_calls import python_calls
from loracheck.scoring.parse import ATTEMPT, json_at, parse_tool_call
from loracheck.scoring.schema import unwrapped

PLAIN = "json"

_OBJECT = re.compile(r'\{\s*"')
_OBJECT_OR_LIST = re.compile(r'\{\s*"|\[\s*\{\s*"')
_LIST = re.compile(r"\[\s*\{")
_NEXT = re.compile(r"\s*(?:;|<\|python_tag\|>)")


def _json(text: str) -> FoundCalls:
    """The call that the verdict goes by, and those behind it in the same list."""
    call = parse_tool_call(text)
    if call is not None or ATTEMPT.search(text):
        yield call
    start = _LIST.search(text) if call else None
    read = json_at(text, start.start()) if start else None
    if read and read[0][0] == call:
        yield from (item for item in read[0][1:] if isinstance(item, dict))


def _llama3(text: str) -> FoundCalls:
    """The first object, and those that follow it behind semicolons; prose around them is let through."""
    start = _OBJECT.search(text)
    if start is None:
        yield from _built_in(text)
        return
    read = json_at(text, start.start())
    while read:
        yield from calls_in(read[0])
        gap = _NEXT.match(text, read[1])
        if gap is None:
            return
        read = value_at(text, gap.end())
    yield None


def _built_in(text: str) -> FoundCalls:
    """Llama's own tools: search.call(query="...")."""
    _, tag, source = text.partition("<|python_tag|>")
    if tag:
        for call in python_calls(source) or (None,):
            yield call and {**call, "name": str(call.get("name")).removesuffix(".call")}


def _openai(text: str) -> FoundCalls:
    start = _OBJECT_OR_LIST.search(text)
    read = json_at(text, start.start()) if start else None
    if read:
        for item in _tool_calls(read[0]):
            if isinstance(item, dict):
                yield as_call(unwrapped(item, needs_type=False))
    elif re.search(r'"(?:tool_calls|function_call)"', text):
        yield None


def _tool_calls(message: Any) -> list[Any]:
    if isinstance(message, list):
        return [item for item in message if isinstance(item, dict) and isinstance(item.get("function"), dict)]
    if isinstance(listed := message.get("tool_calls"), list):
        return listed
    if isinstance(single := message.get("function_call"), dict):
        return [single]
    return [message] if isinstance(message.get("function"), dict) else []


JSON = Dialect(PLAIN, "plain JSON", _json, has_marks=False)
LLAMA3 = Dialect("llama3", "Llama 3 JSON", _llama3, r'("parameters"): dictionary|(<\|python_tag\|>)', has_marks=False)
OPENAI = Dialect("openai", "OpenAI tool_calls", _openai, r'(\{"tool_calls")', has_marks=False)
