"""What is in an adapter or model file: the facts behind `loracheck inspect`."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from loracheck.adapters.gguf_file import read_header
from loracheck.adapters.identify import is_adapter
from loracheck.adapters.lora import AdapterInfo, read_adapter
from loracheck.adapters.model import ModelInfo, read_model
from loracheck.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

_CHUNK = 1024 * 1024


def describe(path: Path) -> AdapterInfo | ModelInfo:
    """The facts about a GGUF file, whichever of the two it is."""
    return read_adapter(path) if is_adapter(read_header(path)) else read_model(path)


def sha256_of(path: Path, error: type[InputError] = InputError) -> str:
    """The file's SHA-256 in hex. Apart from `describe`, as it must read every byte."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as problem:
        raise error(f"{path}: cannot read the file: {problem.strerror}") from problem
    return digest.hexdigest()
