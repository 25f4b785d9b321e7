"""What this llama.cpp can compute on."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from loracheck.engine import llama_log
from loracheck.engine.native import llama_cpp


@dataclass(frozen=True, slots=True)
class Backend:
    devices: tuple[str, ...]
    gpu_offload: bool
    features: str


def backend() -> Backend:
    """The devices llama.cpp sees, whether layers can go to a GPU, and the CPU features it was built for."""
    llama_log.capture()
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
    found = []
    for index in range(library.ggml_backend_dev_count()):
        device = library.ggml_backend_dev_get(index)
        name = library.ggml_backend_dev_name(device).decode("utf-8", "replace")
        about = library.ggml_backend_dev_description(device).decode("utf-8", "replace")
        found.append(f"{name}: {about}")
    return tuple(found)
