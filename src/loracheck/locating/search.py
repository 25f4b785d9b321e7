"""The search for the part that does the harm. Pure Python: whoever answers is behind `Views`.

Views are what costs, so it goes from cheap to dear. Bands of layers and kinds of modules are ranked by what the adapter
expects without them while it reads the base's own calls. Then their cells are left out in the order of harm, by
halving, until the calls come back. What was left out in vain is put back, by halving too, and what is left is judged on
all cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from loracheck.locating.grid import Grid, Part
from loracheck.results import Report

BUDGET = 24
LEAST_BUDGET = 6
SCALE_STEP = 0.05
_STEPS = 20

# Kept back while the part is narrowed down: the part alone, a scale beside it, and two judgements on all cases.
_RESERVE = 4


@dataclass(frozen=True, slots=True)
class Mend:
    """What is done to the adapter: a part of it left out, or all of it made weaker."""

    removed: Part = frozenset()
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of the cases under one view."""

    mend: Mend
    returned: int
    """Of the broken cases that were asked, those that are right again."""
    broken: int
    lost: int
    """Of the others that were asked, those that are wrong now and were not."""
    others: int
    passes: bool
    """By the judge, the cases that were not asked taken to fare as those that were."""
    report: Report | None = None
    """Where all cases were asked."""


@dataclass(frozen=True, slots=True)
class Harm:
    """What a part does, as a share of what the whole adapter does."""

    part: Part
    way: Literal["removed", "alone"]
    share: float
    """Of the drift that goes away with it, or that it makes alone; of the broken cases where no drift is known."""


