"""llama.cpp's own quantizer. It blocks, and may crash: only the child process calls it."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

from loracheck.engine.native import capture_log, forget_log, last_words, llama_cpp, log_lines
from loracheck.errors import EngineError, ModelError
from loracheck.file_types import FILE_TYPES

# How often the growing file is looked at.
_POLL_SECONDS = 0.2

# Rows are quantized and written in slabs of this size (llama.cpp's default is 8 GiB): the file grows steadily, which is
# our sign of life, and memory stays small. Every row is quantized by itself, so the bytes are the same.
_SLAB_BYTES = 64 * 2**20

_MIB = 2**20
_SIZE = re.compile(r"quant size\s*=\s*([\d.]+) MiB")
_FALLBACKS = re.compile(r"(\d+) of \d+ tensor\(s\) required fallback")
_FAILED = "failed to quantize: "


def expect(model: Path, file_type: int) -> tuple[int, int]:
    """The size of the tensors to come, and how many of them need another type; by a dry run, within moments."""
    if _call(model, Path(os.devnull), file_type, threads=1, dry_run=True):
        raise ModelError(f"{model}: llama.cpp cannot make {FILE_TYPES[file_type]} of this model: {_reason()}")
    size, fallbacks = _last_number(_SIZE), _last_number(_FALLBACKS)
    if size is None:
        raise EngineError(f"llama.cpp did not say how large the quantized model will be\n{last_words()}")
    return round(size * _MIB), int(fallbacks or 0)


def quantize(model: Path, out: Path, file_type: int, threads: int) -> Iterator[int]:
    """Write to `out`, and yield its size whenever it has grown."""
    codes: list[int] = []
    work = Thread(target=lambda: codes.append(_call(model, out, file_type, threads=threads)), daemon=True)
    work.start()
    written, working = -1, True
    # Once more after the end, which for a small model comes before the first look.
    while working:
        work.join(_POLL_SECONDS)
        working = work.is_alive()
        size = out.stat().st_size if out.exists() else 0
        if size > written:
            written = size
            yield size
    if codes != [0]:
        raise EngineError(f"llama.cpp could not quantize {model}: {_reason()}")


def _call(model: Path, out: Path, file_type: int, *, threads: int, dry_run: bool = False) -> int:
    capture_log()
    forget_log()
    llama_cpp.llama_backend_init()
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype = file_type
    params.nthread = threads
    params.allow_requantize = True
    params.dry_run = dry_run
    params.max_buf_size = _SLAB_BYTES
    return int(llama_cpp.llama_model_quantize(os.fsencode(model), os.fsencode(out), ctypes.byref(params)))


def _last_number(pattern: re.Pattern[str]) -> float | None:
    numbers = [match[1] for line in log_lines() if (match := pattern.search(line))]
    return float(numbers[-1]) if numbers else None


def _reason() -> str:
    reasons = [line.partition(_FAILED)[2] for line in log_lines() if _FAILED in line]
    if not reasons:
        return f"it gave no reason\n{last_words()}"
    # All that C++ tells of a write that failed.
    a_write_failed = "iostream error" in reasons[-1]
    return "a write failed; is there a quota, or a limit on the size of files?" if a_write_failed else reasons[-1]
