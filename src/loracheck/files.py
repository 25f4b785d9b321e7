"""Files written whole or not at all, read within bounds, and hashed."""

from __future__ import annotations

import hashlib
import os
import select
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedIOBase, BufferedWriter, FileIO
from pathlib import Path

from loracheck.errors import InputError
from loracheck.windows import refuse_on_windows

CONVERTED = "converted"
"""The folder inside the cache for adapters converted on the fly."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary name beside `path`, renamed to it when the block ends well and removed when it does not."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes files only their owner can read; a result is an ordinary file.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_atomically(path: Path, data: bytes) -> None:
    if path.is_symlink() or (path.exists() and not path.is_file()):
        # Renaming over a link, /dev/stdout or a pipe would put a plain file in its place.
        path.write_bytes(data)
        return
    with replacing(path) as temporary:
        temporary.write_bytes(data)


@contextmanager
def only_here(path: Path, waiting: Callable[[int], object]) -> Iterator[BufferedWriter]:
    """A file, made if need be, open to go on, for one process at a time; the others are told how large it gets."""
    while True:
        with path.open("ab") as file:
            while not _locked(file):
                waiting(os.fstat(file.fileno()).st_size)
                time.sleep(_POLL_SECONDS)
            if not _is_still_at(path, file):
                continue
            # It may have grown while we waited.
            file.seek(0, os.SEEK_END)
            yield file
            return


def sweep(paths: Iterable[Path]) -> None:
    """Remove files that were `only_here` for a process which is gone."""
    for path in paths:
        # Not a pipe, which would keep us waiting; and what cannot be removed is not in the way.
        with suppress(OSError):
            if path.is_file():
                with path.open("rb") as file:
                    if _locked(file) and _is_still_at(path, file):
                        path.unlink()


def _locked(file: BufferedIOBase) -> bool:
    refuse_on_windows("a file that processes take turns at")
    # Where there is none, the rest of this module still serves.
    import fcntl

    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still_at(path: Path, file: BufferedIOBase) -> bool:
    """Whether nobody has renamed or removed it since it was opened."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def cache_folder() -> Path:
    """Where answers and the demo's model are kept: LORACHECK_CACHE, or the user's cache folder."""
    # Not needed by most commands, and not free to import.
    from platformdirs import user_cache_path

    moved = os.environ.get("LORACHECK_CACHE")
    return Path(moved).expanduser() if moved else user_cache_path("loracheck", appauthor=False)


# Data sets of tool calls have a few hundred.
MAX_BYTES = 512 * 2**20
# How long a pipe, such as `<(...)`, may stay silent.
PATIENCE_SECONDS = 60.0
SMALLER = "give a smaller one"
ELSEWHERE = "write it elsewhere, or make room there"
MAY_YOU = "is it there, and may you read it?"
_CHUNK = 2**20
_POLL_SECONDS = 0.1


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
        raise error(f"{path}: no such file; check the path") from None
    except IsADirectoryError:
        raise error(f"{path}: this is a folder; name a file in it") from None
    except (OSError, ValueError) as bad:
        # ValueError: a name with a null byte in it.
        raise error(f"{path}: cannot read the file: {getattr(bad, 'strerror', None) or bad}; {MAY_YOU}") from None
    if left < 0:
        raise error(too_large(path, most, fix))
    return b"".join(chunks)


def too_large(path: Path, most: int, fix: str = SMALLER) -> str:
    return f"{path}: larger than {most // 2**20} MB, the most that is read of such a file; {fix}"


def _open_at_once(name: str, flags: int) -> int:
    """A pipe that nobody writes to would keep an ordinary open() waiting."""
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))


def _next_chunk(file: FileIO, path: Path, error: type[InputError]) -> bytes:
    # Windows waits for sockets alone.
    may_wait = sys.platform != "win32" and not stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    while True:
        if may_wait and not select.select([file], [], [], PATIENCE_SECONDS)[0]:
            raise error(f"{path}: nothing came out of this pipe for {PATIENCE_SECONDS:g} s; does anything write to it?")
        chunk = file.read(_CHUNK)
        # None is a pipe that was emptied by somebody else.
        if chunk is not None:
            return chunk


def sha256_of(path: Path, error: type[InputError] = InputError) -> str:
    """The file's SHA-256 in hex."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as problem:
        raise error(f"{path}: cannot read the file: {problem.strerror}; {MAY_YOU}") from problem
    return digest.hexdigest()
