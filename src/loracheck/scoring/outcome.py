"""One answer, read against the case it answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from loracheck.scoring.arguments import arguments_match
from loracheck.scoring.dialects import PLAIN, cut_off_in_thinking, read_calls, split_thinking
from loracheck.scoring.parse import ATTEMPT, parse_tool_call
from loracheck.scoring.schema import as_dict, matches_schema, strictly_valid
from loracheck.scoring.several import ExpectedCall, Matched, Order, match_calls

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
    accepted_names: tuple[str, ...] | None = None
    """The tools that the first call may name; left out, only `gold_tool_name`."""
    several: tuple[ExpectedCall, ...] | None = None
    """All calls that the answer should make, where these are several."""
    order: Order = "any"

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
    thinking: bool = False
    """The prompt left the model thinking: until it closes that, it has not begun to answer."""


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
    """The dialect it is written in when that is not one it was read in; None when nobody looked."""
    written_in: str | None = None
    """The dialect it is written in; None when it makes no call, or nobody looked."""
    strict_valid: bool | None = None
    """Valid by the whole JSON Schema; None when nobody asked."""
    arguments_correct: bool | None = None
    """A valid call with the expected arguments; None where the case expects none in particular."""
    matched: Matched | None = None
    """Its calls beside the expected ones; None where the case does not expect several."""
    cut_off_in_thinking: bool = False
    """Generation hit the token limit before the model had done thinking."""

    @property
    def exact(self) -> bool:
        """The call that was expected: the right tool with the right arguments, as far as the case tells."""
        return self.outcome == "valid" and self.arguments_correct is not False


def read_answer(
    expectation: Expectation,
    answer: Answer,
    allowed_tools: Collection[str] | None,
    dialect: str | None = None,
    *,
    strict: bool = False,
) -> Reading:
    """Parse and classify; an empty `allowed_tools` is a list too, and allows nothing.

    Without a dialect the text is read as `parse_tool_call` does, thinking and all.
    """
    calls, attempted = _calls_in(answer, dialect, expectation.tools)
    call, more_calls = (calls[0], calls[1:]) if calls else (None, ())
    spec = None if call is None else expectation.spec_for(call)
    valid = matches_schema(call, spec)
    if call is not None and valid:
        outcome: Outcome = "valid" if _is_accepted(call["name"], expectation, allowed_tools) else "wrong_tool"
    elif call is not None and isinstance(call.get("name"), str):
        outcome = "bad_arguments"
    elif call is None and answer.truncated:
        outcome = "truncated"
    else:
        outcome = "malformed" if attempted else "no_call"
    strict_valid = valid and strictly_valid(call, spec) if strict else None
    arguments_correct = _has_gold_arguments(expectation, call if valid else None)
    return Reading(
        call,
        valid,
        outcome,
        more_calls,
        strict_valid=strict_valid,
        arguments_correct=arguments_correct,
        matched=_matched(expectation, calls),
        cut_off_in_thinking=answer.truncated and cut_off_in_thinking(answer.text, thinking=answer.thinking),
    )


def _calls_in(answer: Answer, dialect: str | None, tools: Sequence[Any]) -> tuple[tuple[dict[str, Any], ...], bool]:
    """The calls, and whether the text shows that one was meant."""
    if dialect is None:
        call = parse_tool_call(answer.text)
        return () if call is None else (call,), ATTEMPT.search(answer.text) is not None
    parsed = read_calls(answer.text, dialect, tools, thinking=answer.thinking)
    # In plain JSON any object is an attempt to those who look for one, and `{}` is none to us.
    marked = parsed.attempted and dialect != PLAIN
    answered, _ = split_thinking(answer.text, thinking=answer.thinking)
    return parsed.calls, marked or ATTEMPT.search(answered) is not None


def _is_accepted(name: str, expectation: Expectation, allowed_tools: Collection[str] | None) -> bool:
    if allowed_tools is not None:
        return name in allowed_tools
    if expectation.accepted_names is not None:
        return name in expectation.accepted_names
    return name == expectation.gold_tool_name


def _matched(expectation: Expectation, calls: Sequence[dict[str, Any]]) -> Matched | None:
    if expectation.several is None:
        return None
    return match_calls(expectation.several, calls, expectation.tools, expectation.order)


def _has_gold_arguments(expectation: Expectation, call: dict[str, Any] | None) -> bool | None:
    """Of the first call; None where nothing is known about its arguments."""
    golds = [(expectation.gold_tool_name, expectation.gold_arguments)]
    if expectation.several is not None:
        golds = [(each.name, each.arguments) for each in expectation.several]
        golds = golds[:1] if expectation.order == "strict" else golds
    if all(arguments is None for _, arguments in golds):
        return None
    if call is None:
        return False
    parameters = as_dict(expectation.spec_for(call)).get("parameters")
    # A wrong name is told elsewhere: only where several calls could be meant does it say which arguments to look for.
    meant = [arguments for name, arguments in golds if len(golds) == 1 or name == call["name"]]
    return any(arguments is None or arguments_match(arguments, call["arguments"], parameters) for arguments in meant)


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
