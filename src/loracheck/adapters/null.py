"""Null adapters: the shape of a real adapter, filled with noise. They are the yardstick's zero."""

from __future__ import annotations

import math
import secrets
from typing import TYPE_CHECKING, Any

from loracheck.adapters.lora import lora_alpha, read_lora_header
from loracheck.adapters.pairs import collect_pairs
from loracheck.errors import AdapterError, InputError

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.adapters.gguf_file import GgufFile, TensorInfo

# Outside of these, noise stored as F16 turns into zeros or infinities.
MIN_STD, MAX_STD = 1e-6, 1e3


def write_null(
    like: Path,
    out: Path,
    *,
    seed: int,
    init_scale: float = 0.02,
    rank_multiplier: float = 1.0,
) -> Path:
    """Write a noise adapter with the pairs, shapes, rank and alpha of `like` to `out`.

    A and B are Gaussian with standard deviation init_scale * sqrt(rank_multiplier). F16 stays F16,
    everything else becomes F32. The bytes depend on the arguments and on the pairs' names, shapes
    and types, the alpha and the architecture, never on the values in `like`.
    """
    std = _std(init_scale, rank_multiplier)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed is {seed!r}; it must be a whole number, 0 or more")
    header = read_lora_header(like)
    tensors = _halves(header)
    alpha = lora_alpha(header)
    # A reader, or a second run after a crash, must never meet half a file.
    partial = out.with_name(f".null-{secrets.token_hex(8)}.tmp")
    try:
        _check_target(like, out)
        _write(partial, header, tensors, alpha, seed, std)
        partial.replace(out)
    except OSError as problem:
        raise InputError(f"{out}: cannot write the file: {problem.strerror}") from problem
    finally:
        partial.unlink(missing_ok=True)
    return out


def _std(init_scale: float, rank_multiplier: float) -> float:
    for name, value in (("init_scale", init_scale), ("rank_multiplier", rank_multiplier)):
        if not (math.isfinite(value) and value > 0):
            raise InputError(f"{name} is {value}; it must be a number above 0")
    std = init_scale * math.sqrt(rank_multiplier)
    if not MIN_STD <= std <= MAX_STD:
        raise InputError(
            f"init_scale {init_scale} with rank_multiplier {rank_multiplier} makes noise of "
            f"{std:g}; it must be between {MIN_STD:g} and {MAX_STD:g}"
        )
    return std


def _halves(header: GgufFile) -> list[TensorInfo]:
    found = collect_pairs(header)
    if found.unpaired:
        raise AdapterError(f"{header.path}: {found.unpaired[0]} is only half of a pair; export the adapter again")
    if not found.pairs:
        raise AdapterError(f"{header.path}: the adapter has no LoRA pairs; export it again")
    halves = [half for pair in found.pairs for half in (pair.a, pair.b)]
    return sorted(halves, key=lambda tensor: tensor.name)


def _check_target(like: Path, out: Path) -> None:
    if out.is_dir():
        raise InputError(f"{out}: this is a folder; name the file to write")
    if not out.parent.is_dir():
        raise InputError(f"{out}: the folder {out.parent} does not exist; make it first")
    if out.exists() and out.samefile(like):
        raise InputError(f"{out}: this is the adapter itself; write the noise to another file")


def _write(
    path: Path,
    header: GgufFile,
    tensors: list[TensorInfo],
    alpha: float | None,
    seed: int,
    std: float,
) -> None:
    import numpy as np
    from gguf import GGUFWriter

    dtypes: dict[str, Any] = {t.name: np.float16 if t.type == "F16" else np.float32 for t in tensors}
    rng = np.random.Generator(np.random.PCG64(seed))
    writer = GGUFWriter(path, header.text("general.architecture"))
    try:
        writer.add_type("adapter")
        writer.add_name(f"null seed {seed} std {std:g}")
        writer.add_string("adapter.type", "lora")
        if alpha is not None:
            writer.add_float32("adapter.lora.alpha", alpha)
        for tensor in tensors:
            dtype = np.dtype(dtypes[tensor.name])
            nbytes = math.prod(tensor.dims) * dtype.itemsize
            writer.add_tensor_info(tensor.name, tensor.shape, dtype, nbytes)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        # One tensor at a time: a large adapter's noise need not fit in memory.
        for tensor in tensors:
            noise = rng.standard_normal(tensor.shape, np.float32)  # (..., rows, row)
            noise *= np.float32(std)  # (..., rows, row)
            writer.write_tensor_data(noise.astype(dtypes[tensor.name], copy=False))
    finally:
        writer.close()
