"""LoRA in a screenful of PyTorch: wrap the linear layers, train the wrappers, merge what was learnt."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
ALL_LINEAR = (*ATTENTION, "gate_proj", "up_proj", "down_proj")


class LoraLinear(nn.Module):
    """A frozen linear layer plus a trainable product of two thin matrices."""

    def __init__(self, base: nn.Linear, rank: int, alpha: float) -> None:
        super().__init__()
        self.base = base
        self.scale = alpha / rank
        self.a = nn.Parameter(torch.empty(rank, base.in_features))  # (r, in)
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))  # (out, r)
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The layer's own output plus the scaled low-rank one."""
        return self.base(x) + (x @ self.a.T @ self.b.T) * self.scale  # (..., out)


def attach(model: nn.Module, blocks: Iterable[nn.Module], targets: tuple[str, ...], rank: int, alpha: float) -> None:
    """Freeze the model and wrap, in these blocks of it, every linear layer whose last name is a target."""
    model.requires_grad_(False)
    for parent in [module for block in blocks for module in block.modules()]:
        for name, child in list(parent.named_children()):
            if name in targets and isinstance(child, nn.Linear):
                setattr(parent, name, LoraLinear(child, rank, alpha))


def adapted(model: nn.Module) -> dict[str, LoraLinear]:
    """The wrapped layers by their full names."""
    return {name: m for name, m in model.named_modules() if isinstance(m, LoraLinear)}


@contextmanager
def bypassed(model: nn.Module) -> Iterator[None]:
    """The model as it was before the wrappers, without gradients."""
    scales = {layer: layer.scale for layer in adapted(model).values()}
    for layer in scales:
        layer.scale = 0.0
    try:
        with torch.no_grad():
            yield
    finally:
        for layer, scale in scales.items():
            layer.scale = scale


def unwrap(model: nn.Module) -> None:
    """Take the wrappers off again and forget what they learnt."""
    for name, layer in adapted(model).items():
        parent, _, child = name.rpartition(".")
        setattr(model.get_submodule(parent), child, layer.base)


@torch.no_grad()
def merge(model: nn.Module, updates: dict[str, torch.Tensor]) -> None:
    """Add an update (out, in) to the weights of every layer it names."""
    for name, update in updates.items():
        model.get_submodule(name).weight += update
