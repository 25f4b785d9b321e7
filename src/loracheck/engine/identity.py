"""What an answer depends on, as plain data: the content of every file that has a part in it, and how it is run."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loracheck.adapters import null
from loracheck.adapters.lora import lora_alpha, read_lora_header
from loracheck.adapters.pairs import collect_pairs
from loracheck.engine import Noise

if TYPE_CHECKING:
    from collections.abc import Callable

    from loracheck.engine import AdapterUse, Settings, View

    HashOf = Callable[[Path], str]

# The modules that decide which numbers llama.cpp is given: the block size, the batches, the context's options.
_DECODING = ("decode.py", "llama.py", "llama_context.py", "trace.py")

# And those that decide how large an adapter is found to be, where noise has to match it.
_MEASURING = ("norms.py", "tensor_data.py")

_PART = re.compile(r"(?P<stem>.*)-\d{5}-of-(?P<count>\d{5})\.gguf")


def model_identity(model: Path, settings: Settings, hash_of: HashOf) -> dict[str, Any]:
    return {"model": [hash_of(part) for part in _parts(model)], "settings": asdict(settings)}


def view_identity(view: View, hash_of: HashOf) -> list[dict[str, Any]]:
    return [_adapter(use, hash_of) for use in view.adapters]


def llama_identity(hash_of: HashOf) -> dict[str, Any]:
    """The llama.cpp that would answer, found without loading it, and the code of ours that drives it."""
    return {
        "engine": "llama.cpp",
        "bindings": installed_version("llama_cpp_python"),
        "libraries": {library.name: hash_of(library) for library in _libraries()},
        "decoding": [hash_of(Path(__file__).with_name(name)) for name in _DECODING],
        "machine": platform.machine(),
        # Kernels are chosen by what the CPU can do, and a cache folder may move between machines.
        "cpu": _cpu(),
    }


def _parts(model: Path) -> list[Path]:
    """The files of a model split by llama.cpp's naming; else the one file. A part that is missing fails to load."""
    split = _PART.fullmatch(model.name)
    if split is None:
        return [model]
    count = int(split["count"])
    names = (f"{split['stem']}-{number:05}-of-{count:05}.gguf" for number in range(1, count + 1))
    return [model, *(part for name in names if (part := model.with_name(name)) != model and part.is_file())]


def _adapter(use: AdapterUse, hash_of: HashOf) -> dict[str, Any]:
    source = use.source
    content = _noise(source, hash_of) if isinstance(source, Noise) else hash_of(source)
    return {"content": content, "scale": use.scale}


def _noise(noise: Noise, hash_of: HashOf) -> dict[str, Any]:
    """What write_null makes its bytes from: by scale, another adapter of the same shape has the same noise."""
    header = read_lora_header(noise.like)
    halves = [half for pair in collect_pairs(header).pairs for half in (pair.a, pair.b)]
    recipe = Path(null.__file__)
    made_from: dict[str, Any] = {
        "architecture": header.text("general.architecture"),
        "alpha": lora_alpha(header),
        "tensors": [[half.name, half.dims, half.type] for half in halves],
        "seed": noise.seed,
        "init_scale": noise.init_scale,
        "rank_multiplier": noise.rank_multiplier,
        "recipe": hash_of(recipe),
        "numpy": installed_version("numpy"),
    }
    if noise.match == "norm":
        # Then it also depends on what the adapter has learned.
        made_from["like"] = hash_of(noise.like)
        made_from["measuring"] = [hash_of(recipe.with_name(name)) for name in _MEASURING]
    return made_from


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


def installed_version(distribution: str) -> str | None:
    """None where it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
