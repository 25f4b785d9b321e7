"""A GGUF file damaged in every way that disks, networks and enemies know, by seed."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loracheck.models import read_header
from loracheck.models.gguf_file import TENSOR_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Where C's integers end, and where counts, sizes and types do.
EXTREMES = (0, 1, 2, 5, 9, 31, 33, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**62, 2**63, 2**64 - 1)


@dataclass(frozen=True, slots=True)
class Damaged:
    what: str
    content: bytes
    broken: bool
    """No reader can take it for a whole file. Otherwise only values have changed, and they may mean something."""


@dataclass(frozen=True, slots=True)
class Field:
    at: int
    size: int
    name: str


@dataclass(frozen=True, slots=True)
class Subject:
    """A sound file: its bytes, where its data begins, and where the numbers of its tensors stand."""

    content: bytes
    data_at: int
    fields: tuple[Field, ...]


def subject(path: Path) -> Subject:
    header, content = read_header(path), path.read_bytes()
    fields = []
    at = 0
    for tensor in header.tensors:
        name = tensor.name.encode()
        start = content.index(struct.pack("<Q", len(name)) + name + struct.pack("<I", len(tensor.dims)), at)
        at = start + 8 + len(name)
        fields += [Field(start, 8, "name length"), Field(at, 4, "dims")]
        at += 4
        fields += [Field(at + 8 * index, 8, "dim") for index in range(len(tensor.dims))]
        at += 8 * len(tensor.dims)
        fields += [Field(at, 4, "type"), Field(at + 4, 8, "offset")]
    return Subject(content, header.data_offset, tuple(fields))


def first_layer(model: Path, out: Path) -> Path:
    """The model with all of its metadata and the tensors of its first layer: megabytes instead of gigabytes."""
    header, content = read_header(model), model.read_bytes()
    kept = [tensor for tensor in header.tensors if tensor.name.startswith("blk.0.")]
    first = header.tensors[0].name.encode()
    infos, data = b"", b""
    for tensor in kept:
        name, number = tensor.name.encode(), next(n for n, kind in TENSOR_TYPES.items() if kind.name == tensor.type)
        infos += struct.pack("<Q", len(name)) + name + struct.pack("<I", len(tensor.dims))
        infos += struct.pack(f"<{len(tensor.dims)}QIQ", *tensor.dims, number, len(data))
        start = header.data_offset + tensor.offset
        data += content[start : start + tensor.nbytes] + bytes(-tensor.nbytes % 32)
    metadata = content[16 : content.index(struct.pack("<Q", len(first)) + first)]
    head = content[:8] + struct.pack("<Q", len(kept)) + metadata + infos
    out.write_bytes(head + bytes(-len(head) % 32) + data)
    return out


def damaged(whole: Subject, seed: int) -> Damaged:
    rng = random.Random(seed)
    return rng.choice(_WAYS)(whole, rng)


def _cut(whole: Subject, rng: random.Random) -> Damaged:
    # Without the last padding, which may be missing from a sound file.
    at = _place(whole, rng, len(whole.content) - 64)
    return Damaged(f"cut at {at}", whole.content[:at], True)


def _flip(whole: Subject, rng: random.Random) -> Damaged:
    content = bytearray(whole.content)
    # Most of the bytes are data, and most of the harm can be done in the header.
    places = [_place(whole, rng, len(content)) for _ in range(rng.choice((1, 1, 2, 8, 64)))]
    for place in places:
        content[place] ^= rng.randrange(1, 256)
    return Damaged(f"flipped at {sorted(places)[:4]}", bytes(content), False)


def _scramble(whole: Subject, rng: random.Random) -> Damaged:
    """Noise over a piece of the data: NaN and infinity among it, very likely."""
    length = rng.choice((64, 4096, 100_000))
    at = rng.randrange(whole.data_at, max(len(whole.content) - length, whole.data_at + 1))
    return Damaged(f"noise at {at}", _over(whole.content, at, rng.randbytes(length)), False)


def _swap(whole: Subject, rng: random.Random) -> Damaged:
    length = rng.choice((1, 4, 8, 24, 64, 512))
    places = [_place(whole, rng, len(whole.content) - length) for _ in range(2)]
    first, second = (whole.content[place : place + length] for place in places)
    content = _over(_over(whole.content, places[0], second), places[1], first)
    return Damaged(f"swapped {length} bytes at {places}", content, False)


def _grow(whole: Subject, rng: random.Random) -> Damaged:
    at = rng.choice((_place(whole, rng, len(whole.content)), len(whole.content)))
    # No zeros: a few of those at the end of a file are no damage.
    more = bytes(rng.randrange(1, 256) for _ in range(rng.choice((1, 8, 32, 1000))))
    return Damaged(f"{len(more)} bytes more at {at}", whole.content[:at] + more + whole.content[at:], True)


def _lose(whole: Subject, rng: random.Random) -> Damaged:
    count = rng.choice((64, 256, 5000))
    at = _place(whole, rng, len(whole.content) - count - 64)
    return Damaged(f"{count} bytes lost at {at}", whole.content[:at] + whole.content[at + count :], True)


def _count(whole: Subject, rng: random.Random) -> Damaged:
    """The version, the number of tensors or of metadata values."""
    at, size = rng.choice(((4, 4), (8, 8), (16, 8)))
    return _numbered(whole, rng, at, size, "count", broken=True)


def _field(whole: Subject, rng: random.Random) -> Damaged:
    """A number of one tensor, or the same number of another one."""
    field = rng.choice(whole.fields)
    # Another type of the same size is another way to read the same bytes.
    return _numbered(whole, rng, field.at, field.size, field.name, broken=field.name != "type")


def _numbered(whole: Subject, rng: random.Random, at: int, size: int, name: str, *, broken: bool) -> Damaged:
    before = int.from_bytes(whole.content[at : at + size], "little")
    twins = [int.from_bytes(whole.content[f.at : f.at + f.size], "little") for f in whole.fields if f.name == name]
    others = [*EXTREMES, *rng.sample(twins, min(4, len(twins))), before - 1, before + 1, before + 32, 2 * before]
    # A version 2 file differs from a version 3 file in nothing but that number.
    after = rng.choice([n for n in others if 0 <= n < 2 ** (8 * size) and n != before and (at, n) != (4, 2)])
    return Damaged(f"{name} at {at} made {after}", _over(whole.content, at, after.to_bytes(size, "little")), broken)


def _place(whole: Subject, rng: random.Random, end: int) -> int:
    """Often in the first kilobytes, where keys and values are short, else anywhere in the header or in the data."""
    return rng.randrange(min(rng.choice((4096, whole.data_at, end)), end))


def _over(content: bytes, at: int, new: bytes) -> bytes:
    new = new[: len(content) - at]
    return content[:at] + new + content[at + len(new) :]


_WAYS: tuple[Callable[[Subject, random.Random], Damaged], ...] = (
    _cut, _flip, _flip, _scramble, _swap, _grow, _lose, _count, _field, _field,
)  # fmt: skip
