"""GGUF files: their metadata and their list of tensors, read fast and without trusting a byte.

The checks are those of llama.cpp's own reader. Each failure says what is wrong and what to do,
because llama.cpp itself answers with a null pointer.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import NamedTuple

from loracheck.errors import InputError
from loracheck.files import MAY_YOU
from loracheck.models.gguf_cursor import Cursor, LongArray, Scalar, Value, hash_array, read_array_item, read_value
from loracheck.models.identify import describe_bytes, describe_folder

MAX_COUNT = 1_000_000
MAX_DIMS = 4
MAX_TENSOR_NAME = 63
MAX_ELEMENTS = 2**63 - 1
MAX_ALIGNMENT = 2**20


class TensorType(NamedTuple):
    name: str
    block: int
    """How many elements share one block; rows are whole blocks."""
    block_bytes: int


# By the numbers that GGUF has for them. Gaps are types that llama.cpp once had and removed.
# fmt: off
TENSOR_TYPES = {
     0: TensorType("F32", 1, 4),         1: TensorType("F16", 1, 2),         2: TensorType("Q4_0", 32, 18),
     3: TensorType("Q4_1", 32, 20),      6: TensorType("Q5_0", 32, 22),      7: TensorType("Q5_1", 32, 24),
     8: TensorType("Q8_0", 32, 34),      9: TensorType("Q8_1", 32, 36),     10: TensorType("Q2_K", 256, 84),
    11: TensorType("Q3_K", 256, 110),   12: TensorType("Q4_K", 256, 144),   13: TensorType("Q5_K", 256, 176),
    14: TensorType("Q6_K", 256, 210),   15: TensorType("Q8_K", 256, 292),   16: TensorType("IQ2_XXS", 256, 66),
    17: TensorType("IQ2_XS", 256, 74),  18: TensorType("IQ3_XXS", 256, 98), 19: TensorType("IQ1_S", 256, 50),
    20: TensorType("IQ4_NL", 32, 18),   21: TensorType("IQ3_S", 256, 110),  22: TensorType("IQ2_S", 256, 82),
    23: TensorType("IQ4_XS", 256, 136), 24: TensorType("I8", 1, 1),         25: TensorType("I16", 1, 2),
    26: TensorType("I32", 1, 4),        27: TensorType("I64", 1, 8),        28: TensorType("F64", 1, 8),
    29: TensorType("IQ1_M", 256, 56),   30: TensorType("BF16", 1, 2),       34: TensorType("TQ1_0", 256, 54),
    35: TensorType("TQ2_0", 256, 66),   39: TensorType("MXFP4", 32, 17),    40: TensorType("NVFP4", 64, 36),
    41: TensorType("Q1_0", 128, 18),    42: TensorType("Q2_0", 64, 18),
}
# fmt: on


@dataclass(frozen=True, slots=True)
class TensorInfo:
    name: str
    dims: tuple[int, ...]
    """In ggml's order (`ne`): the fastest dimension, a row's length, comes first."""
    type: str
    """Such as "F16"."""
    offset: int
    """Where the data starts, counted from `GgufFile.data_offset`."""
    nbytes: int

    @property
    def shape(self) -> tuple[int, ...]:
        """In numpy's order: the dims backwards."""
        return self.dims[::-1]

    def dim(self, index: int) -> int:
        """One of ggml's four dims: those a tensor does not have are 1."""
        return self.dims[index] if index < len(self.dims) else 1


@dataclass(frozen=True, slots=True)
class GgufFile:
    """What a GGUF file says about itself, without the tensors' data."""

    path: Path
    version: int
    metadata: Mapping[str, Value]
    kinds: Mapping[str, str]
    """How each value is stored ("FLOAT32"): llama.cpp aborts on a kind it does not expect."""
    tensors: tuple[TensorInfo, ...]
    data_offset: int
    size: int
    error: type[InputError] = field(default=InputError, repr=False, compare=False)
    """What to raise when this file turns out to be wrong."""

    def text(self, key: str) -> str | None:
        value = self.metadata.get(key)
        return value if isinstance(value, str) else None

    def whole_number(self, key: str) -> int | None:
        value = self.metadata.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def array_length(self, key: str) -> int | None:
        value = self.metadata.get(key)
        return len(value) if isinstance(value, (tuple, LongArray)) else None

    def array_item(self, key: str, index: int) -> Scalar | None:
        """One item of an array, or None where there is no such array or item."""
        value = self.metadata.get(key)
        if not isinstance(value, (tuple, LongArray)) or not 0 <= index < len(value):
            return None
        if isinstance(value, tuple):
            return value[index]
        with _mapped(self.path, self.error) as cursor:
            return read_array_item(cursor, value, index, key)

    def array_hash(self, key: str) -> str | None:
        """Equal for arrays with the same items, wherever their file is; None where there is no such array."""
        value = self.metadata.get(key)
        if not isinstance(value, (tuple, LongArray)):
            return None
        if isinstance(value, tuple):
            return sha256(repr(value).encode("utf-8", "replace")).hexdigest()
        with _mapped(self.path, self.error) as cursor:
            return hash_array(cursor, value, key)


def read_header(path: Path, error: type[InputError] = InputError) -> GgufFile:
    """The header of a GGUF file. Whatever the bytes are, the only exception is `error`."""
    with _mapped(path, error) as cursor:
        return _parse(cursor)


