"""OpenAI's fine-tuning format: `messages` and `tools`, or `functions` as it used to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loracheck.suite.importers.conversation import calling_message, split, text_message
from loracheck.suite.importers.draft import Draft, UnusableError, import_each, read_call, read_tools

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from loracheck.suite.importers.draft import Imported

_ROLES = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


def read_openai(path: Path) -> Iterator[Imported]:
    return import_each(path, _take_apart)


def _take_apart(record: dict[str, Any]) -> Draft:
    messages = record.get("messages")
    if not isinstance(messages, list):
        raise UnusableError("no list of messages")
    before, calls = split([_message(message) for message in messages])
    return Draft(record.get("id"), before, read_tools(record.get("tools") or record.get("functions")), calls)


def _message(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or str(value.get("role")) not in _ROLES:
        raise UnusableError("a message without a known role")
    calls = value.get("tool_calls") or [call for call in [value.get("function_call")] if call]
    if value["role"] == "assistant" and calls:
        if not isinstance(calls, list):
            raise UnusableError("tool_calls that are no list")
        ids = [call.get("id") if isinstance(call, dict) else None for call in calls]
        return calling_message(value.get("content"), [read_call(call) for call in calls], ids)
    message = text_message(_ROLES[value["role"]], value.get("content"))
    kept = {key: value[key] for key in ("name", "tool_call_id") if isinstance(value.get(key), str)}
    return message | kept
