"""A LoRA adapter written as a GGUF file: what it says about itself, its list of tensors, then their numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loracheck.errors import InputError
from loracheck.files import ELSEWHERE, replacing
from loracheck.models.gguf_file import TensorInfo

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class NewTensor:
    name: str
    shape: tuple[int, ...]
    """In numpy's order."""
    dtype: str
    """As numpy spells it: <f4 or <f2."""
    stored: TensorInfo | None = None
    """The tensor of another file whose bytes it gets as they are, whatever their type; the dtype then says nothing."""


@dataclass(frozen=True, slots=True)
class NewLora:
    architecture: str
    name: str
    alpha: float | None
    tensors: tuple[NewTensor, ...]
    invocation_tokens: tuple[int, ...] = ()
    """Those of an activated LoRA."""


def write_lora(out: Path, lora: NewLora, numbers: Iterable[NDArray[Any]], made_from: tuple[Path, ...]) -> None:
    """Write an adapter whole or not at all, and never over one of the files that it is made from.

    `numbers` holds an array for each tensor, in their order and of their dtype. They are taken one by one: a large
    adapter need not fit in memory.
    """
    try:
        check_target(out, made_from)
        # A reader, or a second run after a crash, must never meet half a file.
        with replacing(out) as partial:
            _write(partial, lora, numbers)
    except OSError as problem:
        raise InputError(f"{out}: cannot write the file: {problem.strerror or problem}; {ELSEWHERE}") from problem


def check_target(out: Path, made_from: tuple[Path, ...]) -> None:
    """InputError where no adapter made from these files may be written."""
    if out.is_dir():
        raise InputError(f"{out}: this is a folder; name the file to write")
    if not out.parent.is_dir():
        raise InputError(f"{out}: the folder {out.parent} does not exist; make it first")
    if out.exists() and not out.is_file():
        # Renaming over /dev/null or a pipe would put a plain file in its place.
        raise InputError(f"{out}: this is not a regular file; name the file to write")
    if out.exists() and any(out.samefile(path) for path in made_from):
        raise InputError(f"{out}: the new adapter is made from this file; write it to another")


def _write(path: Path, lora: NewLora, numbers: Iterable[NDArray[Any]]) -> None:
    import numpy as np
    from gguf import GGMLQuantizationType, GGUFValueType, GGUFWriter

    writer = GGUFWriter(path, lora.architecture)
    try:
        writer.add_type("adapter")
        writer.add_name(lora.name)
        writer.add_string("adapter.type", "lora")
        if lora.alpha is not None:
            writer.add_float32("adapter.lora.alpha", lora.alpha)
        if tokens := lora.invocation_tokens:
            key = "adapter.alora.invocation_tokens"
            writer.add_key_value(key, tokens, GGUFValueType.ARRAY, GGUFValueType.UINT32)
        for tensor in lora.tensors:
            dtype, stored = np.dtype(tensor.dtype), tensor.stored
            nbytes = stored.nbytes if stored else prod(tensor.shape) * dtype.itemsize
            kind = GGMLQuantizationType[stored.type] if stored else None
            writer.add_tensor_info(tensor.name, tensor.shape, dtype, nbytes, kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        for array in numbers:
            writer.write_tensor_data(array)
    finally:
        writer.close()