@contextmanager
def _mapped(path: Path, error: type[InputError]) -> Iterator[Cursor]:
    try:
        if path.is_dir():
            raise error(f"{path}: {describe_folder(path, error)}")
        if not path.exists():
            raise error(f"{path}: there is no such file; check the path")
        if not path.is_file():
            raise error(f"{path}: this is not a regular file; name a GGUF file on disk")
        if not path.stat().st_size:
            raise error(f"{path}: the file is empty; download or write it again")
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as buffer:
            yield Cursor(buffer, path, error)
    except (OSError, ValueError) as problem:
        # ValueError: a path with a null byte in it, or a file emptied since we looked.
        reason = getattr(problem, "strerror", None) or problem
        raise error(f"{path}: cannot read the file: {reason}; {MAY_YOU}") from problem


def _parse(cursor: Cursor) -> GgufFile:
    version = _version(cursor)
    tensor_count = _count(cursor, "tensors", at_least_bytes=24)
    value_count = _count(cursor, "metadata values", at_least_bytes=13)
    metadata: dict[str, Value] = {}
    kinds: dict[str, str] = {}
    for number in range(value_count):
        key = cursor.text(f"the key of metadata value {number + 1}", strict=True)
        if not key:
            cursor.fail(f"metadata value {number + 1} has no key")
        if key in metadata:
            cursor.fail(f"the metadata key {key!r} appears twice")
        kinds[key], metadata[key] = read_value(cursor, key)
    alignment = _alignment(cursor, metadata, kinds)
    tensors: dict[str, TensorInfo] = {}
    expected = 0
    for number in range(tensor_count):
        tensor = _tensor(cursor, number)
        if tensor.name in tensors:
            cursor.fail(f"the tensor {tensor.name!r} appears twice")
        # llama.cpp takes only tensors packed one after the other, so gaps are as wrong as overlaps.
        if tensor.offset != expected:
            cursor.fail(f"the tensor {tensor.name!r} is at {tensor.offset}, not at {expected}")
        expected += _padded(tensor.nbytes, alignment)
        tensors[tensor.name] = tensor
    data_offset = _padded(cursor.at, alignment) if tensors else cursor.at
    for tensor in tensors.values():
        end = data_offset + tensor.offset + tensor.nbytes
        if end > cursor.size:
            cursor.truncated(f"the data of {tensor.name!r} (which would end at byte {end})")
    _check_nothing_follows(cursor, data_offset + expected)
    packed = tuple(tensors.values())
    return GgufFile(cursor.path, version, metadata, kinds, packed, data_offset, cursor.size, cursor.error)


def _version(cursor: Cursor) -> int:
    head = cursor.buffer[:4096]
    if head[:4] != b"GGUF":
        raise cursor.error(f"{cursor.path}: {describe_bytes(cursor.path, head, cursor.size)}")
    cursor.skip(4, "the first four bytes")
    version = cursor.u32("the version")
    if version and not version & 0xFFFF:
        cursor.fail("this GGUF file is big-endian", "get or convert the little-endian one")
    if version not in (2, 3):
        cursor.fail(f"this is GGUF version {version}, and only 2 and 3 can be read", "convert the original again")
    return version


def _count(cursor: Cursor, what: str, at_least_bytes: int) -> int:
    count = cursor.u64(f"the number of {what}")
    if count > MAX_COUNT or count * at_least_bytes > cursor.remaining:
        cursor.fail(f"{count} {what} do not fit in {cursor.size} bytes")
    return count


def _alignment(cursor: Cursor, metadata: Mapping[str, Value], kinds: Mapping[str, str]) -> int:
    alignment = metadata.get("general.alignment", 32)
    if kinds.get("general.alignment", "UINT32") != "UINT32" or not isinstance(alignment, int):
        cursor.fail("general.alignment is not a UINT32")
    if not 0 < alignment <= MAX_ALIGNMENT or alignment & (alignment - 1):
        cursor.fail(f"general.alignment is {alignment}, not a sensible power of two")
    return alignment


def _tensor(cursor: Cursor, number: int) -> TensorInfo:
    name = cursor.text(f"the name of tensor {number + 1}", strict=True)
    if len(name.encode()) > MAX_TENSOR_NAME:
        cursor.fail(f"the tensor name {name[:80]!r} is longer than {MAX_TENSOR_NAME} bytes")
    n_dims = cursor.u32(name)
    if n_dims > MAX_DIMS:
        cursor.fail(f"the tensor {name!r} has {n_dims} dimensions, more than {MAX_DIMS}")
    dims = tuple(cursor.u64(name) for _ in range(n_dims))
    number_of_type = cursor.u32(name)
    offset = cursor.u64(name)
    # Two large dims and a zero multiply to nothing, and overflow on the way there in C.
    if prod(max(dim, 1) for dim in dims) > MAX_ELEMENTS:
        cursor.fail(f"the tensor {name!r} claims {'x'.join(map(str, dims))} elements")
    kind = TENSOR_TYPES.get(number_of_type)
    if kind is None:
        cursor.fail(
            f"the tensor {name!r} has the unknown type {number_of_type}",
            "it may come from a newer llama.cpp: try another quantization",
        )
    row = dims[0] if dims else 1
    if row % kind.block:
        cursor.fail(f"the rows of {name!r} ({row}) are no multiple of {kind.name}'s {kind.block}")
    return TensorInfo(name, dims, kind.name, offset, prod(dims) // kind.block * kind.block_bytes)


def _check_nothing_follows(cursor: Cursor, end: int) -> None:
    """Bytes that got into the data push its end out, and nothing else would ever tell."""
    count = cursor.size - end
    # Some writers fill their last page with zeros.
    if count > MAX_ALIGNMENT or any(cursor.buffer[end:]):
        cursor.fail(f"{count} bytes follow the last tensor, which ends at byte {end}")


def _padded(position: int, alignment: int) -> int:
    return -(-position // alignment) * alignment
