"""A case: a request, the tools on offer, and the call that should come back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_serializer, model_validator

from loracheck.cases import MOST
from loracheck.scoring.schema import unwrapped


class Strict(BaseModel):
    """A model of a user's file: unknown keys are refused, so that a typo is never silently a default."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class AsWritten(Strict):
    """One that is written out with only what the file said: to a chat template, null is not the same as nothing."""

    @model_serializer(mode="wrap")
    def _keys_of_the_file(self, handler: Callable[[AsWritten], dict[str, Any]]) -> dict[str, Any]:
        return {key: value for key, value in handler(self).items() if key in self.model_fields_set}


class Tool(AsWritten):
    """A function the model may call, as in OpenAI's format, with or without its wrapper."""

    name: str = Field(min_length=1)
    """What a call has to name."""
    description: str | None = None
    """What it is for, in words for the model."""
    parameters: dict[str, Any] | None = None
    """JSON Schema of the arguments."""
    strict: bool | None = None
    """Accepted because OpenAI's format has it; not used."""

    @model_validator(mode="before")
    @classmethod
    def _unwrap(cls, value: Any) -> Any:
        return unwrapped(value)

    def spec(self) -> dict[str, Any]:
        """The tool as models and scoring read it: only what the file said."""
        return self.model_dump(exclude={"strict"})


class Message(AsWritten):
    """One turn of a conversation, as in OpenAI's format."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    """Who speaks."""
    content: str | None = None
    """What is said; may be left out where there are calls."""
    tool_calls: tuple[dict[str, Any], ...] | None = None
    """Calls the assistant made earlier."""
    tool_call_id: str | None = None
    """Which call a tool's message answers."""
    name: str | None = None
    """Which tool a tool's message comes from."""


class Case(Strict):
    id: str = ""
    """Names the case in reports; its number when left out."""
    prompt: str | None = Field(default=None, min_length=1)
    """What the user says. Either this or `messages`."""
    messages: tuple[Message, ...] | None = Field(default=None, min_length=1)
    """A whole conversation: system text, earlier turns, results of earlier calls. The model answers the last one."""
    tool_spec: Tool | None = None
    """The one tool on offer. Either this or `tools`."""
    tools: tuple[Tool, ...] | None = Field(default=None, min_length=1)
    """All tools on offer. A call is checked against the schema of the tool it names."""
    expect: Literal["call", "no_call"] = "call"
    """`no_call`: no tool fits the request, and any call is an error."""
    gold_tool_name: str | None = None
    """The tool that should be called. May be left out when only one is on offer."""
    gold_arguments: dict[str, Any] | None = None
    """The arguments it should be called with. Where the schema does not ask for an array, a list is a choice of
    accepted values, and null in it means that the argument may be left out. They count for the verdict only where
    assert_exact_arguments_gte is set."""
    max_new_tokens: int | None = Field(default=None, ge=1, le=MOST)
    """Longest answer, in tokens; when left out, that of `defaults`."""

    @field_validator("id", mode="before")
    @classmethod
    def _id_as_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    @model_validator(mode="after")
    def _whole(self) -> Case:
        if (self.prompt is None) == (self.messages is None):
            raise ValueError("give either prompt or messages")
        if self.messages and self.messages[-1].role not in ("user", "tool"):
            raise ValueError("messages: the last one must be the user's or a tool's, for the model to answer")
        if (self.tool_spec is None) == (self.tools is None):
            raise ValueError("give either tool_spec or tools")
        names = [tool.name for tool in self.surface]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"two tools are named {twice!r}; names must differ")
        if self.expect == "no_call":
            if self.gold_tool_name is not None or self.gold_arguments is not None:
                raise ValueError("expect: no_call has no gold_tool_name or gold_arguments; take them out")
        elif self.tools is not None and self.gold not in names:
            problem = "which of them should be called" if self.gold is None else f"{self.gold!r} is none of them"
            raise ValueError(f"gold_tool_name: {len(names)} tools on offer, {problem}; give one of {', '.join(names)}")
        return self

    @property
    def surface(self) -> tuple[Tool, ...]:
        """Every tool on offer."""
        return self.tools or ((self.tool_spec,) if self.tool_spec else ())

    @property
    def gold(self) -> str | None:
        """The tool that should be called; None where none should."""
        if self.expect == "no_call" or self.gold_tool_name is not None:
            return self.gold_tool_name
        return self.surface[0].name if len(self.surface) == 1 else None

    @property
    def question(self) -> str:
        """What the user said last."""
        if self.prompt is not None:
            return self.prompt
        requests = [message.content for message in self.messages or () if message.role == "user" and message.content]
        return requests[-1] if requests else ""

    @property
    def conversation(self) -> list[dict[str, Any]]:
        """The turns as chat templates read them."""
        if self.messages is None:
            return [{"role": "user", "content": self.prompt}]
        return [message.model_dump() for message in self.messages]


def named_apart(cases: Sequence[Case]) -> tuple[Case, ...]:
    """The cases with an id each: their own, or their number. ValueError when two have the same."""
    named = tuple(
        case if case.id else case.model_copy(update={"id": str(number)}) for number, case in enumerate(cases, 1)
    )
    seen: set[str] = set()
    for case in named:
        if case.id in seen:
            raise ValueError(f"two cases have the id {case.id!r}; ids must differ")
        seen.add(case.id)
    return named
