"""ShareGPT conversations with calls: as Hermes tags them in the text, or as turns of their own.

A system message that lists the tools in <tools> tags is the format's own way to offer them. It is left out: the model
under test has another way.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from loracheck.suite.importers.conversation import calling_message, split, text_message
from loracheck.suite.importers.draft import Draft, UnusableError, import_each, parsed, read_call, read_tools

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from loracheck.suite.importers.draft import Imported

_ROLES = {
    "system": "system",
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "function_call": "assistant",
    "tool": "tool",
    "observation": "tool",
    "function_response": "tool",
}
_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_RESPONSE = re.compile(r"<tool_response>(.*?)(?:</tool_response>|\Z)", re.DOTALL)
# The text around it may speak of "<tools></tools> tags" first.
_TOOLS = re.compile(r"<tools>(?!\s*</tools>)(.*?)</tools>", re.DOTALL)


def read_sharegpt(path: Path) -> Iterator[Imported]:
    return import_each(path, _take_apart)


def _take_apart(record: dict[str, Any]) -> Draft:
    turns = record.get("conversations")
    if not isinstance(turns, list):
        raise UnusableError("no list of conversations")
    tools = read_tools(record.get("tools"))
    messages: list[dict[str, Any]] = []
    for turn in [{"from": "system", "value": record.get("system")}, *turns]:
        for message in _messages(turn):
            listed = _TOOLS.search(message["content"]) if message["role"] == "system" else None
            if listed:
                tools = tools or _listed_tools(listed[1])
            elif message["role"] != "system" or message["content"]:
                messages.append(message)
    before, calls = split(messages)
    return Draft(record.get("id"), before, tools, calls)


def _messages(turn: Any) -> list[dict[str, Any]]:
    """A turn as messages; the results of several calls in one turn are several."""
    said = str(turn.get("from", turn.get("role"))) if isinstance(turn, dict) else ""
    if said not in _ROLES:
        raise UnusableError("a turn without a known speaker")
    text = text_message(_ROLES[said], turn.get("value", turn.get("content")))["content"]
    if said == "function_call":
        calls = parsed(text)
        return [calling_message(None, [read_call(call) for call in (calls if isinstance(calls, list) else [calls])])]
    if _ROLES[said] == "assistant" and (tagged := _CALL.findall(text)):
        return [calling_message(_CALL.sub("", text).strip(), [read_call(call.strip()) for call in tagged])]
    if _ROLES[said] == "tool":
        return [text_message("tool", result.strip()) for result in _RESPONSE.findall(text) or [text]]
    return [text_message(_ROLES[said], text)]


def _listed_tools(text: str) -> list[dict[str, Any]]:
    """Tools between tags: one list, or an object a line."""
    try:
        return read_tools(text)
    except UnusableError:
        return [tool for line in text.splitlines() if line.strip() for tool in read_tools(line)]
