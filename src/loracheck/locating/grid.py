"""An adapter as a grid of layers by kinds of modules, and its parts in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TypeAlias

from loracheck.models import LoraFile, measure_adapter
from loracheck.models.part import layer_of

BANDS = 4
"""Layers are first left out a quarter at a time."""

Part: TypeAlias = frozenset[str]
"""Some pairs of an adapter, by the names of the tensors they change."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a pair stands in the grid."""

    layer: int | None
    """None for the embeddings and the output layer."""
    module: str
    square: float
    """The square of its update's norm: these add up."""


@dataclass(frozen=True, slots=True)
class Grid:
    places: Mapping[str, Place]
    """By the name of the tensor that the pair changes."""

    @property
    def whole(self) -> Part:
        return frozenset(self.places)

    @property
    def layers(self) -> list[int | None]:
        """In the order in which the model computes them."""
        return self._layers_in(self.places)

    @property
    def modules(self) -> list[str]:
        return sorted({place.module for place in self.places.values()})

    def bands(self) -> list[Part]:
        """The layers in up to four bands, as even as can be."""
        layers = self.layers
        count = min(BANDS, len(layers))
        ends = [round(len(layers) * number / count) for number in range(count + 1)]
        return [self.of_layers(layers[start:end]) for start, end in pairwise(ends)]

    def kinds(self) -> list[Part]:
        """One part for each kind of module."""
        return [
            frozenset(name for name, place in self.places.items() if place.module == module) for module in self.modules
        ]

    def of_layers(self, layers: Iterable[int | None]) -> Part:
        chosen = set(layers)
        return frozenset(name for name, place in self.places.items() if place.layer in chosen)

    def share(self, part: Part) -> float:
        """How much of the squared norm of the whole update is in it: the shares of parts add up."""
        total = self._square(self.places)
        return self._square(part) / total if total else len(part) / len(self.places)

    def norm_kept(self, removed: Part) -> float:
        """The norm of what is left, beside that of the whole."""
        return math.sqrt(max(0.0, 1.0 - self.share(removed)))

    def runs(self, part: Part) -> list[list[int | None]]:
        """Its layers in runs of neighbours in the grid."""
        order = {layer: number for number, layer in enumerate(self.layers)}
        numbered = enumerate(self._layers_in(part))
        return [[layer for _, layer in run] for _, run in groupby(numbered, lambda pair: order[pair[1]] - pair[0])]

    def in_words(self, part: Part) -> str:
        """Such as `layers 16–23 of ffn_down`, one for each piece that has the same layers in all its modules."""
        if part == self.whole:
            return "the whole adapter"
        modules_by_layers: dict[tuple[int | None, ...], list[str]] = {}
        for module in self.modules:
            layers = tuple(self._layers_in(name for name in part if self.places[name].module == module))
            if layers:
                modules_by_layers.setdefault(layers, []).append(module)
        return " plus ".join(self._rectangle(part, modules) for modules in modules_by_layers.values())

    def _rectangle(self, part: Part, modules: Sequence[str]) -> str:
        """A part of it that has the same layers in all these modules."""
        inside = frozenset(name for name in part if self.places[name].module in modules)
        column = frozenset(name for name, place in self.places.items() if place.module in modules)
        numbered = [layer for layer in self._layers_in(inside) if layer is not None]
        if inside == column:
            return _listed(modules)
        layers = f"layer{'s' if len(numbered) > 1 else ''} {_listed(_ranges(self.runs(inside)))}"
        return layers if inside == self.of_layers(numbered) else f"{layers} of {_listed(modules)}"

    def _layers_in(self, names: Iterable[str]) -> list[int | None]:
        found = {self.places[name].layer for name in names}
        return [*sorted(layer for layer in found if layer is not None), *([None] if None in found else [])]

    def _square(self, names: Iterable[str]) -> float:
        return math.fsum(self.places[name].square for name in names)


def grid_of(lora: LoraFile) -> Grid:
    """Every pair that llama.cpp uses; what it never multiplies by can do no harm."""
    norms = measure_adapter(lora).pair_norms
    return Grid(
        {
            pair.name: Place(layer_of(pair), pair.module, (norms[pair.name] or 0.0) ** 2)
            for pair in lora.pairs
            if pair.used
        }
    )


def _ranges(runs: Iterable[Sequence[int | None]]) -> Iterator[str]:
    for run in runs:
        numbered = [layer for layer in run if layer is not None]
        if numbered:
            first, last = numbered[0], numbered[-1]
            yield str(first) if first == last else f"{first}–{last}"


def _listed(words: Iterable[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last
