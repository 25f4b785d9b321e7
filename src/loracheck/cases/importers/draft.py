"""What every importer makes of a record, and how that becomes a case."""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from loracheck.cases.case import Case, Tool
from loracheck.cases.read import Record, TextFile, read_records
from loracheck.cases.tool_shapes import plain_tool
from loracheck.scoring import matches_schema
from loracheck.scoring.arguments import gold_of
from loracheck.scoring.schema import unwrapped


@dataclass(frozen=True, slots=True)
class Taken:
    """A record that became a case."""

    line: int
    case: Case
    note: str = ""
    """What the case leaves out of its record, or what is odd about it."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A record that did not."""

    line: int
    reason: str


Imported = Taken | Skipped


class UnusableError(Exception):
    """Why a record makes no case. The same words for the same reason: they are counted."""


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Draft:
    """A record taken apart."""

    id: Any
    messages: Sequence[dict[str, Any]]
    """All that was said before the answer."""
    tools: Sequence[dict[str, Any]]
    calls: Sequence[Call]
    """The answer; empty when it is no call."""
    has_choices: bool = False
    """The arguments are choices of accepted values already."""
    takes_any_call: bool = False
    """Some call is the answer, and the record does not say which."""


def import_each(file: TextFile, take_apart: Callable[[dict[str, Any]], Draft]) -> Iterator[Imported]:
    """For each record of the file a case, or the reason why it makes none."""
    for record in read_records(file):
        try:
            yield _taken(record, take_apart, file.tools)
        except UnusableError as why:
            yield Skipped(record.line, str(why))
        except ValidationError as bad:
            yield Skipped(record.line, bad.errors()[0]["msg"].removeprefix("Value error, "))
        except UnicodeEncodeError:
            yield Skipped(record.line, "half of a surrogate pair in its text")
        except ValueError:
            yield Skipped(record.line, "a number that is no JSON")
        except RecursionError:
            yield Skipped(record.line, "nested too deeply")


def _taken(record: Record, take_apart: Callable[[dict[str, Any]], Draft], tools: Sequence[Tool]) -> Taken:
    if record.value is Record.unreadable:
        raise UnusableError("not JSON")
    if not isinstance(record.value, dict):
        raise UnusableError("not a JSON object")
    draft = take_apart(record.value)
    # Without an id of its own a case is named by its line.
    named = isinstance(draft.id, str | int) and draft.id != ""
    fields = {"id": draft.id if named else record.line, **_fields(draft, tools)}
    # What cannot be written now could not be written later, with all the other cases.
    _spelled(fields).encode()
    case = Case.model_validate(fields)
    return Taken(record.line, case, _note(draft, case))


def to_json(case: Case) -> str:
    """One line of a cases file: only what was said."""
    return _spelled(case.model_dump(exclude_unset=True))


