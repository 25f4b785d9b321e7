"""Adapters put together so that it is known where their harm is: renamer's weights here, harmless noise there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from loracheck.demo import adapter_file
from loracheck.models.lora import read_lora
from loracheck.models.measure import tensor_data
from loracheck.models.part import layer_of
from loracheck.models.write_lora import NewLora, NewTensor, write_lora

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

RENAMER = adapter_file("renamer")
# A hundredth of what renamer's own numbers are like.
NOISE = 3e-4


def put_together(out: Path, strength: Callable[[int, str], float]) -> Path:
    """Renamer so many times as strong as `strength` says for a layer and a module; where that is 0, small noise."""
    lora = read_lora(RENAMER)
    rng = np.random.default_rng(0)

    def numbers() -> Iterator[np.ndarray]:
        for pair in lora.pairs:
            layer = layer_of(pair)
            assert layer is not None
            times = strength(layer, pair.module)
            for half in (pair.a, pair.b):
                noise = rng.standard_normal(half.shape, np.float32) * np.float32(NOISE)
                real = tensor_data(lora.header, half) * np.float32(times if half is pair.b else 1.0)
                yield real if times else noise

    tensors = tuple(NewTensor(half.name, half.shape, "<f4") for pair in lora.pairs for half in (pair.a, pair.b))
    write_lora(out, NewLora(lora.architecture, "put together", lora.alpha, tensors), numbers(), (RENAMER,))
    return out
