"""Bytes of a GGUF file read one value after the other, never past their end: numbers, strings, arrays."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from struct import Struct
from struct import error as StructError  # noqa: N812
from typing import Any, NamedTuple, NoReturn

from loracheck.errors import InputError


class ScalarType(NamedTuple):
    name: str
    layout: Struct


# The numbers that GGUF has for the types of values.
STRING, ARRAY = 8, 9
_U32, _U64 = Struct("<I"), Struct("<Q")
# fmt: off
SCALARS = {
    0: ScalarType("UINT8", Struct("<B")), 1: ScalarType("INT8", Struct("<b")),
    2: ScalarType("UINT16", Struct("<H")), 3: ScalarType("INT16", Struct("<h")),
    4: ScalarType("UINT32", _U32), 5: ScalarType("INT32", Struct("<i")),
    6: ScalarType("FLOAT32", Struct("<f")), 7: ScalarType("BOOL", Struct("<?")),
    10: ScalarType("UINT64", _U64), 11: ScalarType("INT64", Struct("<q")), 12: ScalarType("FLOAT64", Struct("<d")),
}
# fmt: on

# Some files keep a whole tokenizer in one string (tens of MB). A damaged length asks for gigabytes.
MAX_STRING = 64 * 1024 * 1024
# Vocabularies are the long ones, and hardly anybody wants them: they stay in the file.
LONG_ARRAY = 64
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

    def skip(self, count: int, what: str) -> None:
        if count > self.remaining:
            self.truncated(what)
        self.at += count

    def unpack(self, layout: Struct, what: str) -> Any:
        start = self.at
        self.skip(layout.size, what)
        return layout.unpack_from(self.buffer, start)[0]

    def u32(self, what: str) -> int:
        return int(self.unpack(_U32, what))

    def u64(self, what: str) -> int:
        return int(self.unpack(_U64, what))

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
            text = self.buffer[start : self.at].decode("utf-8", "strict" if strict else "replace")
        except UnicodeDecodeError:
            self.fail(f"{what} is not UTF-8")
        if strict and "\0" in text:
            # To C the name ends there, so llama.cpp would read another one.
            self.fail(f"{what} has a null byte in it")
        return text

    def skip_strings(self, count: int, what: str) -> None:
        # The loop a 100,000-word vocabulary spends its time in: no calls but the one it needs.
        buffer, at, unpack = self.buffer, self.at, _U64.unpack_from
        try:
            for _ in range(count):
                at += 8 + unpack(buffer, at)[0]
        except (StructError, OverflowError):
            self.truncated(what)
        self.skip(at - self.at, what)


@dataclass(frozen=True, slots=True)
class LongArray:
    """An array left in the file; `GgufFile.array_item` reads one item of it."""

    kind: int
    count: int
    start: int

    def __len__(self) -> int:
        return self.count


Scalar = str | int | float | bool
Value = Scalar | tuple[Scalar, ...] | LongArray


def read_value(cursor: Cursor, key: str) -> tuple[str, Value]:
    """What kind of value comes next, such as FLOAT32, and the value."""
    kind = cursor.u32(key)
    if kind == ARRAY:
        return "ARRAY", _read_array(cursor, key)
    scalar = _read_scalar(cursor, kind, key)
    return "STRING" if kind == STRING else SCALARS[kind].name, scalar


def _read_scalar(cursor: Cursor, kind: int, key: str) -> Scalar:
    if kind == STRING:
        return cursor.text(key)
    if kind not in SCALARS:
        cursor.fail(f"{key!r} has the unknown value type {kind}")
    value: int | float | bool = cursor.unpack(SCALARS[kind].layout, key)
    return value


def _read_array(cursor: Cursor, key: str) -> Value:
    kind = cursor.u32(key)
    count = cursor.u64(key)
    if kind == ARRAY:
        cursor.fail(f"{key!r} is an array of arrays, which llama.cpp does not read")
    if kind != STRING and kind not in SCALARS:
        cursor.fail(f"{key!r} is an array of the unknown value type {kind}")
    item_bytes = 8 if kind == STRING else SCALARS[kind].layout.size
    if count * item_bytes > cursor.remaining:
        cursor.truncated(f"{key!r}, an array of {count} items")
    if count <= LONG_ARRAY:
        return tuple(_read_scalar(cursor, kind, key) for _ in range(count))
    array = LongArray(kind, count, cursor.at)
    _skip_items(cursor, kind, count, key)
    return array


def read_array_item(cursor: Cursor, array: LongArray, index: int, key: str) -> Scalar:
    """One item of an array that was left in the file."""
    cursor.at = array.start
    _skip_items(cursor, array.kind, index, key)
    return _read_scalar(cursor, array.kind, key)


def hash_array(cursor: Cursor, array: LongArray, key: str) -> str:
    """Of all items of an array that was left in the file, as they are stored there."""
    cursor.at = array.start
    _skip_items(cursor, array.kind, array.count, key)
    digest = sha256(f"{array.kind} {array.count} ".encode())
    digest.update(cursor.buffer[array.start : cursor.at])
    return digest.hexdigest()


def _skip_items(cursor: Cursor, kind: int, count: int, key: str) -> None:
    if kind == STRING:
        cursor.skip_strings(count, key)
    else:
        cursor.skip(count * SCALARS[kind].layout.size, key)
