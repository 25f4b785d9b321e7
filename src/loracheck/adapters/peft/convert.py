"""A PEFT adapter folder to the GGUF file that llama.cpp loads: numpy and gguf, no PyTorch.

GGUF has one alpha for the whole file, and llama.cpp multiplies each update by alpha / rank. PEFT may scale every module
by a rule of its own (rsLoRA, alpha_pattern). The file gets the alpha that most pairs need, and their numbers stay as
they are, bit by bit; the B of a pair that needs another alpha is multiplied by the ratio.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loracheck.adapters.peft.base import read_base
from loracheck.adapters.peft.config import read_config
from loracheck.adapters.peft.folder import weights_file
from loracheck.adapters.peft.safetensors import read_weights, values
from loracheck.adapters.peft.updates import copies_of_the_base, find_updates
from loracheck.errors import AdapterError, InputError
from loracheck.files import replacing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from loracheck.adapters.peft.updates import Update

OUTTYPES = {"f32": "<f4", "f16": "<f2"}
MIN_ALPHA = 1e-9


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
    conversion = prepare(peft, base)
    _check_target(out, (base, weights_file(peft)))
    try:
        with replacing(out) as partial:
            _write(partial, conversion, outtype)
    except OSError as problem:
        raise InputError(f"{out}: cannot write the file: {problem.strerror or problem}") from problem
    return conversion


def prepare(peft: Path, base: Path) -> Conversion:
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


def _check_target(out: Path, inputs: tuple[Path, ...]) -> None:
    if out.is_dir():
        raise InputError(f"{out}: this is a folder; name the file to write")
    if not out.parent.is_dir():
        raise InputError(f"{out}: the folder {out.parent} does not exist; make it first")
    if out.exists() and any(out.samefile(path) for path in inputs):
        raise InputError(f"{out}: this is one of the files to convert; write to another")


def _write(path: Path, conversion: Conversion, outtype: str) -> None:
    import numpy as np
    from gguf import GGUFValueType, GGUFWriter

    dtype = np.dtype(OUTTYPES[outtype])
    writer = GGUFWriter(path, conversion.architecture)
    try:
        writer.add_type("adapter")
        # Not every folder's name is UTF-8, as GGUF wants it.
        writer.add_name(conversion.folder.resolve().name.encode("utf-8", "replace").decode())
        writer.add_string("adapter.type", "lora")
        writer.add_float32("adapter.lora.alpha", conversion.alpha)
        if tokens := conversion.invocation_tokens:
            key = "adapter.alora.invocation_tokens"
            writer.add_key_value(key, tokens, GGUFValueType.ARRAY, GGUFValueType.UINT32)
        for update in conversion.updates:
            for name, (rows, row) in zip(_names(update), _shapes(update), strict=True):
                writer.add_tensor_info(name, (rows, row), dtype, rows * row * dtype.itemsize)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        # One pair at a time: a large adapter need not fit in memory.
        for update in conversion.updates:
            for half in _halves(update, conversion.alpha):
                writer.write_tensor_data(_stored(half, dtype, conversion.folder, update))
    finally:
        writer.close()


def _names(update: Update) -> tuple[str, str]:
    return f"{update.target}.lora_a", f"{update.target}.lora_b"


def _shapes(update: Update) -> tuple[tuple[int, ...], tuple[int, ...]]:
    a, b = update.a.shape, update.b.shape
    return (a[::-1] if update.flipped else a), b


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


def _stored(
    half: NDArray[np.float32], dtype: np.dtype[np.float32], folder: Path, update: Update
) -> NDArray[np.float32]:
    import numpy as np

    with np.errstate(all="ignore"):
        stored = np.ascontiguousarray(half, dtype)
    if np.isinf(stored).any() and not np.isinf(half).any():
        raise AdapterError(f"{folder}: {update.module} has numbers too large for f16; convert with --outtype f32")
    return stored
