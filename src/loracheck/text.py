"""Model output made safe to look at, and numbers made easy to read."""

from __future__ import annotations

import unicodedata

# Control, format (bidi marks among them), surrogate, private-use and line-breaking characters can rewrite a terminal.
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def visible(text: str) -> str:
    """The text with every character that could act on a terminal written as an escape; newlines as ⏎."""
    return "".join("⏎" if char == "\n" else _escape(char) if _is_unseen(char) else char for char in text)


def visible_lines(text: str) -> str:
    """The same, but newlines stay newlines."""
    return "\n".join(map(visible, text.split("\n")))


def cut(text: str, letters: int) -> str:
    """The beginning of a text that may be a megabyte, saying how much more there is."""
    return text if len(text) <= letters else f"{text[:letters]}… ({len(text) - letters:,} more characters)"


def counted(many: int, noun: str) -> str:
    return f"{many} {noun}{'' if many == 1 else 's'}"


# What is not known is a dash.


def percent(rate: float | None, digits: int = 1) -> str:
    return "–" if rate is None else f"{rate:.{digits}%}"


def points(delta: float | None, digits: int = 1) -> str:
    return "–" if delta is None else f"{100 * delta:+.{digits}f} pt"


def signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.1f}"


def small(value: float | None) -> str:
    """A probability, or a distance that is mostly near 0."""
    return "–" if value is None else f"{value:.2g}"


def _is_unseen(char: str) -> bool:
    # The last two of every plane, and a few more, are no characters at all; XML refuses some of them.
    code = ord(char)
    return unicodedata.category(char) in _UNSEEN or code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
