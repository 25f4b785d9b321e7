"""How many rows are computed at once, so that no answer depends on how many others are decoded beside it.

Kernels round differently for other numbers of rows. What they guarantee is known for llama.cpp on x86-64, where its
matrix kernels work on tiles of four rows and treat what is left over in another way, with one more way for fewer than
eight rows: among 8, 12, 16, ... rows, every row comes out the same, bit for bit, and what is left over does not change
the tiles before it. Tensors of some types are multiplied row by row; there any number does from two on, where the F16
kernels of adapters are the same. Flash attention takes each row by itself as long as a stream has fewer than 64 of
them, so there it makes no difference either whether a token is read among others or written in a step of its own.
A processor of another kind, or a GPU, promises nothing that we could test: its steps always have all their rows.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass

from loracheck.models.gguf_file import GgufFile

# No tiles, however many rows there are: of llama.cpp's repacked and tiled kernels and its tinyBLAS, none has these.
_ROW_BY_ROW = {"Q4_1", "Q5_1"}
# Nor do those of tinyBLAS mind, for the one matrix that makes the logits, on which nothing else is built.
_OUTPUT = _ROW_BY_ROW | {"Q8_0", "F16", "BF16", "F32"}

WIDTH = 16
"""Of a step, if nobody says otherwise. More rows are a little faster still, and take memory for as many contexts."""

_PAGE = 256

ROOM = 8
"""Tokens that a context needs beyond those of the longest prompt with its answer, to fill the tiles of a reading."""

FLASH_TILE = 64
"""With so many rows of a stream or more, flash attention computes them together, in another way."""

# llama.cpp has no flash attention for these.
_WITHOUT_FLASH = {"grok"}


@dataclass(frozen=True, slots=True)
class Rows:
    """`least` rows, or more of them by a `multiple`, compute the same."""

    least: int
    multiple: int

    def has(self, width: int) -> bool:
        """Whether so many rows are one of the numbers that compute the same."""
        return width >= self.least and width % self.multiple == 0

    def holding(self, live: int, width: int) -> int:
        """The fewest rows, of `width` at the most, that hold so many."""
        if not self.has(width):
            return width
        return min(width, max(self.least, -(-live // self.multiple) * self.multiple))


def promised_rows(model: GgufFile, *, gpu_layers: int) -> Rows | None:
    """What the kernels promise; None where that is nothing."""
    if gpu_layers or platform.machine().lower() not in ("x86_64", "amd64"):
        return None
    if model.text("general.architecture") in _WITHOUT_FLASH:
        return None
    return Rows(2, 1) if _row_by_row(model) else Rows(8, 4)


def rows_of(model: GgufFile, *, gpu_layers: int, width: int) -> Rows:
    """Where nothing is promised, a step always has all its rows."""
    return promised_rows(model, gpu_layers=gpu_layers) or Rows(width, width)


def whole_pages(tokens: int) -> int:
    """How large a context is that holds so many, and fills their tiles: llama.cpp makes contexts by the page."""
    return -(-(tokens + ROOM) // _PAGE) * _PAGE


def _row_by_row(model: GgufFile) -> bool:
    """Whether its matrices are; norms and biases are vectors."""
    matrices = {tensor.name: tensor.type for tensor in model.tensors if len(tensor.dims) > 1}
    # Where there is none, the embeddings make the logits.
    output = matrices.get("output.weight") or matrices.get("token_embd.weight")
    layers = {kind for name, kind in matrices.items() if name.startswith("blk.")}
    return layers <= _ROW_BY_ROW and output in _OUTPUT
