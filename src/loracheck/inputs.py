"""Files from outside, read within bounds: they may be huge, endless, silent, or no text at all."""

from __future__ import annotations

import os
import select
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from io import FileIO
    from pathlib import Path

    from loracheck.errors import InputError

# Data sets of tool calls have a few hundred.
MAX_BYTES = 512 * 2**20
# How long a pipe, such as `<(...)`, may stay silent.
PATIENCE_SECONDS = 60.0
SMALLER = "give a smaller one"
_CHUNK = 2**20


def read_text(path: Path, error: type[InputError], most: int = MAX_BYTES, fix: str = SMALLER) -> str:
    """A text in UTF-8, with or without a byte order mark; every line ends with a plain newline."""
    try:
        text = read_bytes(path, error, most, fix).decode("utf-8-sig")
    except UnicodeDecodeError as bad:
        raise error(f"{path}: not UTF-8 text (byte {bad.start}); save it as UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_bytes(path: Path, error: type[InputError], most: int = MAX_BYTES, fix: str = SMALLER) -> bytes:
    """All of a file of `most` bytes at the most. Pipes and devices are read as well, as long as something comes."""
    chunks: list[bytes] = []
    left = most
    try:
        with open(path, "rb", buffering=0, opener=_open_at_once) as file:
            while left >= 0 and (chunk := _next_chunk(file, path, error)):
                chunks.append(chunk)
                left -= len(chunk)
    except FileNotFoundError:
        raise error(f"{path}: no such file") from None
    except IsADirectoryError:
        raise error(f"{path}: a folder, not a file") from None
    except (OSError, ValueError) as bad:
        # ValueError: a name with a null byte in it.
        raise error(f"{path}: {getattr(bad, 'strerror', None) or bad}") from None
    if left < 0:
        raise error(f"{path}: larger than {most // 2**20} MB, the most that is read of such a file; {fix}")
    return b"".join(chunks)


def _open_at_once(name: str, flags: int) -> int:
    """A pipe that nobody writes to would keep an ordinary open() waiting."""
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))


def _next_chunk(file: FileIO, path: Path, error: type[InputError]) -> bytes:
    may_wait = os.name == "posix" and not stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    while True:
        if may_wait and not select.select([file], [], [], PATIENCE_SECONDS)[0]:
            raise error(f"{path}: nothing came out of this pipe for {PATIENCE_SECONDS:g} s; does anything write to it?")
        chunk = file.read(_CHUNK)
        # None is a pipe that was emptied by somebody else.
        if chunk is not None:
            return chunk
