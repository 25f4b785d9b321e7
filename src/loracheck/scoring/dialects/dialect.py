"""What a dialect is, and what reading an answer in one gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from .declared import typed
from .reasoning import without_reasoning

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator, Mapping, Sequence

MAX_CALLS = 128
"""More calls in one answer are a model that does not stop."""

Call: TypeAlias = "dict[str, Any]"
Found: TypeAlias = "Iterator[Call | None]"
"""Calls in the order of the answer; None for each place that shows a call's marks and cannot be read."""


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
    find: Callable[[str], Found]
    mark: re.Pattern[str] | None = None
    """Finds the dialect in a chat template. What its groups match is shown to the user."""
    reads_reasoning: bool = False
    """Text the model thinks aloud is searched for calls as well."""

    def read(self, text: str, tools: Sequence[Mapping[str, Any]] = ()) -> Calls:
        """The calls in an answer; `tools` give their types to arguments that are written as bare text.

        Takes time linear in the text, and never raises.
        """
        calls: list[Call] = []
        attempted = False
        for call in self.find(text if self.reads_reasoning else without_reasoning(text)):
            attempted = True
            if call is not None:
                calls.append(typed(call, tools))
                if len(calls) == MAX_CALLS:
                    break
        return Calls(tuple(calls), attempted)
