"""Model output made safe to look at, and numbers made easy to read."""

from __future__ import annotations

import unicodedata

from loracheck.report.evidence import number

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


# Numbers come out of report files, which may be old, or edited by hand: what is none is shown as a dash.


def percent(rate: object, digits: int = 1) -> str:
    found = number(rate)
    return "–" if found is None else f"{found:.{digits}%}"


def points(delta: object, digits: int = 1) -> str:
    found = number(delta)
    return "–" if found is None else f"{100 * found:+.{digits}f} pt"


def signed(value: object) -> str:
    found = number(value)
    return "–" if found is None else f"{found:+.1f}"


def small(value: object) -> str:
    """A probability, or a distance that is mostly near 0."""
    found = number(value)
    return "–" if found is None else f"{found:.2g}"


def _is_unseen(char: str) -> bool:
    # The last two of every plane, and a few more, are no characters at all; XML refuses some of them.
    code = ord(char)
    return unicodedata.category(char) in _UNSEEN or code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
