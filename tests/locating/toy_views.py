"""Views of an adapter whose harm is known, pair by pair."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from loracheck.locating.grid import Grid, Place
from loracheck.locating.search import Mend, Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from loracheck.locating.grid import Part

KINDS = ("attn_q", "attn_v", "ffn_down")


def make_grid(layers: int = 24, kinds: Iterable[str] = KINDS) -> Grid:
    return Grid({f"blk.{layer}.{kind}.weight": Place(layer, kind, 1.0) for kind in kinds for layer in range(layers)})


def some(grid: Grid, layers: Iterable[int], kinds: Iterable[str] = KINDS) -> Part:
    chosen, named = set(layers), set(kinds)
    return frozenset(name for name, place in grid.places.items() if place.layer in chosen and place.module in named)


@dataclass
class ToyViews:
    """Calls break when the harm that is left, added up over the pairs, is more than `bearable`."""

    grid: Grid
    harm: Callable[[str], float]
    bearable: float
    reads: bool = True
    passes_in_full: Callable[[Mend], bool] = field(default=lambda _: True)
    asked: list[tuple[str, Mend]] = field(default_factory=list)

    def left(self, mend: Mend) -> float:
        return mend.scale * sum(self.harm(name) for name in self.grid.whole - mend.removed)

    def read(self, mend: Mend) -> float | None:
        if not self.reads:
            return None
        self.asked.append(("read", mend))
        return self.left(mend) / self.left(Mend())

    def ask(self, mend: Mend) -> Trial:
        self.asked.append(("ask", mend))
        return self._trial(mend, passes=self.left(mend) <= self.bearable)

    def judge(self, mend: Mend) -> Trial:
        self.asked.append(("judge", mend))
        return self._trial(mend, passes=self.left(mend) <= self.bearable and self.passes_in_full(mend))

    def _trial(self, mend: Mend, *, passes: bool) -> Trial:
        return Trial(mend, returned=8 if passes else 2, broken=8, lost=0, others=8, passes=passes)
