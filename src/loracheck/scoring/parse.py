"""From a model's text to the tool call in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import accumulate, islice
from operator import indexOf
from typing import Any

MAX_NESTING = 200
"""Deeper text is no call. Ours, because Python's own limit differs by version and by caller."""

MAX_INTEGER_DIGITS = 4300
"""Python's default for `int(str)`, pinned: a program may have raised or lowered its own."""

ATTEMPT = re.compile(r"""\{\s*\\?["']""")
"""A brace with a quoted key: a call that failed. Models also write Python dicts, and JSON escaped once too often."""

_FENCE = "```"

# A whole string is one token, so a bracket inside it is never seen. The closing quote is optional:
# an unclosed string then matches too, once, instead of being tried again at each later quote.
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"?'
_STRING_OR_OPENING = re.compile(_STRING + r"|(\{)", re.DOTALL)
_STRING_OR_BRACE = re.compile(_STRING + r"|([{}])", re.DOTALL)
_STRING_OR_BRACKET = re.compile(_STRING + r"|([{}\[\]])", re.DOTALL)

_STEPS = {"": 0, "{": 1, "[": 1, "}": -1, "]": -1}
"""What each token does to the depth; a string comes as the empty text."""


def parse_tool_call(text: str) -> dict[str, Any] | None:
    """The first JSON object of: the whole text, its first fenced block, its first balanced span.

    Takes time linear in the text, and never raises.
    """
    for find in (str.strip, _first_fenced, _first_balanced):
        candidate = find(text)
        call = None if candidate is None else _load_object(candidate)
        if call is not None:
            return call
    return None


def json_at(text: str, start: int) -> tuple[Any, int] | None:
    """The JSON value that begins at `start`, and where it ends, within the limits every call is read under."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return None if _too_deep(text[start:end]) else (value, end)


def _first_fenced(text: str) -> str | None:
    opening = text.find(_FENCE)
    if opening < 0:
        return None
    start = opening + len(_FENCE)
    if text[start : start + 4].lower() == "json":
        start += 4
    end = text.find(_FENCE, start)
    return None if end < 0 else text[start:end].strip()


def _first_balanced(text: str) -> str | None:
    # The depth can only fall below 0 ahead of the first brace that opens, so starting there stands
    # for every reset.
    start = next((token.start(1) for token in _STRING_OR_OPENING.finditer(text) if token[1]), None)
    if start is None:
        return None
    try:
        last = indexOf(_depths(_STRING_OR_BRACE, text, start), 0)
    except ValueError:
        return None
    closing = next(islice(_STRING_OR_BRACE.finditer(text, start), last, None))
    return text[start : closing.end()]


def _load_object(candidate: str) -> dict[str, Any] | None:
    if not (candidate.startswith("{") and candidate.endswith("}")) or _too_deep(candidate):
        return None
    try:
        value = _DECODER.decode(candidate)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _too_deep(text: str) -> bool:
    openings = text.count("{") + text.count("[")
    return openings > MAX_NESTING and max(_depths(_STRING_OR_BRACKET, text)) > MAX_NESTING


def _depths(token: re.Pattern[str], text: str, start: int = 0) -> Iterator[int]:
    """The depth after each token."""
    # Built of C loops: a megabyte of brackets is a million steps.
    return accumulate(map(_STEPS.__getitem__, token.findall(text, start)))


def _parse_int(digits: str) -> int:
    if len(digits) - digits.startswith("-") > MAX_INTEGER_DIGITS:
        raise ValueError("integer too long")
    return int(digits)


_DECODER = json.JSONDecoder(parse_int=_parse_int)
