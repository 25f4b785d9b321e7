"""PEFT folders converted on the fly, once for each content and kind of base."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from loracheck.adapters.describe import sha256_of
from loracheck.adapters.peft.base import read_base
from loracheck.adapters.peft.convert import convert
from loracheck.adapters.peft.folder import config_file, weights_file
from loracheck.errors import AdapterError, InputError
from loracheck.files import CONVERTED, cache_folder

if TYPE_CHECKING:
    from pathlib import Path

# Part of the key: to be raised when the same input comes to give other bytes.
_VERSION = 1


def converted(peft: Path, base: Path) -> Path:
    """The adapter in the folder `peft` as a GGUF file in the cache, made if it is not there yet."""
    path = cache_folder() / CONVERTED / f"{_key(peft, base)}.gguf"
    if path.is_file():
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{path.parent}: cannot be made: {problem.strerror}; LORACHECK_CACHE moves it") from problem
    convert(peft, base, path)
    return path


def _key(peft: Path, base: Path) -> str:
    """Everything that the bytes depend on, and every size that they were checked against."""
    model = read_base(base)
    facts = (
        _VERSION,
        sha256_of(config_file(peft), AdapterError),
        sha256_of(weights_file(peft), AdapterError),
        model.architecture,
        model.layers,
        model.head_count,
        model.head_count_kv,
        model.split,
        sorted(model.dims.items()),
    )
    return hashlib.sha256(repr(facts).encode()).hexdigest()
