"""How cases are put to a model, and the dialect it should answer in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from loracheck.cases.case import Case
from loracheck.errors import ModelError
from loracheck.models.model import ChatTemplate
from loracheck.prompts.chat import WAY_OUT, in_words
from loracheck.prompts.rendering import render_apart
from loracheck.scoring.dialects import PLAIN, Detection, detect

# Many times the longest in use.
_MAX_TEMPLATE = 1_000_000


@dataclass(frozen=True, slots=True)
class PromptFormat:
    """How cases are put to a model: through its chat template, or as bare text."""

    model: Path
    """Whose template it is."""
    template: ChatTemplate | None
    """None sends the prompt's bare text."""
    dialect: Detection
    """How answers are read."""

    def write(self, cases: Sequence[Case]) -> list[str]:
        """The texts the model reads; ModelError when its template does not write them."""
        if self.template is None:
            return ["\n\n".join(turn["content"] for turn in in_words(case.conversation)) for case in cases]
        asked = [(case.conversation, [tool.spec() for tool in case.surface]) for case in cases]
        try:
            return render_apart(self.template, asked)
        except ModelError as error:
            raise ModelError(f"{self.model}: {error}") from None


def prompt_format(
    template: ChatTemplate | None, prompt: Literal["chat", "raw"] | None, dialect: str, model: Path
) -> PromptFormat:
    """Through the model's chat template where there is one and nothing else is asked for."""
    if prompt == "chat" and template is None:
        raise ModelError(f"{model}: the model has no chat template; use --prompt raw")
    used = None if prompt == "raw" else template
    if used and len(used.source) > _MAX_TEMPLATE:
        long = f"{len(used.source):,} characters long, {_MAX_TEMPLATE:,} at the most are run"
        raise ModelError(f"{model}: the model's chat template is {long}; {WAY_OUT}")
    if dialect != "auto":
        return PromptFormat(model, used, Detection(dialect, "it was asked for"))
    detected = detect(used.source) if used else Detection(PLAIN, "prompts are sent as bare text")
    return PromptFormat(model, used, detected)
