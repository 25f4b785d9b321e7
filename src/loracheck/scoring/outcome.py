"""One answer, read against the case it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from .dialects import PLAIN, read_calls
from .parse import ATTEMPT
from .schema import matches_schema

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

VALID: Final = "valid"
WRONG_TOOL: Final = "wrong_tool"
BAD_ARGUMENTS: Final = "bad_arguments"
MALFORMED: Final = "malformed"
TRUNCATED: Final = "truncated"
NO_CALL: Final = "no_call"

Outcome = Literal["valid", "wrong_tool", "bad_arguments", "malformed", "truncated", "no_call"]


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a case expects of its answer."""

    tool_spec: Any
    """The tool that should be called; None where none should."""
    gold_tool_name: str | None
    tools: tuple[Any, ...] = ()
    """All tools on offer: a call is checked against the one it names. Left out, only `tool_spec` is."""

    def spec_for(self, call: Mapping[str, Any]) -> Any:
        """The specification to check a call against; the expected tool's when it names none of those on offer."""
        name = call.get("name")
        return next((tool for tool in self.tools if tool["name"] == name), self.tool_spec)


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
    more_calls: tuple[dict[str, Any], ...] = ()
    """Only the first call of an answer is judged."""


def read_answer(
    expectation: Expectation, answer: Answer, allowed_tools: Collection[str] | None, dialect: str = PLAIN
) -> Reading:
    """Parse and classify; an empty `allowed_tools` is a list too, and allows nothing."""
    found = read_calls(answer.text, dialect, expectation.tools)
    call, more = (found.calls[0], found.calls[1:]) if found.calls else (None, ())
    valid = call is not None and matches_schema(call, expectation.spec_for(call))
    if call is not None and valid:
        name = call["name"]
        accepted = name == expectation.gold_tool_name if allowed_tools is None else name in allowed_tools
        outcome: Outcome = VALID if accepted else WRONG_TOOL
    elif call is not None and isinstance(call.get("name"), str):
        outcome = BAD_ARGUMENTS
    elif call is None and answer.truncated:
        outcome = TRUNCATED
    else:
        # In plain JSON any object is an attempt to those who look for one, and `{}` is none to us.
        marked = found.attempted and dialect != PLAIN
        outcome = MALFORMED if marked or ATTEMPT.search(answer.text) else NO_CALL
    return Reading(call, valid, outcome, more)
