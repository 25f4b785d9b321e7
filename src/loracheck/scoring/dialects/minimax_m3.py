"""MiniMax M3: a call is a tree of elements, each with a mark in front of its tags."""

from __future__ import annotations

import re
from typing import Any

from loracheck.scoring.dialects.after_mark import scan
from loracheck.scoring.dialects.bare_text import BareText
from loracheck.scoring.dialects.dialect import Call, Dialect
from loracheck.scoring.parse import MAX_NESTING

_MARK = r"\]<\]minimax\[>\["
_TAG = re.compile(rf"{_MARK}<(?P<closes>/?)(?P<name>[^<>]+)>")


def _invocation(text: str, mark: re.Match[str]) -> tuple[list[Call | None], int] | None:
    """Arguments are elements inside the call, and so are the items and fields of their values."""
    names, inside = ["invoke"], [_Elements()]
    position = mark.end()
    for tag in _TAG.finditer(text, position):
        between = text[position : tag.start()]
        position = tag.end()
        if tag["closes"]:
            name, elements = names.pop(), inside.pop()
            if name != tag["name"] or (elements and between.strip()):
                return None
            if not inside:
                return [{"name": mark["name"].strip(), "arguments": dict(elements)}], position
            inside[-1].append((name, elements.value() if elements else BareText(between)))
        elif between.strip() or len(names) > MAX_NESTING or tag["name"].startswith("invoke "):
            return None
        else:
            names.append(tag["name"])
            inside.append(_Elements())
    return None


class _Elements(list[tuple[str, Any]]):
    """What is inside an element, by the names of the tags."""

    def value(self) -> Any:
        is_list = all(name == "item" for name, _ in self)
        return [value for _, value in self] if is_list else dict(self)


MINIMAX_M3 = Dialect(
    "minimax_m3",
    "MiniMax M3 ]<]minimax[>[<invoke name=...>",
    scan(rf'{_MARK}<invoke name="(?P<name>[^"<>]+)">', _invocation, rf"{_MARK}<(?:tool_call|invoke)\b"),
    rf"({_MARK})",
)
