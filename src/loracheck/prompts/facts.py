"""What a chat template is like, told by what it writes; and the variables that it is run with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loracheck.errors import ModelError
from loracheck.models.model import ChatTemplate
from loracheck.prompts.chat import OWN_VARIABLES, failing_as_templates_do, shows_tools
from loracheck.prompts.defects import find_defects
from loracheck.prompts.thinking import Thinking, find_thinking, switched_off
from loracheck.text import cut


@dataclass(frozen=True, slots=True)
class Facts:
    """What a chat template is like, with the variables that it is run with."""

    shows_tools: bool
    """Whether the model gets to read the tools through it; if not, they are added to the text by us."""
    thinking: Thinking | None
    """None when it knows nothing of thinking."""
    defects: tuple[str, ...]
    """The names of those in `DEFECTS` that it has."""

    @classmethod
    def from_json(cls, reply: Mapping[str, Any]) -> Facts:
        thinking = reply["thinking"]
        return cls(reply["shows_tools"], Thinking(**thinking) if thinking else None, tuple(reply["defects"]))


def examine(template: ChatTemplate, *, no_thinking: bool = False) -> tuple[ChatTemplate, Facts]:
    """The template as it is to be run, its thinking switched off where that is asked for, and the facts about it.

    ModelError when it fails with tools, when it never reads an argument, and when its thinking cannot be switched off.
    """
    reads = _variables_of_the_user(template.source)
    for name in template.arguments:
        _confirm_argument(name, reads)
    shown = shows_tools(template)
    thinking = find_thinking(template, reads)
    if no_thinking:
        template = switched_off(template, thinking)
        thinking = find_thinking(template, reads)
    return template, Facts(shown, thinking, tuple(find_defects(template)) if shown else ())


def _variables_of_the_user(source: str) -> set[str]:
    from loracheck.prompts import templates

    with failing_as_templates_do():
        return templates.variables(source) - set(OWN_VARIABLES)


def _confirm_argument(name: str, reads: set[str]) -> None:
    if name in OWN_VARIABLES:
        raise ModelError(f"the template argument {name} is set by loracheck itself; take it out")
    if name not in reads:
        raise ModelError(f"the model's chat template never reads {name}{_instead(name, reads)}")


def _instead(name: str, reads: set[str]) -> str:
    # Not what a child that renders should wait for.
    from loracheck.cases import did_you_mean

    listed = cut(", ".join(sorted(reads)), 500) if reads else "no variables of the user's"
    return did_you_mean(name, reads) or f"; it reads {listed}"
