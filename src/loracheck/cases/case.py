"""A case: a request, the tools on offer, and the calls that should come back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)

from loracheck.cases import MOST, did_you_mean
from loracheck.cases.tool_shapes import plain_tool
from loracheck.scoring.several import ExpectedCall, Order


class Strict(BaseModel):
    """A model of a user's file: unknown keys are refused, so that a typo is never silently a default."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class AsWritten(Strict):
    """One that is written out with only what the file said: to a chat template, null is not the same as nothing."""

    @model_serializer(mode="wrap")
    def _keys_of_the_file(self, handler: Callable[[AsWritten], dict[str, Any]]) -> dict[str, Any]:
        return {key: value for key, value in handler(self).items() if key in self.model_fields_set}


class Tool(AsWritten):
    """A function the model may call, in OpenAI's format (with or without its wrapper), MCP's or Anthropic's."""

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
    def _plain(cls, value: Any) -> Any:
        return plain_tool(value)

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


def _named_differently(tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    names: set[str] = set()
    for tool in tools:
        if tool.name in names:
            raise ValueError(f"two tools are named {tool.name!r}; names must differ")
        names.add(tool.name)
    return tools


Surface: TypeAlias = Annotated[tuple[Tool, ...], AfterValidator(_named_differently)]
"""The tools that are on offer together."""


class GoldCall(Strict):
    """One of the calls that should come back."""

    name: str = Field(min_length=1)
    """The tool that should be called."""
    arguments: dict[str, Any] | None = None
    """The arguments it should be called with, as in `gold_arguments`; when left out, any that fit the tool."""


class Case(Strict):
    id: str = ""
    """Names the case in reports; its number when left out."""
    prompt: str | None = Field(default=None, min_length=1)
    """What the user says. Either this or `messages`."""
    messages: tuple[Message, ...] | None = Field(default=None, min_length=1)
    """A whole conversation: system text, earlier turns, results of earlier calls. The model answers the last one."""
    tool_spec: Tool | None = None
    """The one tool on offer. Either this or `tools`."""
    tools: Surface | None = Field(default=None, min_length=1)
    """All tools on offer. A call is checked against the schema of the tool it names. A case with neither this nor
    `tool_spec` has those of `tools_file`."""
    expect: Literal["call", "no_call", "any_call"] = "call"
    """`no_call`: no tool fits the request, and any call is an error. `any_call`: one of the tools should be called, no
    matter which."""
    gold_tool_name: str | None = None
    """The tool that should be called. May be left out when only one is on offer."""
    gold_arguments: dict[str, Any] | None = None
    """The arguments it should be called with. Where the schema does not ask for an array, a list is a choice of
    accepted values, and null in it means that the argument may be left out. They count for the verdict only where
    assert_exact_arguments_gte is set."""
    gold_calls: tuple[GoldCall, ...] | None = None
    """All the calls that one answer should make, instead of gold_tool_name and gold_arguments."""
    order: Order = "any"
    """Whether `gold_calls` must come in their order: `strict`, or in `any` order."""
    max_new_tokens: int | None = Field(default=None, ge=1, le=MOST)
    """Longest answer, in tokens, any thinking before it included; when left out, that of `defaults`."""
    answer_tokens: int | None = Field(default=None, ge=1, le=MOST)
    """Longest answer, in tokens, not counting any thinking before it: the limit where neither the case nor `defaults`
    has a max_new_tokens, and the model does not think first."""

    @model_validator(mode="before")
    @classmethod
    def _with_the_tools_of_all_cases(cls, value: Any, info: ValidationInfo) -> Any:
        tools = (info.context or {}).get("tools")
        names_none = isinstance(value, dict) and value.get("tool_spec") is None and value.get("tools") is None
        return {**value, "tools": tools} if tools and names_none else value

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
        if self.tool_spec is not None and self.tools is not None:
            raise ValueError("give either tool_spec or tools")
        if not self.surface:
            raise ValueError("no tools on offer; give tool_spec or tools, or tools for all cases with --tools FILE")
        names = [tool.name for tool in self.surface]
        self._confirm_one_gold()
        if self.gold_calls is not None:
            self._confirm_on_offer(self.gold_calls, names)
        elif self.expect == "call" and self.tools is not None and self.gold not in names:
            if self.gold is not None and (nearest := did_you_mean(self.gold, names)):
                raise ValueError(f"gold_tool_name: no tool {self.gold!r} on offer{nearest}")
            problem = "which of them should be called" if self.gold is None else f"{self.gold!r} is none of them"
            raise ValueError(f"gold_tool_name: {len(names)} tools on offer, {problem}; give one of {', '.join(names)}")
        return self

    def _confirm_one_gold(self) -> None:
        """What is expected is said in one way."""
        has_one_call = self.gold_tool_name is not None or self.gold_arguments is not None
        if self.gold_calls is not None and has_one_call:
            raise ValueError("give either gold_calls or gold_tool_name and gold_arguments")
        if self.expect != "call" and (has_one_call or self.gold_calls is not None):
            gold = "gold_calls" if self.gold_calls is not None else "gold_tool_name or gold_arguments"
            raise ValueError(f"expect: {self.expect} has no {gold}; take them out")
        if self.gold_calls is not None and not self.gold_calls:
            raise ValueError("gold_calls: empty; list the calls, or say expect: no_call if there should be none")
        if self.gold_calls is None and self.order == "strict":
            raise ValueError("order: strict is for gold_calls; give them, or take it out")

    def _confirm_on_offer(self, calls: Sequence[GoldCall], names: Sequence[str]) -> None:
        for number, call in enumerate(calls):
            if call.name not in names:
                which = f"case {self.id!r}: " if self.id else ""
                fix = did_you_mean(call.name, names) or f"; give one of {', '.join(names)}"
                raise ValueError(f"{which}gold_calls[{number}].name: no tool {call.name!r} on offer{fix}")

    @property
    def surface(self) -> tuple[Tool, ...]:
        """Every tool on offer."""
        return self.tools or ((self.tool_spec,) if self.tool_spec else ())

    @property
    def expects_call(self) -> bool:
        """Whether the answer should make a call, be it one in particular, several, or any."""
        return self.expect != "no_call"

    @property
    def gold(self) -> str | None:
        """The tool that should be called, of several the first; None where none should, or any."""
        if self.gold_calls:
            return self.gold_calls[0].name
        if self.expect != "call" or self.gold_tool_name is not None:
            return self.gold_tool_name
        return self.surface[0].name if len(self.surface) == 1 else None

    @property
    def expected_calls(self) -> tuple[ExpectedCall, ...]:
        """Every call that the answer should make; none where no call should come, or any."""
        if self.gold_calls is not None:
            return tuple(ExpectedCall(call.name, call.arguments) for call in self.gold_calls)
        return () if self.gold is None else (ExpectedCall(self.gold, self.gold_arguments),)

    @property
    def accepted_names(self) -> tuple[str, ...]:
        """The tools that the first call of the answer may name."""
        if self.expect == "any_call":
            return tuple(tool.name for tool in self.surface)
        first = self.expected_calls[:1] if self.order == "strict" else self.expected_calls
        return tuple(dict.fromkeys(call.name for call in first))

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
