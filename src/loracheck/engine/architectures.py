"""Which architectures the installed llama.cpp knows, found without loading it."""

from __future__ import annotations

import mmap
from pathlib import Path

from loracheck.engine import Settings
from loracheck.engine.identity import llama_identity
from loracheck.models.model import read_model_header


def why_not_known(model: Path) -> str | None:
    """Why llama.cpp cannot load a model file; None where it may well.

    It keeps the names of its architectures as C strings. A name that ends another string of its own passes, and is told
    when the model is loaded; one that is nowhere is not known.
    """
    name = read_model_header(model).text("general.architecture") or ""
    libraries = [path for path in llama_identity(Settings()).files if path.name.startswith(("libllama.", "llama.dll"))]
    if not libraries or any(_holds(library, name.encode("utf-8", "replace") + b"\0") for library in libraries):
        return None
    return (
        f"{model}: the installed llama.cpp does not know the architecture {name!r}; "
        "a newer llama-cpp-python may, or take another model"
    )


def _holds(library: Path, words: bytes) -> bool:
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(words) >= 0
