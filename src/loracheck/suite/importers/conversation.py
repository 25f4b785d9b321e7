"""Which part of a conversation is the question, and which the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loracheck.suite.importers.draft import Call, UnusableError

if TYPE_CHECKING:
    from collections.abc import Sequence


def split(messages: Sequence[dict[str, Any]]) -> tuple[Sequence[dict[str, Any]], list[Call]]:
    """What comes before the answer, and the calls of the answer.

    The answer is in the assistant's last turn, all it says after the user spoke last: the last call there, or its first
    words when it calls nothing.
    """
    said = [number for number, message in enumerate(messages) if message["role"] == "assistant"]
    if not said:
        raise UnusableError("no answer of the assistant")
    asked = max((number for number in range(said[-1]) if messages[number]["role"] == "user"), default=-1)
    turn = [number for number in said if number > asked]
    calling = [number for number in turn if messages[number].get("tool_calls")]
    if not calling:
        return messages[: turn[0]], []
    calls = [call["function"] for call in messages[calling[-1]]["tool_calls"]]
    return messages[: calling[-1]], [Call(call["name"], call["arguments"]) for call in calls]


def text_message(role: str, content: Any) -> dict[str, Any]:
    """A turn that is text: a string, or OpenAI's list of parts as long as these are text."""
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, dict) else part for part in content]
        texts = [part for part in parts if isinstance(part, str)]
        if len(texts) < len(parts):
            raise UnusableError("a message that is more than text")
        content = "\n".join(texts)
    if not isinstance(content, str | None):
        raise UnusableError("a message that is no text")
    return {"role": role, "content": content or ""}


def calling_message(content: Any, calls: Sequence[Call], ids: Sequence[Any] = ()) -> dict[str, Any]:
    """A turn that calls. The arguments are an object, as chat templates want them."""
    wrapped = [{"type": "function", "function": {"name": call.name, "arguments": call.arguments}} for call in calls]
    for call, call_id in zip(wrapped, ids, strict=False):
        if isinstance(call_id, str):
            call["id"] = call_id
    return {**text_message("assistant", content), "tool_calls": wrapped}
