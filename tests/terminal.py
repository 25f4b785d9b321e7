"""A terminal to test in: a program on a pty, and what a person would see of what it writes.

The screen knows the few control sequences that we use and fails on any other.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from select import select
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_SECONDS = 60.0
_TOKEN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|.", re.DOTALL)


@dataclass(slots=True)
class Screen:
    """Rows of letters, as many as are written. Made narrower, it breaks long rows in two, as most terminals do."""

    columns: int
    reflows: bool = True
    rows: list[list[str]] = field(default_factory=lambda: [[]])
    row: int = 0
    column: int = 0
    seen: list[str] = field(default_factory=list)
    """The row of the cursor, as it was each time before it was cleared."""
    wrapped: bool = False
    """Whether anything that was written did not fit on its row."""
    coloured: bool = False

    def feed(self, text: str) -> None:
        for token in _TOKEN.findall(text):
            self._take(token)

    def resize(self, columns: int) -> None:
        self.columns = columns
        if not self.reflows:
            self.rows = [row[:columns] for row in self.rows]
            self.column = min(self.column, columns - 1)
            return
        rows: list[list[str]] = []
        place = (self.row, self.column)
        for number, letters in enumerate(self.rows):
            if number == self.row:
                # The cursor stays at the letter it was at.
                place = (len(rows) + self.column // columns, self.column % columns)
            rows.extend(letters[start : start + columns] for start in range(0, max(1, len(letters)), columns))
        self.rows, (self.row, self.column) = rows, place

    @property
    def lines(self) -> list[str]:
        """Without blanks at the ends, and without empty lines at the bottom."""
        lines = ["".join(row).rstrip() for row in self.rows]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def last(self) -> str:
        return self.lines[-1] if self.lines else ""

    def _take(self, token: str) -> None:
        if token == "\r":
            self.column = 0
        elif token == "\n":
            self.row, self.column = self.row + 1, 0
            if self.row == len(self.rows):
                self.rows.append([])
        elif token == "\x1b[J":
            self.seen.append("".join(self.rows[self.row]))
            self.rows[self.row] = self.rows[self.row][: self.column]
            del self.rows[self.row + 1 :]
        elif token.startswith("\x1b["):
            assert token.endswith("m"), f"a control sequence that the screen does not know: {token!r}"
            self.coloured = True
        else:
            assert token.isprintable(), f"{token!r} on the terminal"
            self._put(token)

    def _put(self, letter: str) -> None:
        if self.column == self.columns:
            self.wrapped = True
            self._take("\n")
            self.column = 0
        row = self.rows[self.row]
        row.extend(" " * (self.column + 1 - len(row)))
        row[self.column] = letter
        self.column += 1


class Running:
    """A Python program whose standard error is a terminal."""

    def __init__(self, process: subprocess.Popen[bytes], terminal: int, screen: Screen) -> None:
        self.process, self._terminal, self.screen = process, terminal, screen

    def resize(self, columns: int) -> None:
        _set_columns(self._terminal, columns)
        self.screen.resize(columns)
        self.process.send_signal(signal.SIGWINCH)

    def read_until(self, is_there: Callable[[Screen], bool]) -> None:
        """Show what the program writes until this holds, or until it has ended."""
        patience = time.monotonic() + _SECONDS
        while not is_there(self.screen):
            assert time.monotonic() < patience, f"not seen: {self.screen.lines}"
            if not select([self._terminal], [], [], 0.05)[0]:
                continue
            try:
                written = os.read(self._terminal, 4096)
            except OSError:
                # Linux has this for the end of what was written.
                written = b""
            if not written:
                return
            # Letters may be cut in two.
            while True:
                try:
                    self.screen.feed(written.decode())
                    break
                except UnicodeDecodeError:
                    written += os.read(self._terminal, 1)

    def read_to_the_end(self) -> int:
        self.read_until(lambda _: False)
        return self.process.wait(_SECONDS)


@contextmanager
def on_a_terminal(
    code: str, folder: Path, *, columns: int = 80, reflows: bool = True, **env: str | None
) -> Iterator[Running]:
    """Python code that runs in `folder` on a terminal of so many columns. An `env` of None is not set."""
    ours, theirs = pty.openpty()
    _set_columns(theirs, columns)
    paths = os.pathsep.join(path for path in sys.path if path)
    unset = {"NO_COLOR": None, "TERM": "xterm-256color", "PYTHONPATH": paths, "PYTHONIOENCODING": "utf-8"}
    changed = {**os.environ, **unset, **env}
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        cwd=folder,
        env={name: value for name, value in changed.items() if value is not None},
    )
    os.close(theirs)
    try:
        yield Running(process, ours, Screen(columns, reflows))
    finally:
        process.kill()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()
        os.close(ours)


def _set_columns(terminal: int, columns: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
