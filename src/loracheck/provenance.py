"""Where a report comes from: files by content, settings, seeds, the llama.cpp that answered."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

from loracheck.engine.identity import installed_version
from loracheck.probes.null_adapter import NullAdapterProbe

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from loracheck.suite.suite import AdapterEntry, Suite


def provenance_of(suite: Suite, hash_of: Callable[[Path], str]) -> dict[str, Any]:
    models = suite.models
    return {
        "suite_file": suite.file and str(suite.file),
        "outside_suite_folder": _outside(suite),
        "model": {"path": str(models.base.gguf), "sha256": hash_of(models.base.gguf)},
        "base_adapters": [_adapter(entry, hash_of) for entry in models.base.adapters],
        "ft_adapters": [_adapter(entry, hash_of) for entry in models.ft.adapters],
        "settings": suite.defaults.model_dump(),
        "suite": suite.model_dump(mode="json"),
        "seeds": {
            "bootstrap": suite.defaults.seed,
            "null": [
                probe.seed_base + run
                for probe in suite.suite
                if isinstance(probe, NullAdapterProbe)
                for run in range(probe.runs)
            ],
        },
        "llama_cpp": llama_cpp_version(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def _outside(suite: Suite) -> list[str]:
    """Where files really are that a suite file takes from elsewhere than its own folder, through links or by name."""
    if suite.file is None:
        return []
    folder = suite.file.resolve().parent
    used = (suite.models.base.gguf, *(entry.gguf for entry in suite.adapter_entries))
    return [str(found) for found in (path.resolve() for path in used) if not found.is_relative_to(folder)]


def llama_cpp_version() -> str | None:
    """The installed llama-cpp-python, which pins its llama.cpp; None where there is none."""
    return installed_version("llama_cpp_python")


def _adapter(entry: AdapterEntry, hash_of: Callable[[Path], str]) -> dict[str, Any]:
    return {"path": str(entry.gguf), "sha256": hash_of(entry.gguf), "scale": entry.scale}
