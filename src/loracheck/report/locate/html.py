"""What was located, as a page: maps of layers by modules, the curve, and the broken cases with and without the part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from loracheck.locating.grid import Part
from loracheck.locating.located import Located
from loracheck.report.html.parts import compare, page
from loracheck.report.locate import words
from loracheck.report.outcomes import outcome_name
from loracheck.results import CaseReport
from loracheck.text import percent

_ROW = 22
_LETTERS, _MOST_CASES = 4000, 200
# Of the curve, in pixels.
_HEIGHT, _TOP = 160, 12


@dataclass(frozen=True, slots=True)
class Cell:
    x: float
    width: float
    """In percent of the map."""
    y: int
    heat: float
    """From 0 to 1."""
    title: str
    in_part: bool


@dataclass(frozen=True, slots=True)
class HeatMap:
    title: str
    about: str
    cells: tuple[Cell, ...]
    kind: str = "heat"
    """Harm, or what is neither good nor bad."""


def render(located: Located) -> str:
    adapter, base = located.report.provenance.compared
    return page(
        "locate.jinja",
        located=located,
        adapter=adapter,
        base=base,
        verdicts=words.verdicts(located),
        headline=words.headline(located),
        written=words.writing(located),
        findings=list(words.findings(located)),
        why=words.why_it_fails(located.report) if located.ending == "nothing_broken" else [],
        unknown=words.UNKNOWN if located.found else None,
        maps=maps(located),
        modules=located.grid.modules,
        ticks=_ticks(located),
        row=_ROW,
        map_height=len(located.grid.modules) * _ROW,
        part_rows=words.part_rows(located),
        curve=_curve(located),
        curve_height=_HEIGHT,
        pairs=[(was, is_now, _marked(was, is_now)) for was, is_now in words.with_and_without(located)[:_MOST_CASES]],
        effort=list(words.effort(located)),
        letters=_LETTERS,
        outcome_name=outcome_name,
    )


def maps(located: Located) -> list[HeatMap]:
    """Harm when removed, harm alone, and share of the update: those that something is known about."""
    if located.found is None:
        return []
    made = []
    for way, title in (("removed", "Harm when removed"), ("alone", "Harm alone")):
        shares = {harm.part: harm.share for harm in located.found.harms if harm.way == way}
        if shares:
            about = (
                "Measured on bands of layers and on kinds of modules; a cell's colour lies between those of its two."
            )
            made.append(_map(located, title, about, _guess(located, shares, way), hottest=1.0))
    squares = {name: located.grid.share(frozenset([name])) for name in located.grid.places}
    told = {name: (share, f"{percent(share)} of the update") for name, share in squares.items()}
    about = "Of the squared norm, so that the cells add up; the strongest colour has the most."
    shared = _map(located, "Share of the update", about, told, hottest=max(squares.values()) or 1.0)
    made.append(replace(shared, kind="heat neutral"))
    return made


def _guess(located: Located, shares: Mapping[Part, float], way: str) -> dict[str, tuple[float, str]]:
    around = {name: {part: share for part, share in shares.items() if name in part} for name in located.grid.places}
    axes = max(map(len, around.values()))
    guesses = {}
    for name, measured in around.items():
        told = ", ".join(f"{located.grid.in_words(part)} {percent(share, 0)}" for part, share in measured.items())
        if len(measured) < axes:
            # Only one of its two was measured: beside the others it would seem too hot.
            guesses[name] = 0.0, f"not measured in full; {way}: {told or '–'}"
        else:
            heat = prod(min(max(share, 0.0), 1.0) for share in measured.values()) ** (1 / axes)
            guesses[name] = heat, f"{way}: {told}"
    return guesses


def _map(located: Located, title: str, about: str, told: Mapping[str, tuple[float, str]], *, hottest: float) -> HeatMap:
    grid, found = located.grid, located.found
    removed = found.part.mend.removed if found and found.part else frozenset[str]()
    rows = {module: number for number, module in enumerate(grid.modules)}
    columns = {layer: number for number, layer in enumerate(grid.layers)}
    width = 100 / len(columns)
    cells = tuple(
        Cell(
            x=round(columns[place.layer] * width, 3),
            width=round(width, 3),
            y=rows[place.module] * _ROW,
            heat=round(told[name][0] / hottest, 3),
            title=f"{_layer(place.layer)}{place.module}: {told[name][1]}",
            in_part=name in removed,
        )
        for name, place in grid.places.items()
    )
    return HeatMap(title, about, cells)


def _layer(layer: int | None) -> str:
    return "" if layer is None else f"layer {layer}, "


def _ticks(located: Located) -> list[tuple[float, str]]:
    """Where the number of a layer stands under the map."""
    layers = located.grid.layers
    step = next(step for step in (1, 2, 5, 10, 20, 50, 1000) if len(layers) <= 16 * step)
    return [
        (round((number + 0.5) * 100 / len(layers), 2), "out" if layer is None else str(layer))
        for number, layer in enumerate(layers)
        if number % step == 0
    ]


def _curve(located: Located) -> list[dict[str, Any]]:
    return [
        {
            "x": round(100 * point.removed, 2),
            "y": round(_TOP + (_HEIGHT - 2 * _TOP) * (1 - point.back), 1),
            "passes": point.passes,
            "title": f"without {point.words} ({percent(point.removed, 0)} of the update): {point.returned} come back",
            "point": point,
        }
        for point in words.curve(located)
    ]


def _marked(was: CaseReport, is_now: CaseReport | None) -> Any:
    return compare(was.ft.text[:_LETTERS], (is_now or was).ft.text[:_LETTERS])
