"""A case: a prompt, the tool it offers, and the call it should bring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

if TYPE_CHECKING:
    from collections.abc import Sequence


class Strict(BaseModel):
    """A model of a user's file: unknown keys are refused, so that a typo is never silently a default."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Tool(Strict):
    """A function the model may call, as in OpenAI's format."""

    name: str = Field(min_length=1)
    description: str | None = None
    parameters: dict[str, Any] | None = None
    """JSON Schema of the arguments."""
    strict: bool | None = None
    """Accepted because OpenAI's format has it; not used."""

    def spec(self) -> dict[str, Any]:
        """The tool as models and scoring read it: only what the file said."""
        return self.model_dump(exclude_unset=True, exclude={"strict"})


class Case(Strict):
    id: str = ""
    """Names the case in reports; its number when left out."""
    prompt: str = Field(min_length=1)
    tool_spec: Tool
    gold_tool_name: str | None = None
    """The tool that should be called; `tool_spec.name` when left out."""
    gold_arguments: dict[str, Any] | None = None
    """The arguments it should be called with. Evidence only: the verdict does not look at it."""
    max_new_tokens: int | None = Field(default=None, ge=1)

    @field_validator("tool_spec", mode="before")
    @classmethod
    def _unwrap(cls, value: Any) -> Any:
        """OpenAI's wrapper, {type: function, function: {...}}, is taken off."""
        if isinstance(value, dict) and value.get("type") == "function" and "function" in value:
            return value["function"]
        return value

    @field_validator("id", mode="before")
    @classmethod
    def _id_as_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    @property
    def gold(self) -> str:
        return self.gold_tool_name or self.tool_spec.name


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
