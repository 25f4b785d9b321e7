"""Is everything here that a check needs, and how to get what is missing."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from loracheck import demo
from loracheck.engine.identity import llama_cpp_version
from loracheck.files import cache_folder
from loracheck.processes import serving

_SECONDS = 60.0


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
    for name, model in demo.MODELS.items():
        path = demo.find_model(name)
        missing = f"{model.name} is not fetched yet ({model.size / 1e6:.0f} MB)"
        yield Finding("demo model", str(path or missing), None if path else f"python -m loracheck.demo {name}")
    yield Finding("cache folder", str(cache_folder()))


def _llama_cpp() -> Iterator[Finding]:
    if sys.platform == "win32":
        yield Finding("llama.cpp", "running it does not work on Windows yet", "use WSL", fatal=True)
        return
    backend = _backend()
    if isinstance(backend, str):
        fix = "pip install --force-reinstall --no-cache-dir llama-cpp-python"
        yield Finding("llama.cpp", f"cannot be loaded: {backend}", fix, fatal=True)
        return
    yield Finding("llama.cpp", f"llama-cpp-python {llama_cpp_version()}")
    for device in backend["devices"]:
        yield Finding("device", device)
    yield Finding("CPU features", backend["features"])
    if backend["gpu_offload"]:
        yield Finding("GPU offload", "yes; --gpu-layers -1 puts the whole model on it")
    else:
        flag = "-DGGML_METAL=on" if platform.system() == "Darwin" else "-DGGML_CUDA=on"
        yield Finding(
            "GPU offload",
            "no, this llama.cpp was built for the CPU alone",
            f'for a GPU: CMAKE_ARGS="{flag}" pip install --force-reinstall --no-cache-dir llama-cpp-python',
        )


def _backend() -> dict[str, Any] | str:
    """What llama.cpp says of itself, or what is wrong with it. It is asked in a child: a bad build may crash."""
    try:
        child = subprocess.run(  # noqa: S603 - ourselves
            serving("loracheck.engine.native"),
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            # An abort must not call a debugger, which would hold on to our pipes.
            env={**os.environ, "GGML_NO_BACKTRACE": "1"},
        )
    except subprocess.TimeoutExpired:
        return f"it did not answer within {_SECONDS:g} s"
    if child.returncode < 0:
        return f"it crashed ({signal.Signals(-child.returncode).name})"
    try:
        backend = json.loads(child.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        backend = None
    if isinstance(backend, dict):
        return backend
    return child.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2] or "it said nothing"
