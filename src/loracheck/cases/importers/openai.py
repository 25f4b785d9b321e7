"""OpenAI's fine-tuning format: `messages` and `tools`, or `functions` as it used to be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from loracheck.cases.importers import draft
from loracheck.cases.importers.draft import Draft, UnusableError
from loracheck.cases.read import TextFile

_ROLES = {role: role for role in ("system", "developer", "user", "assistant", "tool")} | {"function": "tool"}


def read_openai(file: TextFile) -> Iterator[draft.Imported]:
    return draft.import_each(file, _take_apart)


def _take_apart(record: dict[str, Any]) -> Draft:
    messages = record.get("messages")
    if not isinstance(messages, list):
        raise UnusableError("no list of messages")
    before, calls = draft.split_off_answer([_message(message) for message in messages])
    tools = draft.read_tools(record.get("tools") or record.get("functions"))
    return Draft(record.get("id"), before, tools, calls)


def _message(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or str(value.get("role")) not in _ROLES:
        raise UnusableError("a message without a known role")
    calls = value.get("tool_calls") or [call for call in [value.get("function_call")] if call]
    if value["role"] == "assistant" and calls:
        if not isinstance(calls, list):
            raise UnusableError("tool_calls that are no list")
        return draft.calling_message(value.get("content"), calls)
    message = draft.text_message(_ROLES[value["role"]], value.get("content"))
    kept = {key: value[key] for key in ("name", "tool_call_id") if isinstance(value.get(key), str)}
    return message | kept
