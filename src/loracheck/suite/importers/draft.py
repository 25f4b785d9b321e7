"""What every importer makes of a record, and how that becomes a case."""

from __future__ import annotations

import ast
import json
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from loracheck.scoring import matches_schema
from loracheck.scoring.gold import gold_of
from loracheck.suite.case import Case
from loracheck.suite.importers.records import Record, read_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Taken:
    """A record that became a case."""

    line: int
    case: Case
    note: str = ""
    """What the case does not tell of the record."""


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


def import_each(path: Path, take_apart: Callable[[dict[str, Any]], Draft]) -> Iterator[Imported]:
    """A case or a reason for each record of the file."""
    for record in read_records(path):
        try:
            yield _taken(record, take_apart)
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


def _taken(record: Record, take_apart: Callable[[dict[str, Any]], Draft]) -> Taken:
    if record.value is Record.unreadable:
        raise UnusableError("not JSON")
    if not isinstance(record.value, dict):
        raise UnusableError("not a JSON object")
    draft = take_apart(record.value)
    # Without an id of its own a case is named by its line.
    named = isinstance(draft.id, str | int) and draft.id != ""
    fields = {"id": draft.id if named else record.line, **_fields(draft)}
    # What cannot be written now could not be written later, with all the other cases.
    _spelled(fields).encode()
    case = Case.model_validate(fields)
    return Taken(record.line, case, _note(draft, case))


def to_json(case: Case) -> str:
    """One line of a cases file: only what was said."""
    return _spelled(case.model_dump(exclude_unset=True))


def _spelled(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _fields(draft: Draft) -> dict[str, Any]:
    tools = _distinct(draft.tools)
    if not tools:
        raise UnusableError("no tools on offer")
    if not any(message["role"] == "user" and message.get("content") for message in draft.messages):
        raise UnusableError("no request before the answer")
    fields: dict[str, Any] = {}
    if len(draft.messages) == 1:
        fields["prompt"] = draft.messages[0]["content"]
    else:
        fields["messages"] = draft.messages
    if len(tools) == 1:
        fields["tool_spec"] = tools[0]
    else:
        fields["tools"] = tools
    if not draft.calls:
        return fields | {"expect": "no_call"}
    gold = draft.calls[0]
    tool = next((tool for tool in tools if tool["name"] == gold.name), None)
    if tool is None:
        raise UnusableError("the call names a tool that is not on offer")
    arguments = gold.arguments if draft.has_choices else gold_of(gold.arguments, tool.get("parameters"))
    return fields | {"gold_tool_name": gold.name, "gold_arguments": arguments}


def _note(draft: Draft, case: Case) -> str:
    if len(draft.calls) > 1:
        return "several calls at once; the first is expected"
    if draft.calls and not draft.has_choices:
        gold = draft.calls[0]
        spec = next(tool.spec() for tool in case.surface if tool.name == gold.name)
        if not matches_schema({"name": gold.name, "arguments": gold.arguments}, spec):
            return "its own call does not fit the tool's schema"
    return ""


def _distinct(tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A tool listed twice is one; two tools of one name are for the case to refuse."""
    return [tool for number, tool in enumerate(tools) if tool not in tools[:number]]


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
    """Tools out of a list or its text, with or without OpenAI's wrapper; no key that a case does not know."""
    tools = parsed(value) if value else []
    return [_tool(tool) for tool in (tools if isinstance(tools, list) else [tools])]


def _tool(value: Any) -> dict[str, Any]:
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
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
    value = parsed(value)
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise UnusableError("a call without a name")
    arguments = parsed(value.get("arguments") or {})
    if not isinstance(arguments, dict):
        raise UnusableError("a call whose arguments are no JSON object")
    return Call(value["name"], arguments)
