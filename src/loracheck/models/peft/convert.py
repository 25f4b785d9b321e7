"""A PEFT adapter folder to the GGUF file that llama.cpp loads: numpy and gguf, no PyTorch.

GGUF has one alpha for the whole file, and llama.cpp multiplies each update by alpha / rank. PEFT may scale every module
by a rule of its own (rsLoRA, alpha_pattern). The file gets the alpha that most pairs need, and their numbers stay as
they are, bit by bit; the B of a pair that needs another alpha is multiplied by the ratio.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loracheck.errors import AdapterError, InputError
from loracheck.files import CONVERTED, cache_folder
from loracheck.models.peft.config import config_file, read_config, source_hashes, weights_file
from loracheck.models.peft.safetensors import read_weights, values
from loracheck.models.peft.updates import Base, Update, copies_of_the_base, find_updates, read_base
from loracheck.models.write_lora import NewLora, NewTensor, write_lora

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OUTTYPES = {"f32": "<f4", "f16": "<f2"}
MIN_ALPHA = 1e-9

# Part of the key that conversions are kept by: to be raised when the same input comes to give other bytes.
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Conversion:
    """All that goes into the GGUF file, but for the numbers."""

    folder: Path
    architecture: str
    updates: tuple[Update, ...]
    alpha: float
    invocation_tokens: tuple[int, ...]
    left_out: tuple[str, ...]
    """Tensors of the adapter that are copies of the base's own."""

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(sorted({update.rank for update in self.updates}))


def convert(peft: Path, base: Path, out: Path, outtype: str = "f32") -> Conversion:
    """Write the adapter in the folder `peft` to `out`, for the base model `base`."""
    conversion = _prepare(peft, base)
    lora = NewLora(
        architecture=conversion.architecture,
        # Not every folder's name is UTF-8, as GGUF wants it.
        name=peft.resolve().name.encode("utf-8", "replace").decode(),
        alpha=conversion.alpha,
        tensors=tuple(tensor for update in conversion.updates for tensor in _tensors(update, OUTTYPES[outtype])),
        invocation_tokens=conversion.invocation_tokens,
    )
    write_lora(out, lora, _numbers(conversion, OUTTYPES[outtype]), (base, config_file(peft), weights_file(peft)))
    return conversion


def _prepare(peft: Path, base: Path) -> Conversion:
    """What is to be written; AdapterError or ModelError when it cannot be."""
    config = read_config(peft)
    weights = read_weights(weights_file(peft))
    model = read_base(base)
    updates = find_updates(peft, config, weights, model)
    # llama.cpp reads an alpha of zero, or one that a float32 cannot tell from it, as "no scaling".
    alphas = Counter(update.alpha for update in updates if abs(update.alpha) >= MIN_ALPHA)
    if not alphas:
        raise AdapterError(
            f"{peft}: lora_alpha is {config.lora_alpha:g}, so the adapter changes nothing; train with another"
        )
    return Conversion(
        folder=peft,
        architecture=model.architecture,
        updates=tuple(updates),
        alpha=alphas.most_common(1)[0][0],
        invocation_tokens=tuple(config.alora_invocation_tokens or ()),
        left_out=copies_of_the_base(weights),
    )


def _tensors(update: Update, dtype: str) -> tuple[NewTensor, NewTensor]:
    a = update.a.shape[::-1] if update.flipped else update.a.shape
    return NewTensor(f"{update.target}.lora_a", a, dtype), NewTensor(f"{update.target}.lora_b", update.b.shape, dtype)


def _numbers(conversion: Conversion, dtype: str) -> Iterator[NDArray[Any]]:
    """The numbers of each half as they are to be written, A before B."""
    import numpy as np

    for update in conversion.updates:
        for half in _halves(update, conversion.alpha):
            with np.errstate(all="ignore"):
                stored = np.ascontiguousarray(half, dtype)
            if np.isinf(stored).any() and not np.isinf(half).any():
                raise AdapterError(
                    f"{conversion.folder}: {update.module} has numbers too large for f16; convert with --outtype f32"
                )
            yield stored


def _halves(update: Update, file_alpha: float) -> Iterator[NDArray[np.float32]]:
    import numpy as np

    a = values(update.a)  # (r, in)
    yield a.T if update.flipped else a
    b = values(update.b)  # (out, r)
    if update.alpha != file_alpha:
        # An adapter that diverged holds NaNs; they are for `inspect` to name.
        with np.errstate(all="ignore"):
            b = b * np.float32(update.alpha / file_alpha)  # (out, r)
    if update.heads:
        # Each head's two halves of rows, one after the other, become pairs of neighbours.
        b = b.reshape(update.heads, 2, -1, update.rank).swapaxes(1, 2).reshape(b.shape)  # (out, r)
    yield b


@dataclass(frozen=True, slots=True)
class Converted:
    gguf: Path
    """In the cache."""
    sources: dict[str, str]
    """What `source_hashes` says about the folder that it was made from."""


def converted(peft: Path, base: Path) -> Converted:
    """The adapter in the folder `peft` as a GGUF file in the cache, made if it is not there yet."""
    sources = source_hashes(peft)
    path = cache_folder() / CONVERTED / f"{_key(sources, read_base(base))}.gguf"
    if not path.is_file():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            where = f"{path.parent}: cannot be made: {problem.strerror}"
            raise InputError(f"{where}; LORACHECK_CACHE moves it") from problem
        convert(peft, base, path)
    return Converted(path, sources)


def _key(sources: dict[str, str], base: Base) -> str:
    """Everything that the bytes depend on, and every size that they were checked against."""
    sizes = (base.layers, base.head_count, base.head_count_kv, base.split, sorted(base.dims.items()))
    facts = (_VERSION, *sources.values(), base.architecture, *sizes)
    return hashlib.sha256(repr(facts).encode()).hexdigest()
