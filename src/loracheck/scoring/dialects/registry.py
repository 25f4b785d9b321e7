"""All dialects, and the questions asked of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import after_mark, bare, gemma, harmony, python_calls, tags

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .dialect import Calls, Dialect

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

_TOOLS = re.compile(r"\btools\b|tool_calls")


@dataclass(frozen=True, slots=True)
class Detection:
    """A dialect, and why it was chosen."""

    name: str
    why: str


def detect(template: str | None) -> Detection:
    """The dialect a model should answer in, by what its chat template writes."""
    if not template:
        return Detection(bare.PLAIN, "the model has no chat template")
    source = template.replace('\\"', '"')
    for dialect in DIALECTS.values():
        if dialect.mark and (found := dialect.mark.search(source)):
            written = next(group for group in found.groups() if group)
            return Detection(dialect.name, f"the chat template writes {written}")
    if _TOOLS.search(source):
        return Detection(bare.PLAIN, "the chat template takes tools, but writes calls in no dialect known here")
    return Detection(bare.PLAIN, "the chat template does not mention tools")


def read_calls(text: str, name: str, tools: Sequence[Mapping[str, Any]] = ()) -> Calls:
    """The calls of an answer in the dialect `name`. Tools, `{name, parameters}`, give bare text its type."""
    return DIALECTS[name].read(text, tools)


def other_dialect(text: str, name: str) -> str | None:
    """The dialect an answer speaks when it has no call in `name`; None when it speaks none."""
    if DIALECTS[name].read(text).calls:
        return None
    return next((other for other in DIALECTS if other != name and _speaks(text, DIALECTS[other])), None)


def _speaks(text: str, dialect: Dialect) -> bool:
    return any(
        isinstance(call.get("name"), str) and isinstance(call.get("arguments"), dict)
        for call in dialect.read(text).calls
    )
