"""Model output made safe to look at, and numbers made easy to read."""

from __future__ import annotations

import unicodedata

# Control, format (bidi marks among them), surrogate, private-use and line-breaking characters can rewrite a terminal.
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}

_MOST_DECIMALS = 4


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


def byte_size(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def duration(seconds: float) -> str:
    """To two figures or so: `8 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    if seconds < 600:
        minutes, rest = divmod(round(seconds / 10) * 10, 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


# What is not known is a dash.


def percent(rate: float | None, digits: int = 1) -> str:
    return "–" if rate is None else f"{rate:.{digits}%}"


def points(delta: float | None, digits: int = 1) -> str:
    return "–" if delta is None else f"{signed(100 * delta, digits)} points"


def interval_points(low: float, high: float) -> str:
    """Both ends of the interval of a change, in points: `-39 to -7`, but `-13.8 to -0.2` where one is near 0."""
    digits = max(_decimals(100 * end, 0) for end in (low, high))
    return f"{signed(100 * low, digits)} to {signed(100 * high, digits)}"


def signed(value: float | None, digits: int = 1) -> str:
    """With more digits where it would pass for 0 and is not."""
    if value is None:
        return "–"
    digits = _decimals(value, digits)
    # Adding 0.0 takes the minus off a zero.
    return f"{round(value, digits) + 0.0:+.{digits}f}"


def small(value: float | None) -> str:
    """A probability, or a distance that is mostly near 0."""
    return "–" if value is None else f"{value:.2g}"


def _decimals(value: float, at_least: int) -> int:
    """As many as show which side of 0 it is on; a rounding error is on none."""
    return next((digits for digits in range(at_least, _MOST_DECIMALS + 1) if round(value, digits)), at_least)


def _is_unseen(char: str) -> bool:
    # The last two of every plane, and a few more, are no characters at all; XML refuses some of them.
    code = ord(char)
    return unicodedata.category(char) in _UNSEEN or code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
