"""How cases are put to a model, and the dialect that they ask for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from loracheck.cases.case import Case
from loracheck.cases.suite import Defaults
from loracheck.errors import ModelError
from loracheck.models.model import ChatTemplate
from loracheck.prompts.chat import WAY_OUT, Asked, in_words
from loracheck.prompts.defects import DEFECTS
from loracheck.prompts.facts import Facts
from loracheck.prompts.rendering import Rendered
from loracheck.prompts.stored import render_once
from loracheck.scoring.dialects import PLAIN, Detection, detect
from loracheck.store import Store

# Many times the longest in use.
_MAX_TEMPLATE = 1_000_000


@dataclass(frozen=True, slots=True)
class PromptFormat:
    """How cases are put to a model: through its chat template, or as bare text."""

    asked: Detection
    """The dialect that the prompts ask for."""
    template: Facts | None = None
    """About the chat template; None where bare text is sent."""
    warnings: tuple[str, ...] = ()
    """What is wrong with the prompts."""

    @property
    def thinks(self) -> bool:
        """Whether the model may think before it answers."""
        return bool(self.template and self.template.thinking and self.template.thinking.on)


def write_prompts(
    template: ChatTemplate | None, cases: Sequence[Case], defaults: Defaults, model: Path, store: Store
) -> tuple[PromptFormat, list[str]]:
    """The texts that the model reads, through its chat template where there is one and nothing else is asked for.

    ModelError when the template does not write them, or does not take what it is given.
    """
    if defaults.prompt == "chat" and template is None:
        raise ModelError(f"{model}: the model has no chat template; use --prompt raw")
    if template is None or defaults.prompt == "raw":
        _confirm_no_template_is_needed(defaults, model)
        texts = ["\n\n".join(turn["content"] for turn in in_words(case.conversation)) for case in cases]
        return PromptFormat(Detection(PLAIN, "prompts are sent as bare text")), texts
    asked = [Asked(case.conversation, [tool.spec() for tool in case.surface]) for case in cases]
    used = replace(template, arguments=defaults.template_args)
    try:
        rendered = _render(store, used, asked, no_thinking=not defaults.thinking)
    except ModelError as error:
        raise ModelError(f"{model}: {error}") from None
    warnings = tuple(f"{model}: about its chat template: {fault}" for fault in _faults(rendered.facts, asked))
    return PromptFormat(_asked_dialect(template, rendered.facts), rendered.facts, warnings), rendered.prompts


def look_at(template: ChatTemplate) -> PromptFormat:
    """How cases would be put to a model with this template; ModelError when it fails."""
    facts = _render(Store(), template, ()).facts
    return PromptFormat(_asked_dialect(template, facts), facts, tuple(DEFECTS[name].sentence for name in facts.defects))


def _render(store: Store, template: ChatTemplate, asked: Sequence[Asked], *, no_thinking: bool = False) -> Rendered:
    if len(template.source) > _MAX_TEMPLATE:
        long = f"{len(template.source):,} characters long, {_MAX_TEMPLATE:,} at the most are run"
        raise ModelError(f"the model's chat template is {long}; {WAY_OUT}")
    return render_once(store, template, asked, no_thinking=no_thinking)


def _asked_dialect(template: ChatTemplate, facts: Facts) -> Detection:
    """The template's own where it shows the tools, plain JSON where they are added to its text."""
    if facts.shows_tools:
        return detect(template.source)
    return Detection(PLAIN, "the chat template does not show tools, so they are added to its text")


def _faults(facts: Facts, asked: Sequence[Asked]) -> Iterator[str]:
    """The defects that these prompts suffer from."""
    for defect in (DEFECTS[name] for name in facts.defects):
        if any(map(defect.concerns, asked)):
            yield defect.sentence


def _confirm_no_template_is_needed(defaults: Defaults, model: Path) -> None:
    if defaults.template_args or not defaults.thinking:
        given = "template arguments" if defaults.template_args else "--no-thinking"
        raise ModelError(f"{model}: no chat template is used, for prompts are sent as bare text; leave out {given}")