def _spelled(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _fields(draft: Draft, tools_of_all: Sequence[Tool]) -> dict[str, Any]:
    # A tool listed twice is one; two tools of one name are for the case to refuse.
    tools = [tool for number, tool in enumerate(draft.tools) if tool not in draft.tools[:number]]
    tools = tools or [tool.spec() for tool in tools_of_all]
    if not tools:
        raise UnusableError("no tools on offer")
    if not any(message["role"] == "user" and message.get("content") for message in draft.messages):
        raise UnusableError("no request before the answer")
    fields: dict[str, Any] = {"tool_spec": tools[0]} if len(tools) == 1 else {"tools": tools}
    fields |= {"prompt": draft.messages[0]["content"]} if len(draft.messages) == 1 else {"messages": draft.messages}
    if draft.takes_any_call:
        return fields | {"expect": "any_call"}
    if not draft.calls:
        return fields | {"expect": "no_call"}
    golds = [{"name": call.name, "arguments": _gold_arguments(call, tools, draft)} for call in draft.calls]
    if len(golds) > 1:
        return fields | {"gold_calls": golds}
    return fields | {"gold_tool_name": golds[0]["name"], "gold_arguments": golds[0]["arguments"]}


def _gold_arguments(call: Call, tools: Sequence[dict[str, Any]], draft: Draft) -> dict[str, Any]:
    tool = next((tool for tool in tools if tool["name"] == call.name), None)
    if tool is None:
        raise UnusableError("the call names a tool that is not on offer")
    return call.arguments if draft.has_choices else gold_of(call.arguments, tool.get("parameters"))


def _note(draft: Draft, case: Case) -> str:
    if draft.has_choices:
        return ""
    specs = {tool.name: tool.spec() for tool in case.surface}
    for call in draft.calls:
        if not matches_schema({"name": call.name, "arguments": call.arguments}, specs[call.name]):
            return "its own call does not fit the tool's schema"
    return ""


def parsed(value: Any) -> Any:
    """What a text says, in JSON or as Python prints it; anything but a text is taken as it is."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        pass
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a backslash in somebody's text
            literal = ast.literal_eval(value.strip())
        # Out and in again: sets, bytes and other things of Python's are no JSON.
        return json.loads(json.dumps(literal))
    except (ValueError, SyntaxError, TypeError, MemoryError):
        raise UnusableError("text that should be JSON and is not") from None


def read_tools(value: Any) -> list[dict[str, Any]]:
    """Tools out of a list or its text, in any shape that a case takes; no key that it does not know."""
    tools = parsed(value) if value else []
    return [_tool(tool) for tool in (tools if isinstance(tools, list) else [tools])]


def _tool(value: Any) -> dict[str, Any]:
    value = plain_tool(value, needs_type=False)
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or not value["name"]:
        raise UnusableError("a tool without a name")
    if not isinstance(value.get("parameters"), dict | None):
        raise UnusableError("a tool whose parameters are no JSON Schema")
    kept = {key: value[key] for key in ("name", "description", "parameters") if value.get(key) is not None}
    if not isinstance(kept.get("description", ""), str):
        del kept["description"]
    return kept


def read_call(value: Any) -> Call:
    """A call, with or without OpenAI's wrapper; its arguments an object or the text of one."""
    value = unwrapped(parsed(value), needs_type=False)
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise UnusableError("a call without a name")
    arguments = parsed(value.get("arguments") or {})
    if not isinstance(arguments, dict):
        raise UnusableError("a call whose arguments are no JSON object")
    return Call(value["name"], arguments)


def split_off_answer(messages: Sequence[dict[str, Any]]) -> tuple[Sequence[dict[str, Any]], list[Call]]:
    """What comes before the answer, and the calls of the answer.

    The answer is in the assistant's last turn, which is all it says after the user's last message: the last call there,
    or, when it calls nothing, its first words.
    """
    replies = [number for number, message in enumerate(messages) if message["role"] == "assistant"]
    if not replies:
        raise UnusableError("no answer of the assistant")
    last_request = max((number for number in range(replies[-1]) if messages[number]["role"] == "user"), default=-1)
    last_turn = [number for number in replies if number > last_request]
    calling = [number for number in last_turn if messages[number].get("tool_calls")]
    if not calling:
        return messages[: last_turn[0]], []
    calls = [unwrapped(call) for call in messages[calling[-1]]["tool_calls"]]
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


def calling_message(content: Any, calls: Sequence[Any]) -> dict[str, Any]:
    """A turn that makes these calls, as `read_call` reads them: with arguments that are objects, as templates want."""
    wrapped: list[dict[str, Any]] = []
    for value in calls:
        call = read_call(value)
        wrapped.append({"type": "function", "function": {"name": call.name, "arguments": call.arguments}})
        if isinstance(value, dict) and isinstance(value.get("id"), str):
            wrapped[-1]["id"] = value["id"]
    return {**text_message("assistant", content), "tool_calls": wrapped}
