"""How models write tool calls, each family in its own way: from an answer's text to its calls."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loracheck.scoring.dialects import after_mark, bare, gemma, harmony, minimax_m3, python_calls, tags
from loracheck.scoring.dialects.bare import PLAIN
from loracheck.scoring.dialects.dialect import MAX_CALLS, Calls, Dialect
from loracheck.scoring.dialects.thinking import cut_off_in_thinking, opens_thinking, split_thinking

__all__ = [
    "DIALECTS",
    "MAX_CALLS",
    "PLAIN",
    "Calls",
    "Detection",
    "Dialect",
    "cut_off_in_thinking",
    "detect",
    "opens_thinking",
    "read_calls",
    "split_thinking",
]

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
    after_mark.APERTUS,
    after_mark.INTERNLM2,
    after_mark.INKLING,
    minimax_m3.MINIMAX_M3,
    tags.KIMI_K3,
    tags.HY3,
    tags.GLM,
    harmony.MUSE,
    tags.INVOKE,
    tags.MINICPM,
    tags.QWEN3_CODER,
    after_mark.FUNCTION_TAG,
    after_mark.TOOL_CALLS,
    after_mark.HERMES,
    after_mark.FUNCTION_CALL,
    after_mark.GRANITE,
    after_mark.PHI4,
    python_calls.OLMO3,
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


def read_calls(text: str, name: str, tools: Sequence[Mapping[str, Any]] = (), *, thinking: bool = False) -> Calls:
    """The calls of an answer in the dialect `name`. Tools, `{name, parameters}`, give bare text its type.

    With `thinking`, the prompt has left the model thinking.
    """
    return DIALECTS[name].read(text, tools, thinking=thinking)
