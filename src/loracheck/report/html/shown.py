"""Text and numbers for the page: what would act on the reader's screen is an escape, and long texts are cut."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup, escape

from loracheck.report import text as plain
from loracheck.report.text import visible


def one_line(value: object) -> str:
    """Every value the templates print goes through here; markup of our own making stays as it is."""
    return value if isinstance(value, Markup) else visible(str(value))


def lines(text: str) -> Markup:
    """The text with its line breaks kept; escapes stand out, so that they are not taken for letters of the text."""
    return Markup("\n").join(_line(line) for line in text.split("\n"))


def _line(line: str) -> Markup:
    if line.isprintable():
        # True for almost every line, and much faster than looking at each character.
        return escape(line)
    return Markup("").join(
        escape(run) if seen else Markup("<i class=escape>{}</i>").format(visible(run))
        for seen, run in ((seen, "".join(chars)) for seen, chars in groupby(line, _is_seen))
    )


def _is_seen(char: str) -> bool:
    return char == "\t" or visible(char) == char


@dataclass(frozen=True, slots=True)
class Excerpt:
    text: str
    length: int
    """How long the whole text is."""

    @property
    def cut(self) -> bool:
        return len(self.text) < self.length


def excerpt(text: str, limit: int) -> Excerpt:
    return Excerpt(text[:limit], len(text))


def points(delta: object) -> str:
    return minus(plain.points(delta))


def signed(value: object) -> str:
    return minus(plain.signed(value))


def minus(text: str) -> str:
    """Hyphens before a figure as the minus they are meant to be."""
    return re.sub(r"-(?=\d)", "−", text)
