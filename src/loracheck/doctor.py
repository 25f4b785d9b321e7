"""Is everything here that a check needs, and how to get what is missing."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from loracheck import base_model
from loracheck.files import cache_folder
from loracheck.provenance import llama_cpp_version

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Finding:
    """`fix` says what to do; None where nothing needs doing. `fatal` means no check can run."""

    what: str
    found: str
    fix: str | None = None
    fatal: bool = False


def examine() -> Iterator[Finding]:
    yield Finding("loracheck", version("loracheck"))
    yield Finding("python", f"{platform.python_version()} on {platform.platform()}")
    yield from _llama_cpp()
    yield _base_model()
    yield Finding("cache folder", str(cache_folder()))


def _llama_cpp() -> Iterator[Finding]:
    try:
        from loracheck.engine.devices import backend

        found = backend()
    except (ImportError, OSError, RuntimeError, AttributeError) as error:
        yield Finding(
            "llama.cpp",
            f"cannot be loaded: {error}",
            "pip install --force-reinstall --no-cache-dir llama-cpp-python",
            fatal=True,
        )
        return
    yield Finding("llama.cpp", f"llama-cpp-python {llama_cpp_version()}")
    for device in found.devices:
        yield Finding("device", device)
    yield Finding("CPU features", found.features)
    if found.gpu_offload:
        yield Finding("GPU offload", "yes; --gpu-layers -1 puts the whole model on it")
    else:
        flag = "-DGGML_METAL=on" if platform.system() == "Darwin" else "-DGGML_CUDA=on"
        yield Finding(
            "GPU offload",
            "no, this llama.cpp was built for the CPU alone",
            f'for a GPU: CMAKE_ARGS="{flag}" pip install --force-reinstall --no-cache-dir llama-cpp-python',
        )


def _base_model() -> Finding:
    path = base_model.find()
    if path is None:
        return Finding("demo model", "not fetched yet", "python -m loracheck.base_model")
    return Finding("demo model", str(path))
