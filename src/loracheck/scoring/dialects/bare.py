"""Dialects without marks of their own: JSON, with different keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..parse import ATTEMPT, json_at, parse_tool_call
from .after_mark import as_call, calls_in, value_at
from .dialect import Dialect
from .python_calls import python_calls

if TYPE_CHECKING:
    from .dialect import Found

PLAIN = "json"

_OBJECT = re.compile(r'\{\s*"')
_OBJECT_OR_LIST = re.compile(r'\{\s*"|\[\s*\{\s*"')
_NEXT = re.compile(r"\s*;")
_PYTHON_TAG = "<|python_tag|>"
_OPENAI_KEY = re.compile(r'"(?:tool_calls|function_call)"')


def _json(text: str) -> Found:
    call = parse_tool_call(text)
    if call is not None or ATTEMPT.search(text):
        yield call


def _llama3(text: str) -> Found:
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


def _built_in(text: str) -> Found:
    """Llama's own tools: search.call(query="...")."""
    _, tag, source = text.partition(_PYTHON_TAG)
    if tag:
        for call in python_calls(source) or (None,):
            yield call and {**call, "name": str(call.get("name")).removesuffix(".call")}


def _openai(text: str) -> Found:
    start = _OBJECT_OR_LIST.search(text)
    read = json_at(text, start.start()) if start else None
    if read:
        for item in _tool_calls(read[0]):
            if isinstance(item, dict):
                inner = item.get("function")
                yield as_call(inner if isinstance(inner, dict) else item)
    elif _OPENAI_KEY.search(text):
        yield None


def _tool_calls(message: Any) -> list[Any]:
    if isinstance(message, list):
        return [item for item in message if isinstance(item, dict) and isinstance(item.get("function"), dict)]
    if isinstance(listed := message.get("tool_calls"), list):
        return listed
    if isinstance(single := message.get("function_call"), dict):
        return [single]
    return [message] if isinstance(message.get("function"), dict) else []


JSON = Dialect(PLAIN, "plain JSON", _json, reads_reasoning=True)
LLAMA3 = Dialect("llama3", "Llama 3 JSON", _llama3, re.compile(r'("parameters"): dictionary|(<\|python_tag\|>)'))
OPENAI = Dialect("openai", "OpenAI tool_calls", _openai, re.compile(r'(\{"tool_calls")'))
