"""llama.cpp's own log: kept off the screen, and at hand when a load fails, for it is the only explanation there is."""

from __future__ import annotations

import ctypes
import os
from collections import deque
from typing import Any

from loracheck.engine.native import llama_cpp

_WARN, _ERROR = 2, 3

_lines: deque[tuple[int, str]] = deque(maxlen=400)
_echo = False


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _keep(level: int, text: bytes, _user_data: Any) -> None:
    # A callback that raises would print a traceback from inside ctypes: decode cannot fail here.
    _lines.append((level, text.decode("utf-8", "replace").strip()))
    if _echo:
        os.write(2, text)


def capture() -> None:
    """Send llama.cpp's log here from now on (for the whole process: llama.cpp has one log)."""
    llama_cpp.llama_log_set(_keep, ctypes.c_void_p(0))


def echo_to_stderr() -> None:
    """Also write it where it outlives a crash."""
    global _echo
    _echo = True


def forget() -> None:
    _lines.clear()


def last_words(limit: int = 4) -> str:
    """The last warnings and errors, or, when there are none, the last lines of any kind."""
    serious = [text for level, text in _lines if level in (_WARN, _ERROR) and text]
    lines = serious or [text for _, text in _lines if text]
    return "\n".join(f"  llama.cpp: {line}" for line in lines[-limit:])
