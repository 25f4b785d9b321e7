"""Null adapters: the shape of a real adapter, filled with noise. They are the yardstick's zero."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from loracheck.errors import AdapterError, InputError
from loracheck.models.gguf_file import TensorInfo
from loracheck.models.lora import LoraFile, Pair, read_lora
from loracheck.models.measure import measure_pair, update_norm
from loracheck.models.write_lora import NewLora, NewTensor, write_lora

if TYPE_CHECKING:
    from loracheck.models.measure import Floats

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
    """Write a null adapter with the pairs, shapes, rank and alpha of `like` to `out`.

    A and B are Gaussian; F16 stays F16, everything else becomes F32. `match` says how large they are:
    with "scale" their standard deviation is init_scale * sqrt(rank_multiplier); with "norm" each pair's
    update, scale * B @ A, has the Frobenius norm that it has in `like`, times rank_multiplier (by "scale"
    the multiplier does the same to the update), and init_scale is not used.

    The bytes depend on the arguments and on the pairs' names, shapes and types, the alpha and the
    architecture. Of the values in `like`, "norm" takes each pair's norm, and "scale" takes nothing.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed is {seed!r}; it must be a whole number, 0 or more")
    _check_above_zero("rank_multiplier", rank_multiplier)
    lora = read_lora(like)
    pairs = _whole_pairs(lora)
    if match == "norm":
        name, std_of = f"null seed {seed} norm x {rank_multiplier:g}", _by_norm(lora, rank_multiplier)
    else:
        std = noise_std(init_scale, rank_multiplier)
        name, std_of = f"null seed {seed} std {std:g}", lambda *_: std
    tensors = tuple(NewTensor(half.name, half.shape, _dtype(half)) for pair in pairs for half in (pair.a, pair.b))
    write_lora(out, NewLora(lora.architecture, name, lora.alpha, tensors), _noise(pairs, seed, std_of), (like,))
    return out


def _check_above_zero(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{name} is {value}; it must be a number above 0")


def _whole_pairs(lora: LoraFile) -> list[Pair]:
    if lora.unpaired:
        raise AdapterError(f"{lora.path}: {lora.unpaired[0]} is only half of a pair; export the adapter again")
    if not lora.pairs:
        raise AdapterError(f"{lora.path}: the adapter has no LoRA pairs; export it again")
    # The order decides which noise a pair gets. It is not quite that of lora.pairs, whose names have no suffix.
    return sorted(lora.pairs, key=lambda pair: pair.a.name)


def noise_std(init_scale: float, rank_multiplier: float) -> float:
    """How large the noise is; InputError where that is nothing a file could hold."""
    _check_above_zero("init_scale", init_scale)
    std = init_scale * math.sqrt(rank_multiplier)
    if not MIN_STD <= std <= MAX_STD:
        raise InputError(
            f"init_scale {init_scale} with rank_multiplier {rank_multiplier} makes noise of "
            f"{std:g}; it must be between {MIN_STD:g} and {MAX_STD:g}"
        )
    return std


def _by_norm(lora: LoraFile, rank_multiplier: float) -> StdOf:
    def std_of(pair: Pair, a: Floats, b: Floats) -> float:
        norm = measure_pair(lora, pair).norm
        if norm is None:
            raise AdapterError(
                f"{lora.path}: the update of {pair.name} is not finite, so no null adapter has its norm; "
                "train or export the adapter again"
            )
        # The same for A and B: no matter how the real pair shares its size out, both are far from F16's limits.
        std = math.sqrt(rank_multiplier * norm / update_norm(pair, a, b, lora.alpha))
        if std > MAX_STD:
            raise AdapterError(
                f"{lora.path}: a null adapter with {rank_multiplier:g} times the norm of {pair.name}, {norm:g}, needs "
                f"noise with a standard deviation of {std:g}, and F16 holds {MAX_STD:g}; is the adapter broken?"
            )
        # Matrix products differ in their last digits from machine to machine, and the bytes must not.
        return float(f"{std:.6g}")

    return std_of


def _noise(pairs: list[Pair], seed: int, std_of: StdOf) -> Iterator[Floats]:
    """The numbers of each half, A before B."""
    import numpy as np

    rng = np.random.Generator(np.random.PCG64(seed))
    for pair in pairs:
        a = rng.standard_normal(pair.a.shape, np.float32)  # (..., r, in); token_embd: (vocab, r)
        b = rng.standard_normal(pair.b.shape, np.float32)  # (..., out, r)
        std = np.float32(std_of(pair, a, b))
        for half, noise in ((pair.a, a), (pair.b, b)):
            noise *= std
            yield noise.astype(_dtype(half), copy=False)


def _dtype(half: TensorInfo) -> str:
    return "<f2" if half.type == "F16" else "<f4"
