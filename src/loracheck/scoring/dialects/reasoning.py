"""What a model thinks aloud is not its answer."""

from __future__ import annotations

import re

_HARMONY_END = "<|end|>"
_MARKS = re.compile(
    r"(?P<opens><(?:seed:|mm:)?think>|<thinking>|\[THINK\]|<\|START_THINKING\|>|<\|channel>thought"
    r"|<\|channel\|>analysis<\|message\|>)"
    r"|</(?:seed:|mm:)?think>|</thinking>|\[/THINK\]|<\|END_THINKING\|>|<channel\|>|<\|end\|>"
)


def without_reasoning(text: str) -> str:
    """The answer, stripped, without what is between thinking marks.

    Templates often open the thinking in the prompt, so a first mark that closes ends it. Thinking
    that is never closed was cut off, and leaves no answer.
    """
    kept: list[str] = []
    start = 0
    thinking = False
    for number, mark in enumerate(_MARKS.finditer(text)):
        if mark["opens"]:
            if not thinking:
                kept.append(text[start : mark.start()])
            thinking = True
        elif thinking or (number == 0 and mark[0] != _HARMONY_END):
            # Other models end every turn with Harmony's mark.
            start = mark.end()
            thinking = False
    if not thinking:
        kept.append(text[start:])
    return "".join(kept).strip()
