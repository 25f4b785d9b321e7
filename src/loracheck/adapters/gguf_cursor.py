"""A position in a file's bytes that only moves inside of them."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from struct import error as StructError  # noqa: N812
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import mmap
    from pathlib import Path

    from loracheck.errors import InputError

_U32 = Struct("<I")
_U64 = Struct("<Q")

# Some files keep a whole tokenizer in one string (tens of MB). A damaged length asks for gigabytes.
MAX_STRING = 64 * 1024 * 1024
FETCH_AGAIN = "it is damaged: download or write it again"


@dataclass(slots=True)
class Cursor:
    """Reads little-endian values one after the other; what does not fit raises `error`."""

    buffer: mmap.mmap
    path: Path
    error: type[InputError]
    at: int = 0

    @property
    def size(self) -> int:
        return len(self.buffer)

    @property
    def remaining(self) -> int:
        return self.size - self.at

    def fail(self, what: str, fix: str = FETCH_AGAIN) -> NoReturn:
        raise self.error(f"{self.path}: {what}; {fix}")

    def truncated(self, what: str) -> NoReturn:
        self.fail(f"the file ends after {self.size} bytes, inside {what}", "download or write it again")

    def peek(self, count: int) -> bytes:
        return self.buffer[self.at : self.at + count]

    def skip(self, count: int, what: str) -> None:
        if count > self.remaining:
            self.truncated(what)
        self.at += count

    def unpack(self, layout: Struct, what: str) -> Any:
        start = self.at
        self.skip(layout.size, what)
        return layout.unpack_from(self.buffer, start)[0]

    def u32(self, what: str) -> int:
        value: int = self.unpack(_U32, what)
        return value

    def u64(self, what: str) -> int:
        value: int = self.unpack(_U64, what)
        return value

    def text(self, what: str, *, strict: bool = False) -> str:
        """A string. Names must be UTF-8 (strict); values may hold anything, as real tokens do."""
        length = self.u64(what)
        if length > self.remaining:
            self.truncated(what)
        if length > MAX_STRING:
            self.fail(f"{what} is {length} bytes long")
        start = self.at
        self.at += length
        try:
            found = self.buffer[start : self.at].decode("utf-8", "strict" if strict else "replace")
        except UnicodeDecodeError:
            self.fail(f"{what} is not UTF-8")
        if strict and "\0" in found:
            # To C the name ends there, so llama.cpp would read another one.
            self.fail(f"{what} has a null byte in it")
        return found

    def skip_strings(self, count: int, what: str) -> None:
        # The loop a 100,000-word vocabulary spends its time in: no calls but the one it needs.
        buffer, at, unpack = self.buffer, self.at, _U64.unpack_from
        try:
            for _ in range(count):
                at += 8 + unpack(buffer, at)[0]
        except (StructError, OverflowError):
            self.truncated(what)
        self.skip(at - self.at, what)
