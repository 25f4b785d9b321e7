"""The one place that imports llama_cpp, with its log and its devices."""

from __future__ import annotations

import ctypes
import json
import os
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

# llama.cpp's OpenMP threads meet at a barrier after every operation and spin there for long. Where other processes
# want the same cores, a thread then spins for one that is not running. Measured on two cores: beside two busy
# neighbours 158 s by default and 12 s with this limit, on an idle machine 3.9 s and 4.1 s.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

import llama_cpp as llama_cpp  # for everybody else in this package

_WARN, _ERROR = 2, 3

_lines: deque[tuple[int, str]] = deque(maxlen=400)
_echo = False


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _keep(level: int, text: bytes, _user_data: Any) -> None:
    # A callback that raises would print a traceback from inside ctypes: decode cannot fail here.
    _lines.append((level, text.decode("utf-8", "replace").strip()))
    if _echo:
        os.write(2, text)


def capture_log() -> None:
    """Send llama.cpp's log here from now on (for the whole process: llama.cpp has one log)."""
    llama_cpp.llama_log_set(_keep, ctypes.c_void_p(0))


def echo_log_to_stderr() -> None:
    """Also write it where it outlives a crash."""
    global _echo
    _echo = True


def forget_log() -> None:
    _lines.clear()


def log_lines() -> list[str]:
    return [text for _, text in _lines]


def last_words(limit: int = 4) -> str:
    """The last warnings and errors, or, when there are none, the last lines of any kind."""
    serious = [text for level, text in _lines if level in (_WARN, _ERROR) and text]
    lines = serious or [text for _, text in _lines if text]
    return "\n".join(f"  llama.cpp: {line}" for line in lines[-limit:])


@dataclass(frozen=True, slots=True)
class Backend:
    devices: tuple[str, ...]
    gpu_offload: bool
    features: str


def serve() -> None:
    """A child's whole life: print what `backend` finds as JSON."""
    print(json.dumps(asdict(backend())))  # noqa: T201


def backend() -> Backend:
    """The devices llama.cpp sees, whether layers can go to a GPU, and the CPU features it was built for."""
    capture_log()
    llama_cpp.llama_backend_init()
    return Backend(
        devices=_devices(),
        gpu_offload=bool(llama_cpp.llama_supports_gpu_offload()),
        features=llama_cpp.llama_print_system_info().decode("utf-8", "replace").strip(" |"),
    )


def _devices() -> tuple[str, ...]:
    # ggml's device list has no binding in llama_cpp: four functions of the same library.
    from llama_cpp import _ggml

    library = _ggml.libggml
    library.ggml_backend_dev_count.restype = ctypes.c_size_t
    library.ggml_backend_dev_get.argtypes = [ctypes.c_size_t]
    library.ggml_backend_dev_get.restype = ctypes.c_void_p
    for describe in (library.ggml_backend_dev_name, library.ggml_backend_dev_description):
        describe.argtypes = [ctypes.c_void_p]
        describe.restype = ctypes.c_char_p
    devices = []
    for index in range(library.ggml_backend_dev_count()):
        device = library.ggml_backend_dev_get(index)
        name = library.ggml_backend_dev_name(device).decode("utf-8", "replace")
        about = library.ggml_backend_dev_description(device).decode("utf-8", "replace")
        devices.append(f"{name}: {about}")
    return tuple(devices)
