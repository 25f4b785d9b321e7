"""Null adapters: the shape of a real adapter, filled with noise. They are the yardstick's zero."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from loracheck.adapters.lora import lora_alpha, read_lora_header
from loracheck.adapters.pairs import collect_pairs
from loracheck.errors import AdapterError, InputError
from loracheck.files import replacing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from loracheck.adapters.gguf_file import GgufFile
    from loracheck.adapters.pairs import Pair
    from loracheck.adapters.tensor_data import Floats

    # The standard deviation to give a pair, from its two halves of unit noise.
    StdOf = Callable[[Pair, Floats, Floats], float]

# Outside of these, noise stored as F16 turns into zeros or infinities.
MIN_STD, MAX_STD = 1e-6, 1e3


def write_null(
    like: Path,
    out: Path,
    *,
    seed: int,
    init_scale: float = 0.02,
    rank_multiplier: float = 1.0,
    match: Literal["scale", "norm"] = "scale",
) -> Path:
    """Write a noise adapter with the pairs, shapes, rank and alpha of `like` to `out`.

    A and B are Gaussian; F16 stays F16, everything else becomes F32. `match` says how large they are:
    with "scale" their standard deviation is init_scale * sqrt(rank_multiplier); with "norm" each pair's
    update, scale * B @ A, has the Frobenius norm that it has in `like`, times rank_multiplier (which is
    what the multiplier does to the update of "scale" noise, too), and init_scale is not used.

    The bytes depend on the arguments and on the pairs' names, shapes and types, the alpha and the
    architecture. Of the values in `like`, "norm" takes each pair's norm, and "scale" takes nothing.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed is {seed!r}; it must be a whole number, 0 or more")
    _check_above_zero("rank_multiplier", rank_multiplier)
    header = read_lora_header(like)
    pairs = _pairs(header)
    alpha = lora_alpha(header)
    if match == "norm":
        name, std_of = f"null seed {seed} norm x {rank_multiplier:g}", _by_norm(header, alpha, rank_multiplier)
    else:
        std = _std(init_scale, rank_multiplier)
        name, std_of = f"null seed {seed} std {std:g}", lambda *_: std
    try:
        _check_target(like, out)
        # A reader, or a second run after a crash, must never meet half a file.
        with replacing(out) as partial:
            _write(partial, header, pairs, alpha, seed, name, std_of)
    except OSError as problem:
        raise InputError(f"{out}: cannot write the file: {problem.strerror}") from problem
    return out


def _check_above_zero(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{name} is {value}; it must be a number above 0")


def _std(init_scale: float, rank_multiplier: float) -> float:
    _check_above_zero("init_scale", init_scale)
    std = init_scale * math.sqrt(rank_multiplier)
    if not MIN_STD <= std <= MAX_STD:
        raise InputError(
            f"init_scale {init_scale} with rank_multiplier {rank_multiplier} makes noise of "
            f"{std:g}; it must be between {MIN_STD:g} and {MAX_STD:g}"
        )
    return std


def _by_norm(header: GgufFile, alpha: float | None, rank_multiplier: float) -> StdOf:
    from loracheck.adapters.norms import measure, update_norm

    def std_of(pair: Pair, a: Floats, b: Floats) -> float:
        norm = measure(header, pair, alpha).norm
        if norm is None:
            raise AdapterError(
                f"{header.path}: the update of {pair.name} is not finite, so no noise has its norm; "
                "train or export the adapter again"
            )
        # The same for A and B: no matter how the real pair shares its size out, both are far from F16's limits.
        std = math.sqrt(rank_multiplier * norm / update_norm(pair, a, b, alpha))
        if std > MAX_STD:
            raise AdapterError(
                f"{header.path}: noise of {rank_multiplier:g} times the norm of {pair.name}, {norm:g}, has a "
                f"standard deviation of {std:g}, and F16 holds {MAX_STD:g}; is the adapter broken?"
            )
        # Matrix products differ in their last digits from machine to machine, and the bytes must not.
        return float(f"{std:.6g}")

    return std_of


def _pairs(header: GgufFile) -> list[Pair]:
    found = collect_pairs(header)
    if found.unpaired:
        raise AdapterError(f"{header.path}: {found.unpaired[0]} is only half of a pair; export the adapter again")
    if not found.pairs:
        raise AdapterError(f"{header.path}: the adapter has no LoRA pairs; export it again")
    return sorted(found.pairs, key=lambda pair: pair.a.name)


def _check_target(like: Path, out: Path) -> None:
    if out.is_dir():
        raise InputError(f"{out}: this is a folder; name the file to write")
    if not out.parent.is_dir():
        raise InputError(f"{out}: the folder {out.parent} does not exist; make it first")
    if out.exists() and not out.is_file():
        # Renaming over /dev/null or a pipe would put a plain file in its place.
        raise InputError(f"{out}: this is not a regular file; name the file to write")
    if out.exists() and out.samefile(like):
        raise InputError(f"{out}: this is the adapter itself; write the noise to another file")


def _write(
    path: Path,
    header: GgufFile,
    pairs: list[Pair],
    alpha: float | None,
    seed: int,
    name: str,
    std_of: StdOf,
) -> None:
    import numpy as np
    from gguf import GGUFWriter

    halves = [half for pair in pairs for half in (pair.a, pair.b)]
    dtypes: dict[str, Any] = {half.name: np.float16 if half.type == "F16" else np.float32 for half in halves}
    rng = np.random.Generator(np.random.PCG64(seed))
    writer = GGUFWriter(path, header.text("general.architecture"))
    try:
        writer.add_type("adapter")
        writer.add_name(name)
        writer.add_string("adapter.type", "lora")
        if alpha is not None:
            writer.add_float32("adapter.lora.alpha", alpha)
        for half in halves:
            dtype = np.dtype(dtypes[half.name])
            nbytes = math.prod(half.dims) * dtype.itemsize
            writer.add_tensor_info(half.name, half.shape, dtype, nbytes)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        # One pair at a time: a large adapter's noise need not fit in memory.
        for pair in pairs:
            a = rng.standard_normal(pair.a.shape, np.float32)  # (..., r, in); token_embd: (vocab, r)
            b = rng.standard_normal(pair.b.shape, np.float32)  # (..., out, r)
            std = np.float32(std_of(pair, a, b))
            for half, noise in ((pair.a, a), (pair.b, b)):
                noise *= std
                writer.write_tensor_data(noise.astype(dtypes[half.name], copy=False))
    finally:
        writer.close()
