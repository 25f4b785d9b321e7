"""One line on standard error that is drawn over and over: a bar with words around it, in whatever room there is.

After every drawing the cursor goes back to where the line begins. A terminal that is made narrower breaks the line in
two and keeps the cursor where it was, so that clearing from there to the end of the screen takes all of it away; one
that cuts the line instead is cleared by the same.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence

_COLUMNS = 80
_LEAST_BAR, _MOST_BAR = 10, 40
_GAP = "  "

# Faster than this nobody reads.
_SECONDS = 0.1

_CLEAR = "\r\x1b[J"
_COLOUR, _FAINT, _PLAIN = "\x1b[36m", "\x1b[2m", "\x1b[0m"


class StatusLine:
    """On a terminal; in a notebook, which knows `\\r` alone, it is written over with blanks."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._has_colours = self._is_terminal and not os.environ.get("NO_COLOR")
        self._full, self._empty = _strokes(sys.stderr.encoding)
        self._shown = ""
        self._drawn = 0.0
        if sys.platform == "win32":
            import colorama

            # An older console takes control sequences only when it is told to.
            colorama.just_fix_windows_console()

    def show(self, forms: Sequence[Sequence[str]], share: float | None = None, *, can_wait: bool = False) -> None:
        """Draw the first form that has room for its words and a bar, else the last as far as it goes.

        A form is words; the bar, where there is a `share` to show, comes after the first. What `can_wait` is not drawn
        right after something else was: more of it will follow.
        """
        now = time.monotonic()
        if can_wait and now - self._drawn < _SECONDS:
            return
        self._drawn = now
        # A line as long as the terminal is wide would move the cursor to the next one.
        room = self._columns() - 1
        words = [[word for word in form if word] for form in forms]
        needed = [len(_GAP.join(form)) + (len(_GAP) + _LEAST_BAR if share is not None else 0) for form in words]
        chosen = next((form for form, need in zip(words, needed, strict=True) if need <= room), words[-1])
        bar = min(_MOST_BAR, room - len(_GAP.join(chosen)) - len(_GAP))
        if share is None or bar < _LEAST_BAR:
            self._draw(_GAP.join(chosen)[:room])
        else:
            self._draw(_GAP.join((chosen[0], self._bar(share, bar), *chosen[1:])))

    def clear(self) -> None:
        if self._shown:
            self._write(_CLEAR if self._is_terminal else f"\r{' ' * len(self._shown)}\r")
            self._shown = ""

    def _draw(self, line: str) -> None:
        # What is left of a longer line in a notebook is written over.
        self._write(f"{_CLEAR}{line}\r" if self._is_terminal else f"\r{line.ljust(len(self._shown))}")
        self._shown = line

    def _bar(self, share: float, width: int) -> str:
        filled = int(max(0.0, min(1.0, share)) * width)
        full, empty = self._full * filled, self._empty * (width - filled)
        return f"{_COLOUR}{full}{_PLAIN}{_FAINT}{empty}{_PLAIN}" if self._has_colours else full + empty

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(sys.stderr.fileno()).columns or _COLUMNS
        except (OSError, ValueError):
            return _COLUMNS

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


def can_draw() -> bool:
    """Whether standard error is a terminal that can clear a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _strokes(encoding: str | None) -> tuple[str, str]:
    """A full and an empty cell of a bar, such as the encoding has."""
    try:
        "━╌".encode(encoding or "ascii")
    except (UnicodeError, LookupError):
        return "#", "-"
    return "━", "╌"
