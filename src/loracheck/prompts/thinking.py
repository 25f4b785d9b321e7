"""Whether a model thinks before it answers, by its chat template, and what stops it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from loracheck.errors import ModelError
from loracheck.models.model import ChatTemplate
from loracheck.prompts.chat import TRIAL_TOOL, TRIAL_TURN, TemplateFailedError, ToolSpec, run_template

_MARKS = re.compile(
    r"</?(?:\w{1,16}:|longcat_)?think|</?thought>|\[THINK\]|<\|START_THINKING\|>|<\|think\|>|<\|inner_prefix\|>"
    r"|<\|channel\|>analysis|<\|channel>thought|\[BEGIN FINAL RESPONSE\]",
)
_CLOSED_AT_THE_END = re.compile(
    r"(?:</(?:\w{1,16}:|longcat_)?think(?:ing)?(?::\w{1,32})?>|</thought>|\[/THINK\]|<\|END_THINKING\|>"
    r"|<\|inner_suffix\|>|<channel\|>|<\|think\|><\|end\|><\|begin\|>assistant)\s*\Z"
)

# What turns thinking off, and what turns it on.
_SWITCHES: dict[str, tuple[Any, Any]] = {
    "enable_thinking": (False, True),  # Qwen3, SmolLM3, GLM 4.5, Nemotron 3, Gemma 4, EXAONE 4, Hunyuan
    "thinking": (False, True),  # DeepSeek V3.1, Granite 3, Kimi
    "reasoning": (False, True),  # Command A
    "thinking_mode": ("disabled", "enabled"),  # MiniMax M3
    "thinking_option": ("off", "on"),  # Ling
    "thinking_budget": (0, 1024),  # Seed-OSS
}
# Where there is none of these, how much it thinks: gpt-oss, Hunyuan 3, Solar.
_EFFORTS = ("reasoning_effort", "reasoning_strength")
_LEAST_EFFORTS = ("none", "no_think", "minimal", "low")


@dataclass(frozen=True, slots=True)
class Thinking:
    """What a chat template has to do with thinking."""

    on: bool
    """Whether the model may think before it answers, with the variables that the template is run with."""
    variable: str | None = None
    """What switches it off, or sets how much it thinks; None where nothing that is known here does."""
    off: Any = None
    """The variable's value for no thinking, or for as little as can be."""
    stops: bool = False
    """Whether that ends all thinking, rather than making it less."""

    @property
    def switch(self) -> str | None:
        """The variable and its value as --template-arg takes them."""
        return None if self.variable is None else f"{self.variable}={json.dumps(self.off)}"


def find_thinking(template: ChatTemplate, reads: Collection[str]) -> Thinking | None:
    """What the template, which reads these variables, has to do with thinking; None when nothing.

    A template knows thinking when one of the marks that models put around it stands in its source, or when it reads a
    variable that switches it. A variable counts as such a switch by its name and by its work: with its value for "off"
    the prompt must be another than with that for "on".

    Thinking is off when the prompt ends with closed thinking, or when it is what the switch for "off" makes of it
    already. Otherwise it is on. That says no more than "the model may think": a template that only takes thinking out
    of earlier turns looks the same, whether or not its model thinks. Such a model gets room that it does not use. One
    that was taken for a model that does not think would be cut off before its call.
    """
    prompts = _write(template)
    closed = _ends_closed(prompts)
    for variable, off, on in _candidates(template.source, reads):
        without, thinking = (_write(with_arguments(template, {variable: value})) for value in (off, on))
        # Some refuse a value, and some read the variable for something else.
        if not any(without) or without == thinking:
            continue
        stops = variable in _SWITCHES or _ends_closed(without)
        return Thinking(not (closed or (stops and prompts == without)), variable, off, stops)
    return Thinking(not closed) if _MARKS.search(template.source) else None


def _write(template: ChatTemplate) -> tuple[str, str]:
    """A prompt without tools and one with them, where it does not fail: Granite thinks only without."""
    return _try_to_write(template, None), _try_to_write(template, [TRIAL_TOOL])


def _try_to_write(template: ChatTemplate, tools: list[ToolSpec] | None) -> str:
    try:
        return run_template(template, [TRIAL_TURN], tools)
    except TemplateFailedError:
        return ""


def _ends_closed(prompts: tuple[str, str]) -> bool:
    return _CLOSED_AT_THE_END.search(prompts[-1]) is not None


def _candidates(source: str, reads: Collection[str]) -> list[tuple[str, Any, Any]]:
    """Variables that may switch thinking, with what turns it off and on."""
    switches = [(name, off, on) for name, (off, on) in _SWITCHES.items() if name in reads]
    # The least that the template speaks of: some refuse what they do not know.
    least = next((word for word in _LEAST_EFFORTS if re.search(rf"""['"]{word}['"]""", source)), "low")
    return switches + [(name, least, "high") for name in _EFFORTS if name in reads]


def with_arguments(template: ChatTemplate, more: Mapping[str, Any]) -> ChatTemplate:
    return replace(template, arguments={**template.arguments, **more})


def switched_off(template: ChatTemplate, thinking: Thinking | None) -> ChatTemplate:
    """The template with its thinking off, or as little as it goes; ModelError when nothing known here does that."""
    if thinking is None or thinking.variable is None:
        raise ModelError(
            "thinking cannot be switched off: the model's chat template reads no variable that is known for it; "
            "leave out --no-thinking, or name the variable with --template-arg"
        )
    if template.arguments.get(thinking.variable, thinking.off) != thinking.off:
        raise ModelError(
            f"--no-thinking sets {thinking.switch}, and the template argument {thinking.variable} says otherwise; "
            "give one of them"
        )
    return with_arguments(template, {thinking.variable: thinking.off})
