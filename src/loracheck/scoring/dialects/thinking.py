"""What a model thinks aloud, told apart from what it answers."""

from __future__ import annotations

import re

_TAG = r"(?:seed:|mm:|longcat_)?think(?:ing)?(?::\w{1,32})?"

_CLOSING = {
    "[THINK]": "[/THINK]",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "<|open|>think<|sep|>": "<|close|>think<|sep|>",
    "<|channel>thought": "<channel|>",
    "<|channel|>analysis<|message|>": "<|end|>",
    "<|think|>": "<|end|>",
    "<|content_thinking|>": "<|end_message|>",
    "to=self<|message|>": "<|eom|>",
}
"""The mark that ends what another begins, where they are no tags."""

_ENDS_THINKING = {
    "[/THINK]",
    "<|END_THINKING|>",
    "<|inner_suffix|>",
    "<|close|>think<|sep|>",
    "<channel|>",
    "[BEGIN FINAL RESPONSE]",
}
"""Marks that end nothing else, as the end of a message does."""

# What goes to a tool is a call, whatever channel it is on.
_TO_A_TOOL = r"to=(?!assistant\b)[\w.-]+\s*<\|channel\|>analysis<\|message\|>"


def _any_of(marks: set[str], first: str) -> str:
    return "|".join(re.escape(mark[1:]) for mark in sorted(marks) if mark[0] == first)


# By their first characters: in a text of nothing but brackets, each of them is looked at.
_MARKS = re.compile(
    rf"<(?=[a-z/|])(?:(?P<tag>{_TAG})>|/{_TAG}>|{_any_of({*_CLOSING, *_ENDS_THINKING}, '<')})"
    rf"|\[(?:{_any_of({*_CLOSING, *_ENDS_THINKING}, '[')})"
    rf"|to=self<\|message\|>|{_TO_A_TOOL}"
)
_OPEN_AT_THE_END = re.compile(rf"(?:<{_TAG}>|{'|'.join(map(re.escape, _CLOSING))}|Here are my reasoning steps:)\s*\Z")


def split_thinking(text: str, *, thinking: bool = False) -> tuple[str, str | None]:
    """The answer, stripped, without what is thought aloud; and the thinking at its end that is never closed.

    Templates often open the thinking in the prompt, so a first mark that closes ends it. With `thinking` the
    prompt is known to have done so, and without such a mark all of the text is thought.
    """
    start = _end_of_the_prompts_thinking(text, thinking=thinking)
    if start is None:
        return "", text
    kept: list[str] = []
    position = start
    while mark := _MARKS.search(text, position):
        position = mark.end()
        closing = _closing(mark)
        if closing is None:
            continue
        kept.append(text[start : mark.start()])
        end = text.find(closing, position)
        if end < 0:
            return "".join(kept).strip(), text[mark.start() :]
        start = position = end + len(closing)
    kept.append(text[start:])
    return "".join(kept).strip(), None


def cut_off_in_thinking(text: str, *, thinking: bool = False) -> bool:
    """Whether an answer ends before its thinking does; with `thinking` the prompt has opened that."""
    return split_thinking(text, thinking=thinking)[1] is not None


def opens_thinking(prompt: str) -> bool:
    """Whether a prompt ends with thinking left open."""
    return _OPEN_AT_THE_END.search(prompt) is not None


def _end_of_the_prompts_thinking(text: str, *, thinking: bool) -> int | None:
    """0 where it seems to have opened none, None where that is never closed."""
    for mark in _MARKS.finditer(text):
        if mark[0] in _ENDS_THINKING or mark[0].startswith("</"):
            return mark.end()
        if not thinking and _closing(mark):
            return 0
    return None if thinking else 0


def _closing(mark: re.Match[str]) -> str | None:
    """What ends the thinking that a mark opens; None for a mark that opens none."""
    return f"</{mark['tag']}>" if mark["tag"] else _CLOSING.get(mark[0])
