"""LoRA in a screenful of PyTorch: wrap the linear layers, train the wrappers, merge them in."""

from __future__ import annotations

import math

import torch
from torch import nn

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


def attach(model: nn.Module, targets: tuple[str, ...], rank: int, alpha: float) -> None:
    """Freeze the model and wrap every linear layer whose last name is a target."""
    model.requires_grad_(False)
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if name in targets and isinstance(child, nn.Linear):
                setattr(parent, name, LoraLinear(child, rank, alpha))


def adapted(model: nn.Module) -> dict[str, LoraLinear]:
    """The wrapped layers by their full names."""
    return {name: m for name, m in model.named_modules() if isinstance(m, LoraLinear)}


@torch.no_grad()
def unwrap(model: nn.Module, *, merge: bool) -> None:
    """Take the wrappers off again, adding what they learnt to the weights or forgetting it."""
    for name, layer in adapted(model).items():
        if merge:
            layer.base.weight += layer.b @ layer.a * layer.scale  # (out, in)
        parent, _, child = name.rpartition(".")
        setattr(model.get_submodule(parent), child, layer.base)
