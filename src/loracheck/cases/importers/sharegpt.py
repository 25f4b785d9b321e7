"""ShareGPT conversations with calls: as Hermes tags them in the text, or as turns of their own.

A system message that lists the tools in <tools> tags is the format's own way to offer them. It is left out: the model
under test has another way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from loracheck.cases.importers import draft
from loracheck.cases.importers.draft import Draft, UnusableError
from loracheck.cases.read import TextFile

_ROLES = {
    "system": "system",
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys(("gpt", "assistant", "function_call"), "assistant"),
    **dict.fromkeys(("tool", "observation", "function_response"), "tool"),
}
_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_RESPONSE = re.compile(r"<tool_response>(.*?)(?:</tool_response>|\Z)", re.DOTALL)
# The text around it may speak of "<tools></tools> tags" first.
_TOOLS = re.compile(r"<tools>(?!\s*</tools>)(.*?)</tools>", re.DOTALL)


def read_sharegpt(file: TextFile) -> Iterator[draft.Imported]:
    return draft.import_each(file, _take_apart)


def _take_apart(record: dict[str, Any]) -> Draft:
    turns = record.get("conversations")
    if not isinstance(turns, list):
        raise UnusableError("no list of conversations")
    tools = draft.read_tools(record.get("tools"))
    messages: list[dict[str, Any]] = []
    for turn in [{"from": "system", "value": record.get("system")}, *turns]:
        for message in _messages(turn):
            listed = _TOOLS.search(message["content"]) if message["role"] == "system" else None
            if listed:
                tools = tools or _listed_tools(listed[1])
            elif message["role"] != "system" or message["content"]:
                messages.append(message)
    before, calls = draft.split_off_answer(messages)
    return Draft(record.get("id"), before, tools, calls)


def _messages(turn: Any) -> list[dict[str, Any]]:
    """A turn as messages; the results of several calls in one turn are several."""
    speaker = str(turn.get("from", turn.get("role"))) if isinstance(turn, dict) else ""
    if speaker not in _ROLES:
        raise UnusableError("a turn without a known speaker")
    role = _ROLES[speaker]
    text = draft.text_message(role, turn.get("value", turn.get("content")))["content"]
    if speaker == "function_call":
        calls = draft.parsed(text)
        return [draft.calling_message(None, calls if isinstance(calls, list) else [calls])]
    if role == "assistant" and (tagged := _CALL.findall(text)):
        return [draft.calling_message(_CALL.sub("", text).strip(), tagged)]
    if role == "tool":
        return [draft.text_message("tool", result.strip()) for result in _RESPONSE.findall(text) or [text]]
    return [draft.text_message(role, text)]


def _listed_tools(text: str) -> list[dict[str, Any]]:
    """Tools between tags: one list, or an object a line."""
    try:
        return draft.read_tools(text)
    except UnusableError:
        return [tool for line in text.splitlines() if line.strip() for tool in draft.read_tools(line)]
