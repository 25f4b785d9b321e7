"""One answer, read against the case it answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from loracheck.scoring.arguments import arguments_match
from loracheck.scoring.dialects import PLAIN, read_calls
from loracheck.scoring.parse import ATTEMPT
from loracheck.scoring.schema import as_dict, matches_schema, strictly_valid

Outcome = Literal["valid", "wrong_tool", "bad_arguments", "malformed", "truncated", "no_call"]


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a case expects of its answer."""

    tool_spec: Any
    """The tool that should be called; None where none should."""
    gold_tool_name: str | None
    tools: tuple[Any, ...] = ()
    """All tools on offer: a call is checked against the one it names. Left out, only `tool_spec` is."""
    gold_arguments: dict[str, Any] | None = None
    """The arguments it should have, as far as the case tells."""

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
    dialect: str | None = None
    """The dialect it is written in when that is not the one it was read in; None when nobody looked."""
    strict_valid: bool | None = None
    """Valid by the whole JSON Schema; None when nobody asked."""
    arguments_correct: bool | None = None
    """A valid call with the expected arguments; None where the case expects none in particular."""

    @property
    def exact(self) -> bool:
        """The call that was expected: the right tool with the right arguments, as far as the case tells."""
        return self.outcome == "valid" and self.arguments_correct is not False


def read_answer(
    expectation: Expectation,
    answer: Answer,
    allowed_tools: Collection[str] | None,
    dialect: str = PLAIN,
    *,
    strict: bool = False,
) -> Reading:
    """Parse and classify; an empty `allowed_tools` is a list too, and allows nothing."""
    parsed = read_calls(answer.text, dialect, expectation.tools)
    call, more_calls = (parsed.calls[0], parsed.calls[1:]) if parsed.calls else (None, ())
    spec = None if call is None else expectation.spec_for(call)
    valid = matches_schema(call, spec)
    if call is not None and valid:
        name = call["name"]
        accepted = name == expectation.gold_tool_name if allowed_tools is None else name in allowed_tools
        outcome: Outcome = "valid" if accepted else "wrong_tool"
    elif call is not None and isinstance(call.get("name"), str):
        outcome = "bad_arguments"
    elif call is None and answer.truncated:
        outcome = "truncated"
    else:
        # In plain JSON any object is an attempt to those who look for one, and `{}` is none to us.
        marked = parsed.attempted and dialect != PLAIN
        outcome = "malformed" if marked or ATTEMPT.search(answer.text) else "no_call"
    strict_valid = valid and strictly_valid(call, spec) if strict else None
    arguments_correct = _has_gold_arguments(expectation, call if valid else None)
    return Reading(call, valid, outcome, more_calls, strict_valid=strict_valid, arguments_correct=arguments_correct)


def _has_gold_arguments(expectation: Expectation, call: dict[str, Any] | None) -> bool | None:
    if expectation.gold_arguments is None:
        return None
    parameters = as_dict(expectation.tool_spec).get("parameters")
    return call is not None and arguments_match(expectation.gold_arguments, call["arguments"], parameters)


def differs_at(a: str, b: str) -> int | None:
    """How many characters two texts share from the start; None when they are the same."""
    if a == b:
        return None
    # Halving compares slices at memory speed, where a walk takes a step for each of a million characters.
    same, differs = 0, min(len(a), len(b)) + 1
    while differs - same > 1:
        middle = (same + differs) // 2
        if a[same:middle] == b[same:middle]:
            same = middle
        else:
            differs = middle
    return same
