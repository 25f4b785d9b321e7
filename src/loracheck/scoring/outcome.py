"""One answer, read against the case it answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from .parse import parse_tool_call
from .schema import matches_schema

if TYPE_CHECKING:
    from collections.abc import Collection

VALID: Final = "valid"
WRONG_TOOL: Final = "wrong_tool"
BAD_ARGUMENTS: Final = "bad_arguments"
MALFORMED: Final = "malformed"
TRUNCATED: Final = "truncated"
NO_CALL: Final = "no_call"

Outcome = Literal["valid", "wrong_tool", "bad_arguments", "malformed", "truncated", "no_call"]

# A brace with a quoted key. Models also write Python dicts, and JSON escaped once too often.
_ATTEMPT = re.compile(r"""\{\s*\\?["']""")


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a case expects of its answer."""

    tool_spec: Any
    gold_tool_name: str | None


@dataclass(frozen=True, slots=True)
class Answer:
    """One view's answer to one case."""

    text: str
    truncated: bool = False
    """Generation hit the token limit."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one answer turned out to be."""

    call: dict[str, Any] | None
    valid: bool
    """Parsed and schema-valid, whichever tool it names."""
    outcome: Outcome


def read_answer(expectation: Expectation, answer: Answer, allowed_tools: Collection[str] | None) -> Reading:
    """Parse and classify; an empty `allowed_tools` is a list too, and allows nothing."""
    call = parse_tool_call(answer.text)
    valid = matches_schema(call, expectation.tool_spec)
    if call is not None and valid:
        name = call["name"]
        accepted = name == expectation.gold_tool_name if allowed_tools is None else name in allowed_tools
        outcome: Outcome = VALID if accepted else WRONG_TOOL
    elif call is not None and isinstance(call.get("name"), str):
        outcome = BAD_ARGUMENTS
    elif call is None and answer.truncated:
        outcome = TRUNCATED
    else:
        outcome = MALFORMED if _ATTEMPT.search(answer.text) else NO_CALL
    return Reading(call, valid, outcome)
