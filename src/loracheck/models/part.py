"""Some pairs of an adapter as an adapter of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loracheck.errors import AdapterError
from loracheck.models.gguf_file import TensorInfo
from loracheck.models.lora import LoraFile, Pair, read_lora
from loracheck.models.measure import read_stored, tensor_data
from loracheck.models.write_lora import NewLora, NewTensor, write_lora

if TYPE_CHECKING:
    from numpy.typing import NDArray


def write_part(of: Path, out: Path, names: Collection[str], *, factor: float = 1.0) -> Path:
    """Write an adapter with these pairs of another, named after the tensors they change, byte for byte.

    A `factor` makes the update so many times as strong. It goes into alpha, or into B where there is no alpha to
    scale by.
    """
    lora = read_lora(of)
    pairs = [pair for pair in lora.pairs if pair.name in names]
    if len(pairs) != len(names):
        missing = sorted(set(names) - {pair.name for pair in pairs})
        raise AdapterError(f"{of}: the adapter has no pair for {missing[0]}; was it written anew meanwhile?")
    scales_b = factor != 1 and not lora.alpha
    alpha = lora.alpha * factor if lora.alpha else lora.alpha
    halves = [half for pair in pairs for half in (pair.a, pair.b)]
    scaled = {pair.b.name for pair in pairs} if scales_b else set()
    tensors = tuple(NewTensor(half.name, half.shape, "<f4", None if half.name in scaled else half) for half in halves)
    tokens = lora.header.metadata.get("adapter.alora.invocation_tokens")
    invocation = tuple(int(token) for token in tokens) if isinstance(tokens, tuple) else ()
    new = NewLora(lora.architecture, lora.name or of.stem, alpha, tensors, invocation)
    write_lora(out, new, _numbers(lora, halves, scaled, factor), (of,))
    return out


def _numbers(
    lora: LoraFile, halves: list[TensorInfo], scaled: Collection[str], factor: float
) -> Iterator[NDArray[Any]]:
    import numpy as np

    header = lora.header
    for half in halves:
        if half.name in scaled:
            yield (tensor_data(header, half) * np.float32(factor)).astype("<f4")  # (..., out, r)
        else:
            start = header.data_offset + half.offset
            raw = read_stored(lora.path, start, half.nbytes, half.name, AdapterError)
            yield np.frombuffer(raw, np.uint8)  # (bytes,)


def layer_of(pair: Pair) -> int | None:
    """The number of the block that a pair is in; None for the embeddings and the output layer."""
    parts = pair.name.split(".")
    return int(parts[1]) if parts[0] == "blk" and len(parts) > 2 and parts[1].isdigit() else None
