"""GGUF files written byte by byte, and what a reader says of those that are damaged."""

from __future__ import annotations

import struct

HUGE = 2**62


def string(text: bytes) -> bytes:
    return struct.pack("<Q", len(text)) + text


def gguf(*values: bytes, tensors: tuple[bytes, ...] = (), version: int = 3, data: bytes = b"") -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(values))
    head += b"".join(values) + b"".join(tensors)
    return head + bytes(-len(head) % 32) + data


def tensor(name: bytes = b"t", dims: tuple[int, ...] = (8,), kind: int = 0, offset: int = 0) -> bytes:
    packed = struct.pack(f"<I{len(dims)}Q", len(dims), *dims)
    return string(name) + packed + struct.pack("<IQ", kind, offset)


def u32(key: bytes, value: int) -> bytes:
    return string(key) + struct.pack("<II", 4, value)


DAMAGED = [
    (b"GGUF", "inside the version"),
    (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian"),
    (gguf(version=1), "version 1"),
    (gguf(version=4), "version 4"),
    (gguf(version=0), "version 0"),
    (b"GGUF" + struct.pack("<IQQ", 3, HUGE, 0), f"{HUGE} tensors do not fit"),
    (b"GGUF" + struct.pack("<IQQ", 3, 0, HUGE), f"{HUGE} metadata values do not fit"),
    (gguf(struct.pack("<Q", HUGE) + bytes(8)), "inside the key of metadata value 1"),
    (gguf(u32(b"", 1)), "has no key"),
    (gguf(u32(b"k", 1), u32(b"k", 2)), "'k' appears twice"),
    (gguf(u32(b"\xff\xfe", 1)), "not UTF-8"),
    (gguf(string(b"k") + struct.pack("<II", 77, 0)), "'k' has the unknown value type 77"),
    (gguf(string(b"k") + struct.pack("<IIQ", 9, 9, 1)), "array of arrays"),
    (gguf(string(b"k") + struct.pack("<IIQ", 9, 77, 1)), "array of the unknown value type 77"),
    (gguf(string(b"k") + struct.pack("<IIQ", 9, 4, HUGE)), "inside 'k', an array of"),
    (gguf(string(b"k") + struct.pack("<IIQQ", 9, 8, 70, HUGE) + bytes(560)), "inside k"),
    (gguf(u32(b"general.alignment", 33)), "not a sensible power of two"),
    (gguf(u32(b"general.alignment", 0)), "not a sensible power of two"),
    (gguf(string(b"general.alignment") + struct.pack("<If", 6, 32)), "not a UINT32"),
    (gguf(tensors=(tensor(b"n" * 64),)), "longer than 63 bytes"),
    (gguf(tensors=(tensor(b"\xff"),)), "not UTF-8"),
    (gguf(tensors=(tensor(dims=(1,) * 5),)), "5 dimensions"),
    (gguf(tensors=(tensor(dims=(2**40, 2**40)),)), "claims 1099511627776x1099511627776"),
    (gguf(tensors=(tensor(dims=(0, 2**40, 2**40)),)), "claims 0x1099511627776"),
    (gguf(tensors=(tensor(kind=31),)), "unknown type 31"),
    (gguf(tensors=(tensor(dims=(33,), kind=8),)), "no multiple of Q8_0's 32"),
    (gguf(tensors=(tensor(),)), "inside the data of 't'"),
    (gguf(tensors=(tensor(offset=HUGE),)), "'t' is at"),
    (gguf(tensors=(tensor(offset=5),), data=bytes(64)), "'t' is at 5, not at 0"),
    (gguf(tensors=(tensor(), tensor(b"u")), data=bytes(64)), "'u' is at 0, not at 32"),
    (gguf(tensors=(tensor(), tensor(offset=32)), data=bytes(64)), "'t' appears twice"),
    (gguf(tensors=(tensor(b"t\0u"),), data=bytes(32)), "has a null byte"),
    (gguf(u32(b"k\0", 1)), "has a null byte"),
    (gguf(tensors=(tensor(),), data=bytes(32) + b"\0x"), "2 bytes follow the last tensor"),
    (gguf(tensors=(tensor(),), data=bytes(2**20 + 33)), "1048577 bytes follow the last tensor"),
]
"""Bytes, and what is wrong with them."""
