"""The numbers that a sweep's charts and heat table show; the template draws them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loracheck.report.sweep.table import columns, place
from loracheck.sweeping.results import Curve, Interval, Sweep, SweepCell

MOST_CHARTS = 12
_MOST_LABELS = 14

# Where the first and the last mark stand, in percent of the width: left of them are the labels of the scale.
_LEFT, _RIGHT = 12.0, 96.0


@dataclass(frozen=True, slots=True)
class Mark:
    cell: SweepCell
    at: float
    """In percent of the width."""
    label: str
    """Empty where there is no room for one."""


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    axis: str
    marks: tuple[Mark, ...]
    is_connected: bool
    """Whether the places on the axis have an order."""
    floor: float | None
    """As many calls must be valid by the limit; None where there is no one limit."""
    ceiling: float | None
    """At most so many may name a wrong tool."""

    def known(self, figure: str) -> list[tuple[Mark, float, Interval | None]]:
        """The marks that have the figure, `valid_calls` or `wrong_names`, with its interval."""
        shown = ((mark, getattr(mark.cell.figures, figure), mark.cell.figures) for mark in self.marks)
        return [(mark, share, getattr(of, f"{figure}_ci_95")) for mark, share, of in shown if share is not None]


def charts(sweep: Sweep) -> list[Chart]:
    """One for each curve; where the cells have no order, one with all of them."""
    judged = [curve for curve in sweep.curves if any(sweep.cells[number].report for number in curve.cells)]
    if judged:
        return [_of_curve(sweep, curve) for curve in judged[:MOST_CHARTS]]
    return [_unordered(sweep)] if len(sweep.cells) > 1 else []


def _of_curve(sweep: Sweep, curve: Curve) -> Chart:
    cells = [sweep.cells[number] for number in curve.cells]
    if curve.axis == "scale" and cells[-1].scale > cells[0].scale:
        low, high = cells[0].scale, cells[-1].scale
        places = [(cell.scale - low) / (high - low) for cell in cells]
        labels = [f"{cell.scale:g}" for cell in cells]
    else:
        places = [number / (len(cells) - 1) for number in range(len(cells))]
        labels = [_label(curve.axis, cell) for cell in cells]
    return _chart(curve.of, curve.axis, cells, places, labels, is_connected=True)


def _label(axis: str, cell: SweepCell) -> str:
    if axis == "checkpoint":
        return "end" if cell.checkpoint is None else str(cell.checkpoint)
    return place(cell, axis)


def _unordered(sweep: Sweep) -> Chart:
    axis = columns(sweep)[-1]
    places = [number / (len(sweep.cells) - 1) for number in range(len(sweep.cells))]
    labels = [str(number) for number in range(1, len(sweep.cells) + 1)]
    return _chart("All cells", f"{axis}, by its number in the table", sweep.cells, places, labels, is_connected=False)


def _chart(
    title: str,
    axis: str,
    cells: Sequence[SweepCell],
    places: Sequence[float],
    labels: Sequence[str],
    *,
    is_connected: bool,
) -> Chart:
    every = -(-len(cells) // _MOST_LABELS)
    marks = [
        Mark(cell, round(_LEFT + (_RIGHT - _LEFT) * at, 2), label if number % every == 0 else "")
        for number, (cell, at, label) in enumerate(zip(cells, places, labels, strict=True))
    ]
    floors = {cell.figures.valid_calls_floor for cell in cells if cell.report}
    ceilings = {cell.figures.wrong_names_ceiling for cell in cells if cell.report}
    floor = floors.pop() if len(floors) == 1 else None
    ceiling = ceilings.pop() if len(ceilings) == 1 else None
    return Chart(title, axis, tuple(marks), is_connected, floor=_drawn(floor), ceiling=_drawn(ceiling))


def _drawn(limit: float | None) -> float | None:
    """A limit outside of the scale limits nothing."""
    return limit if limit is not None and 0 <= limit <= 1 else None


@dataclass(frozen=True, slots=True)
class Heat:
    """A table of two axes."""

    title: str
    """What is the same in all its cells; empty where there is but one such table."""
    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[SweepCell | None, ...]], ...]


def heat_tables(sweep: Sweep) -> list[Heat]:
    """One for each place on a third axis; none where there are fewer than two axes."""
    axes = sweep.axes
    if len(axes) < 2:
        return []
    across, down = axes[-1], axes[-2]
    return list(_heat_tables(sweep, across, down, axes[:-2]))


def _heat_tables(sweep: Sweep, across: str, down: str, rest: Sequence[str]) -> Iterator[Heat]:
    fixed = dict.fromkeys(tuple(place(cell, axis) for axis in rest) for cell in sweep.cells)
    for those in fixed:
        cells = [cell for cell in sweep.cells if tuple(place(cell, axis) for axis in rest) == those]
        at = {(place(cell, down), place(cell, across)): cell for cell in cells}
        names = tuple(dict.fromkeys(place(cell, across) for cell in cells))
        rows = dict.fromkeys(place(cell, down) for cell in cells)
        yield Heat(
            ", ".join(those),
            f"{down} ↓  {across} →",
            names,
            tuple((row, tuple(at.get((row, name)) for name in names)) for row in rows),
        )


def heat(cell: SweepCell) -> int:
    """How much of what the base gets right is lost, from 1 to 4."""
    base, now = cell.figures.right_calls_base, cell.figures.right_calls
    if not base or now is None:
        return 1
    return 1 + min(3, max(0, int(4 * (base - now) / base)))