class Views(Protocol):
    """Who can tell what a mended adapter does. Each call is a view that reads its prompts anew."""

    def read(self, mend: Mend) -> float | None:
        """How far it drifts from the base on the base's own calls, beside the whole adapter; None where that is not
        known."""
        ...

    def ask(self, mend: Mend) -> Trial:
        """What becomes of the broken cases, and of as many others."""
        ...

    def judge(self, mend: Mend) -> Trial:
        """The verdict on all cases."""
        ...


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to."""

    harms: tuple[Harm, ...]
    curve: tuple[Trial, ...]
    """The cells left out one after the other in the order of their harm, as far as that was tried; fewest first."""
    part: Trial | None
    """Without the smallest part found without which the verdict passes, on all cases where that was judged; None where
    only leaving out everything helps."""
    carried: bool
    """Whether that part carries the damage: it is no more than half of the pairs, and leaving out twice as much
    elsewhere does not help."""
    elsewhere: Trial | None
    """Without twice as much elsewhere, or without everything else where that is less."""
    alone: Trial | None
    """With the part alone."""
    scale: float | None
    """The largest scale of the whole adapter found to pass; None where none was found, or none was looked for."""
    mended: Trial | None
    """What passes on all cases and keeps the most of the update; None where nothing does."""
    judged: tuple[Trial, ...]
    """Everything that was judged on all cases."""
    views: int
    untried: tuple[str, ...]
    """What was not tried, a sentence each."""


class _SpentError(Exception):
    """No view is left."""


@dataclass(slots=True)
class _Counted:
    """Views that come to an end, and are not asked the same twice."""

    views: Views
    budget: int
    spent: int = 0
    _asked: dict[Mend, Trial] = field(default_factory=dict)

    @property
    def left(self) -> int:
        return self.budget - self.spent

    def read(self, mend: Mend) -> float | None:
        drift = self.views.read(mend)
        # Where there is nothing to read, nothing was spent.
        self.spent += drift is not None
        return drift

    def ask(self, mend: Mend, keeping: int = 0) -> Trial:
        if mend not in self._asked:
            if self.left <= keeping:
                raise _SpentError
            self.spent += 1
            self._asked[mend] = self.views.ask(mend)
        return self._asked[mend]

    def known(self, mend: Mend) -> Trial | None:
        """What was asked before."""
        return self._asked.get(mend)

    def judge(self, mend: Mend) -> Trial:
        if self.left <= 0:
            raise _SpentError
        self.spent += 1
        return self.views.judge(mend)


def search(grid: Grid, views: Views, budget: int = BUDGET) -> Found:
    """Find what to leave out, with at most so many views."""
    return _Search(grid, _Counted(views, budget)).run()


class _Search:
    def __init__(self, grid: Grid, views: _Counted) -> None:
        self._grid = grid
        self._views = views
        self._harms: list[Harm] = []
        self._curve: list[Trial] = []
        self._judged: list[Trial] = []
        self._untried: list[str] = []

    def run(self) -> Found:
        self._rank()
        part = self._leave_out_in_order()
        elsewhere, alone, narrowed = None, None, [part] if part else []
        if part and 2 * len(part) <= len(self._grid.whole):
            elsewhere = self._try(self._as_much_elsewhere(part))
        carried = elsewhere is not None and not elsewhere.passes
        if part and carried:
            narrowed = self._narrow(part)
            alone = self._try(self._grid.whole - narrowed[-1])
        scale = self._scale(narrowed[-1] if narrowed else None, carried=carried)
        mended = self._judge([*self._larger(part), *narrowed], scale)
        without = self._smallest(narrowed, mended)
        self._fill_the_map()
        return Found(
            harms=tuple(self._harms),
            curve=tuple(sorted(self._curve, key=lambda trial: len(trial.mend.removed))),
            part=without,
            carried=carried and without is not None,
            elsewhere=elsewhere,
            alone=alone,
            scale=scale,
            mended=mended,
            judged=tuple(self._judged),
            views=self._views.spent,
            untried=tuple(self._untried),
        )

    # Which part does how much harm

    def _rank(self) -> None:
        for part in self._groups():
            if self._views.left <= _RESERVE:
                self._untried.append("The views ran out before every band of layers and kind of module was ranked.")
                return
            self._harms.append(Harm(part, "removed", self._harm_of(part)))

    def _axes(self) -> tuple[list[Part], list[Part]]:
        return self._grid.bands(), self._grid.kinds()

    def _groups(self) -> list[Part]:
        """Bands and kinds; the only one of its sort is the whole, from which nothing can be told."""
        return [part for axis in self._axes() if len(axis) > 1 for part in axis]

    def _harm_of(self, part: Part) -> float:
        drift = self._views.read(Mend(part))
        if drift is not None:
            return 1.0 - drift
        trial = self._views.ask(Mend(part))
        return trial.returned / trial.broken

    def _harm_when_removed(self, part: Part) -> float:
        return next((harm.share for harm in self._harms if harm.part == part and harm.way == "removed"), 0.0)

    def _cells(self) -> list[Part]:
        """Where a band and a kind meet, the most harmful first, as far as that can be guessed from the two."""
        bands, kinds = ({group: max(self._harm_when_removed(group), 1e-3) for group in axis} for axis in self._axes())
        cells = {band & kind: bands[band] * kinds[kind] for band in bands for kind in kinds if band & kind}
        return sorted(cells, key=lambda cell: (-cells[cell], -self._grid.share(cell)))

    # The fewest cells without which it passes

    def _leave_out_in_order(self) -> Part | None:
        """By halving. Without any of its cells the adapter is the base, which need not be asked."""
        cells = self._cells()
        fails, passes = 0, len(cells)
        try:
            while passes - fails > 1:
                middle = (fails + passes) // 2
                trial = self._views.ask(Mend(frozenset().union(*cells[:middle])), keeping=2)
                self._curve.append(trial)
                fails, passes = (fails, middle) if trial.passes else (middle, passes)
        except _SpentError:
            self._untried.append("The views ran out while parts were left out in the order of their harm.")
        return frozenset().union(*cells[:passes]) if passes < len(cells) else None

    def _as_much_elsewhere(self, part: Part) -> Part:
        """Twice as much of the update as the part has, the least harmful cells first.

        Where damage is spread, leaving out anything helps, and the part is only what happened to be tried first.
        """
        removed: Part = frozenset()
        for cell in reversed(self._cells()):
            if self._grid.share(removed) >= 2 * self._grid.share(part):
                break
            removed |= cell - part
        return removed

    def _try(self, removed: Part) -> Trial | None:
        try:
            return self._views.ask(Mend(removed), keeping=2)
        except _SpentError:
            return None

    # What need not be left out

    def _narrow(self, part: Part) -> list[Part]:
        """Ever smaller parts without which it passes."""
        parts = [part]
        try:
            parts.extend(self._without_groups(part))
            # Where the layers lie apart there are most likely two harms, and else one with ragged ends.
            first, then = self._without_cells, self._without_ends
            for shrink in (first, then) if len(self._grid.runs(parts[-1])) > 1 else (then, first):
                parts.extend(shrink(parts[-1]))
        except _SpentError:
            tried = self._grid.in_words(parts[-1])
            self._untried.append(f"The views ran out before {tried} could be narrowed down further.")
        return parts

    def _helps(self, part: Part) -> bool:
        return self._views.ask(Mend(part), keeping=_RESERVE).passes

    def _without_groups(self, part: Part) -> Iterator[Part]:
        """Whole kinds and bands are put back first."""
        for axis in self._axes():
            for smaller in self._without_each(part, sorted(axis, key=self._harm_when_removed)):
                part = smaller
                yield part

    def _without_cells(self, part: Part) -> Iterator[Part]:
        """Two separate harms are not the rectangle that they span."""
        if all(sum(bool(group & part) for group in axis) > 1 for axis in self._axes()):
            for cell in reversed(self._cells()):
                # What spans the rectangle is as harmful by guess as what does the harm: one tells nothing of the next.
                for smaller in self._without_each(part, [cell]):
                    part = smaller
                    yield part

    def _without_each(self, part: Part, groups: Sequence[Part]) -> Iterator[Part]:
        """One group after the other is put back, the least harmful first, until one does harm: so would the rest."""
        for group in groups:
            smaller = part - group
            if smaller == part:
                continue
            if not smaller or not self._helps(smaller):
                return
            part = smaller
            yield part

    def _without_ends(self, part: Part) -> Iterator[Part]:
        """Then each run of layers is cut at both ends, by half, a quarter, an eighth of it."""
        size = max(map(len, self._grid.runs(part))) // 2
        while size:
            for from_end in (False, True):
                for run in self._grid.runs(part):
                    if len(run) <= size:
                        continue
                    smaller = part - self._grid.of_layers(run[-size:] if from_end else run[:size])
                    if self._helps(smaller):
                        part = smaller
                        yield part
            size //= 2

    # All of it, only weaker

    def _scale(self, part: Part | None, *, carried: bool) -> float | None:
        """The largest scale that passes. Beside a part that carries the damage, only one that keeps more of the update
        is worth a view."""
        low = int(self._grid.norm_kept(part) / SCALE_STEP) if part and carried else 0
        fails, passes = _STEPS, low
        try:
            while fails - passes > 1:
                middle = passes + 1 if carried and passes == low else (fails + passes) // 2
                trial = self._views.ask(Mend(scale=round(middle * SCALE_STEP, 2)), keeping=1)
                if not trial.passes and carried and middle == low + 1:
                    return None
                fails, passes = (fails, middle) if trial.passes else (middle, passes)
        except _SpentError:
            self._untried.append(f"The views ran out before the scale was known to {SCALE_STEP:g}.")
        return round(passes * SCALE_STEP, 2) if passes > low else None

    # The verdict on all cases

    def _judge(self, parts: Sequence[Part], scale: float | None) -> Trial | None:
        """Of what should pass, the first that does on all cases, beginning with what keeps the most of the update."""
        # Below a scale that passes on some cases are others that may pass on all.
        steps = range(round((scale or 0) / SCALE_STEP), 0, -1)
        weaker = [Mend(scale=round(step * SCALE_STEP, 2)) for step in steps]
        mends = sorted([*map(Mend, parts), *weaker], key=self._norm_kept, reverse=True)
        try:
            for mend in mends:
                self._judged.append(self._views.judge(mend))
                if self._judged[-1].passes:
                    return self._judged[-1]
        except _SpentError:
            self._untried.append("The views ran out before every candidate was judged on all cases.")
        return None

    def _larger(self, part: Part | None) -> Iterator[Part]:
        """What else could be left out, in the order of harm, should the part not be enough on all cases."""
        cells = self._cells()
        for many in range(1, len(cells)):
            removed = frozenset().union(*cells[:many])
            if part and part < removed:
                yield removed

    def _smallest(self, parts: Sequence[Part], mended: Trial | None) -> Trial | None:
        """Without the smallest part that all cases have not spoken against."""
        if mended and mended.mend.removed:
            return mended
        judged = {trial.mend for trial in self._judged}
        left = [Mend(part) for part in parts if Mend(part) not in judged]
        return self._views.known(left[-1]) if left else None

    def _norm_kept(self, mend: Mend) -> float:
        return mend.scale * self._grid.norm_kept(mend.removed)

    # The rest of the map

    def _fill_the_map(self) -> None:
        """Reading is cheap: what is left of the budget tells what the bands and kinds do alone."""
        for part in self._groups():
            if self._views.left <= 0:
                return
            drift = self._views.read(Mend(self._grid.whole - part))
            if drift is None:
                return
            self._harms.append(Harm(part, "alone", drift))
