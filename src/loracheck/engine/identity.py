"""What an answer depends on: the content of every file that has a part in it, and how it is run."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import loracheck.models
from loracheck.engine import AdapterPart, AdapterSource, AdapterUse, Identity, NullAdapter, Settings, View
from loracheck.models.lora import read_lora
from loracheck.models.model import parts_of_model

if TYPE_CHECKING:
    HashOf = Callable[[Path], str]

_GPU_LIBRARY = re.compile(r"ggml-(cuda|hip|vulkan|metal|sycl|opencl|musa|cann)")


def llama_identity(settings: Settings) -> Identity:
    """The llama.cpp that would answer, found without loading it, and the code of ours that drives it."""
    return Identity(
        {
            "engine": "llama.cpp",
            "settings": asdict(settings),
            "bindings": installed_version("llama_cpp_python"),
            "machine": platform.machine(),
            # Kernels are chosen by what the CPU can do, and a cache folder may move between machines.
            "cpu": _cpu(),
        },
        # All of these modules decide which numbers llama.cpp is given, or could tomorrow.
        (*_libraries(), *_sources(Path(__file__)), *_sources(Path(loracheck.models.__file__))),
    )


def view_identity(view: View, hash_of: HashOf) -> dict[str, Any]:
    return {
        "model": [hash_of(part) for part in parts_of_model(view.model)],
        "adapters": [_adapter(use, hash_of) for use in view.adapters],
        "width": view.width,
    }


def quantizer_identity(hash_of: HashOf) -> dict[str, Any]:
    """The llama.cpp that would quantize: its build decides which bytes come out, the machine does not."""
    return {"bindings": llama_cpp_version(), "libraries": [hash_of(path) for path in _libraries()]}


def installed_version(distribution: str) -> str | None:
    """None where it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def llama_cpp_version() -> str | None:
    """The installed llama-cpp-python, which pins its llama.cpp; None where there is none."""
    return installed_version("llama_cpp_python")


def _adapter(use: AdapterUse, hash_of: HashOf) -> dict[str, Any]:
    return {"content": _content(use.source, hash_of), "scale": use.scale}


def _content(source: AdapterSource, hash_of: HashOf) -> Any:
    if isinstance(source, NullAdapter):
        return _null_adapter(source, hash_of)
    if isinstance(source, AdapterPart):
        return {"of": hash_of(source.of), "pairs": source.pairs}
    return hash_of(source)


def _null_adapter(null: NullAdapter, hash_of: HashOf) -> dict[str, Any]:
    """What write_null makes its bytes from: by scale, another adapter of the same shape has the same null adapters."""
    like = read_lora(null.like)
    halves = [half for pair in like.pairs for half in (pair.a, pair.b)]
    made_from: dict[str, Any] = {
        "architecture": like.architecture,
        "alpha": like.alpha,
        "tensors": [[half.name, half.dims, half.type] for half in halves],
        "seed": null.seed,
        "init_scale": null.init_scale,
        "rank_multiplier": null.rank_multiplier,
        "numpy": installed_version("numpy"),
    }
    if null.match == "norm":
        # Then it also depends on what the adapter has learned.
        made_from["like"] = hash_of(null.like)
    return made_from


def _sources(module: Path) -> list[Path]:
    """Every module of its package, so that a new one is never left out."""
    return sorted(module.parent.glob("*.py"))


def is_built_for_gpus() -> bool:
    """Whether llama.cpp has a library for one, told by their names alone."""
    return any(_GPU_LIBRARY.search(path.name) for path in _libraries())


def _libraries() -> list[Path]:
    folder = os.environ.get("LLAMA_CPP_LIB_PATH")
    if folder is None:
        package = find_spec("llama_cpp")
        if package is None or not package.submodule_search_locations:
            return []
        folder = str(Path(package.submodule_search_locations[0]) / "lib")
    return sorted(path for path in Path(folder).glob("*") if path.is_file())


def _cpu() -> list[str]:
    """The first processor's own account of itself on Linux; elsewhere what Python knows."""
    told = []
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if not line.strip():
                    break
                if line.startswith(("model name", "flags", "Features", "CPU part", "isa")):
                    told.append(line.strip())
    except OSError:
        return [platform.processor()]
    return told
