"""Gemma: call:name{key:value} between marks in the models made for it, fenced blocks in the others."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any

from loracheck.scoring.dialects.after_mark import MAX_BROKEN, after
from loracheck.scoring.dialects.bare_text import json_text
from loracheck.scoring.dialects.dialect import MAX_CALLS, Dialect, Finder, FoundCalls
from loracheck.scoring.dialects.python_calls import python_calls

_BLOCK = re.compile(
    r"(?:<start_function_call>|<\|tool_call>)(.*?)(?:<end_function_call>|<tool_call\|>|(?=<start_function_call>|<\|tool_call>)|\Z)",
    re.DOTALL,
)
_CALL = re.compile(r"\s*call:(?P<name>[\w.:-]+)\s*(?=\{)")
_QUOTE = re.compile(r'<escape>|<\|"\|>')
_KEY = re.compile(r"([{,]\s*)([^\W\d][\w.-]*)\s*:")
_WORD = re.compile(r"([:\[,]\s*)(?!(?:true|false|null)\s*[,\]}])([^\W\d][^\"{}\[\],:]*)")
_TOOL_CODE = re.compile(r"```tool_code\s(.*?)(?:```|\Z)", re.DOTALL)
_FENCED_JSON = after(r"```json")


def _marked(text: str) -> FoundCalls:
    for block in _BLOCK.finditer(text):
        call = _CALL.match(block[1])
        arguments = _object(block[1][call.end() :]) if call else None
        yield None if call is None or arguments is None else {"name": call["name"], "arguments": arguments}


def _object(text: str) -> dict[str, Any] | None:
    """The object that the whole text spells: JSON, or Gemma's form with bare keys and its own quotes."""
    value = json_text(text)
    if isinstance(value, dict):
        return value
    parts = _QUOTE.split(text)
    if len(parts) % 2 == 0:
        # A quote that is not closed.
        return None
    parts[::2] = [_WORD.sub(_quoted, _KEY.sub(r'\1"\2":', part)) for part in parts[::2]]
    parts[1::2] = [json.dumps(part) for part in parts[1::2]]
    value = json_text("".join(parts))
    return value if isinstance(value, dict) else None


def _quoted(word: re.Match[str]) -> str:
    return word[1] + json.dumps(word[2].strip())


def _tool_code(text: str) -> FoundCalls:
    for block in islice(_TOOL_CODE.finditer(text), MAX_BROKEN):
        yield from python_calls(block[1]) or (None,)


def _first_that_finds(*finders: Finder) -> Finder:
    def find(text: str) -> FoundCalls:
        for finder in finders:
            calls = list(islice(finder(text), MAX_CALLS))
            if calls:
                return iter(calls)
        return iter(())

    return find


GEMMA = Dialect(
    "gemma",
    "Gemma call:name{...}",
    _first_that_finds(_marked, _tool_code, _FENCED_JSON),
    r"(<start_function_call>)|(<\|tool_call>)call:|(```tool_code)",
    find_marked=_first_that_finds(_marked, _tool_code),
)
