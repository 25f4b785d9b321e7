"""How models write tool calls, each family in its own way: from an answer's text to its calls."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loracheck.scoring.dialects import after_mark, bare, gemma, harmony, python_calls, tags
from loracheck.scoring.dialects.bare import PLAIN
from loracheck.scoring.dialects.dialect import MAX_CALLS, Calls, Dialect
from loracheck.scoring.schema import matches_schema

__all__ = ["DIALECTS", "MAX_CALLS", "PLAIN", "Calls", "Detection", "Dialect", "detect", "other_dialect", "read_calls"]

# The most telling marks first. Plain JSON comes ahead of those that read plain JSON too, in a looser way.
_KNOWN = (
    harmony.HARMONY,
    after_mark.MISTRAL,
    after_mark.DEEPSEEK_R1,
    after_mark.DEEPSEEK_V3,
    after_mark.KIMI_K2,
    after_mark.SOLAR,
    after_mark.COMMAND_R,
    after_mark.GIGACHAT,
    tags.GLM,
    tags.INVOKE,
    tags.MINICPM,
    tags.QWEN3_CODER,
    after_mark.FUNCTION_TAG,
    after_mark.TOOL_CALLS,
    after_mark.HERMES,
    after_mark.GRANITE,
    after_mark.PHI4,
    python_calls.PYTHONIC,
    bare.OPENAI,
    bare.JSON,
    gemma.GEMMA,
    bare.LLAMA3,
    after_mark.FUNCTIONARY,
)
DIALECTS: dict[str, Dialect] = {dialect.name: dialect for dialect in _KNOWN}


@dataclass(frozen=True, slots=True)
class Detection:
    """A dialect, and why it was chosen."""

    name: str
    why: str


def detect(template: str | None) -> Detection:
    """The dialect a model should answer in, by what its chat template writes."""
    if not template:
        return Detection(PLAIN, "the model has no chat template")
    source = template.replace('\\"', '"')
    for dialect in DIALECTS.values():
        if dialect.mark and (mark := re.search(dialect.mark, source)):
            written = next(group for group in mark.groups() if group)
            return Detection(dialect.name, f"the chat template writes {written}")
    if re.search(r"\btools\b|tool_calls", source):
        return Detection(PLAIN, "the chat template takes tools, but writes calls in no dialect known here")
    return Detection(PLAIN, "the chat template does not mention tools")


def read_calls(text: str, name: str, tools: Sequence[Mapping[str, Any]] = ()) -> Calls:
    """The calls of an answer in the dialect `name`. Tools, `{name, parameters}`, give bare text its type."""
    return DIALECTS[name].read(text, tools)


def other_dialect(text: str, name: str) -> str | None:
    """The dialect an answer speaks when it has no call in `name`; None when it speaks none."""
    if DIALECTS[name].read(text).calls:
        return None
    for other, dialect in DIALECTS.items():
        # Without a tool to fit, a call needs no more than a name and arguments.
        if other != name and any(matches_schema(call, None) for call in dialect.read(text).calls):
            return other
    return None
