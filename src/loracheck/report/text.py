"""Model output made safe to look at, and numbers made easy to read."""

from __future__ import annotations

import unicodedata

# Control, format (bidi marks among them), surrogate, private-use and line-breaking characters can rewrite a terminal.
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def visible(text: str) -> str:
    """The text with every character that could act on a terminal written as an escape; newlines as ⏎."""
    return "".join(
        "⏎" if char == "\n" else _escape(char) if unicodedata.category(char) in _UNSEEN else char for char in text
    )


# Numbers come out of report files, which may be old, or edited by hand: what is none is shown as a dash.


def percent(rate: object, digits: int = 1) -> str:
    return f"{rate:.{digits}%}" if isinstance(rate, float | int) else "–"


def points(delta: object) -> str:
    return f"{100 * delta:+.1f} pt" if isinstance(delta, float | int) else "–"


def signed(number: object) -> str:
    return f"{number:+.1f}" if isinstance(number, float | int) else "–"


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
