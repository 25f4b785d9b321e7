"""What a dialect is, and what reading an answer in one gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

from loracheck.scoring.dialects.bare_text import typed
from loracheck.scoring.dialects.thinking import split_thinking

MAX_CALLS = 128
"""More calls in one answer are a model that does not stop."""

Call: TypeAlias = "dict[str, Any]"
FoundCalls: TypeAlias = "Iterator[Call | None]"
"""Calls in the order of the answer; None for each place that shows a call's marks and cannot be read."""
Finder: TypeAlias = "Callable[[str], FoundCalls]"


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of one answer."""

    calls: tuple[Call, ...] = ()
    """Each `{"name": ..., "arguments": {...}}`; what lacks one of them is the object the model wrote."""
    attempted: bool = False
    """The answer shows the dialect's marks, whether or not a call could be read."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way of writing a tool call."""

    name: str
    title: str
    """As said in messages."""
    find: Finder
    mark: str | None = None
    """A pattern that finds the dialect in a chat template. What its groups match is shown to the user."""
    has_marks: bool = True
    """Calls bear marks that nothing else does, so that one is known for a call wherever it stands."""
    find_marked: Finder | None = None
    """Finds the calls with such marks alone, where `find` takes others too."""

    def read(self, text: str, tools: Sequence[Mapping[str, Any]] = (), *, thinking: bool = False) -> Calls:
        """The calls in an answer; `tools` give their types to arguments that are written as bare text.

        What the model thinks aloud is not its answer. Only where it never stops thinking are calls found there
        too, by their marks; with `thinking` it was the prompt that began it. Takes time linear in the text, and
        never raises.
        """
        answer, unclosed = split_thinking(text, thinking=thinking)
        marked = self.find_marked or (self.find if self.has_marks else None)
        calls: list[Call] = []
        attempted = False
        for call in chain(self.find(answer), marked(unclosed) if marked and unclosed else ()):
            attempted = True
            if call is not None:
                calls.append(typed(call, tools))
                if len(calls) == MAX_CALLS:
                    break
        return Calls(tuple(calls), attempted)
