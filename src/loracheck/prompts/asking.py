"""How cases are put to a model, and in which dialect it should answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from loracheck.errors import ModelError
from loracheck.prompts.chat import WAY_OUT, in_words
from loracheck.prompts.rendering import render_apart
from loracheck.scoring.dialects import PLAIN, Detection, detect

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from loracheck.prompts.chat import ChatTemplate
    from loracheck.suite.case import Case

# Many times the longest in use.
_MAX_TEMPLATE = 1_000_000


@dataclass(frozen=True, slots=True)
class Asking:
    template: ChatTemplate | None
    """None sends the prompt's bare text."""
    dialect: Detection

    def write(self, cases: Sequence[Case]) -> list[str]:
        """The texts the model reads."""
        if self.template is None:
            return ["\n\n".join(turn["content"] for turn in in_words(case.conversation)) for case in cases]
        return render_apart(
            self.template, [(case.conversation, [tool.spec() for tool in case.surface]) for case in cases]
        )


def way_of_asking(
    template: ChatTemplate | None, prompt: Literal["chat", "raw"] | None, dialect: str, model: Path
) -> Asking:
    """Through the model's chat template where there is one and nothing else is asked for."""
    if prompt == "chat" and template is None:
        raise ModelError(f"{model}: the model has no chat template; use --prompt raw")
    used = None if prompt == "raw" else template
    if used and len(used.source) > _MAX_TEMPLATE:
        long = f"{len(used.source):,} characters long, {_MAX_TEMPLATE:,} at the most are run"
        raise ModelError(f"{model}: the model's chat template is {long}; {WAY_OUT}")
    if dialect != "auto":
        return Asking(used, Detection(dialect, "it was asked for"))
    return Asking(used, detect(used.source) if used else Detection(PLAIN, "prompts are sent as bare text"))
