"""Metadata values of a GGUF file: scalars, strings, and arrays of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from loracheck.adapters.gguf_types import ARRAY, SCALARS, STRING

if TYPE_CHECKING:
    from loracheck.adapters.gguf_cursor import Cursor

# Vocabularies are the long ones, and hardly anybody wants them: they stay in the file.
LONG_ARRAY = 64


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


def kind_name(kind: int) -> str:
    names = {STRING: "STRING", ARRAY: "ARRAY"}
    return SCALARS[kind].name if kind in SCALARS else names.get(kind, str(kind))


def read_scalar(cursor: Cursor, kind: int, key: str) -> Scalar:
    if kind == STRING:
        return cursor.text(key)
    if kind not in SCALARS:
        cursor.fail(f"{key!r} has the unknown value type {kind}")
    value: int | float | bool = cursor.unpack(SCALARS[kind].layout, key)
    return value


def read_array(cursor: Cursor, key: str) -> Value:
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
        return tuple(read_scalar(cursor, kind, key) for _ in range(count))
    array = LongArray(kind, count, cursor.at)
    if kind == STRING:
        cursor.skip_strings(count, key)
    else:
        cursor.skip(count * item_bytes, key)
    return array


def read_array_item(cursor: Cursor, array: LongArray, index: int, key: str) -> Scalar:
    """One item of an array that was left in the file."""
    cursor.at = array.start
    if array.kind == STRING:
        cursor.skip_strings(index, key)
    else:
        cursor.skip(index * SCALARS[array.kind].layout.size, key)
    return read_scalar(cursor, array.kind, key)
