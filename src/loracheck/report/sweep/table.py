"""The table of a sweep in words: every form only sets it."""

from __future__ import annotations

from dataclasses import dataclass

from loracheck.report.content import content_of
from loracheck.results import Verdict
from loracheck.sweeping.results import UNQUANTIZED, Sweep, SweepCell
from loracheck.text import byte_size, cut, percent, small

FIGURES = ("verdict", "valid calls", "wrong names", "exact arguments", "drift", "size")


@dataclass(frozen=True, slots=True)
class Line:
    """One cell."""

    cell: SweepCell
    places: tuple[str, ...]
    """Where it stands on each axis of the table."""
    figures: tuple[str, ...]
    """What stands under FIGURES."""


def columns(sweep: Sweep) -> tuple[str, ...]:
    """The axes that tell the cells apart; of a single cell, the adapter."""
    return tuple(sweep.axes) or ("adapter",)


def lines(sweep: Sweep) -> list[Line]:
    axes = columns(sweep)
    return [Line(cell, tuple(place(cell, axis) for axis in axes), _figures(cell)) for cell in sweep.cells]


def place(cell: SweepCell, axis: str) -> str:
    if axis == "quantization":
        return cell.quantization or UNQUANTIZED
    return f"{cell.scale:g}" if axis == "scale" else str(getattr(cell, axis))


def _figures(cell: SweepCell) -> tuple[str, ...]:
    shown = cell.figures
    return (
        cell.verdict.upper(),
        percent(shown.valid_calls),
        percent(shown.wrong_names),
        percent(shown.exact_arguments),
        small(shown.drift_format),
        "–" if cell.size_bytes is None else byte_size(cell.size_bytes),
    )


def headline(sweep: Sweep) -> str:
    """How many cells came to what."""
    kinds = (("pass", "pass"), ("warn", "warn"), ("fail", "fail"), ("error", "could not run"), ("skip", "skipped"))
    parts = [f"{many} {words}" for verdict, words in kinds if (many := sweep.count(verdict))]  # type: ignore[arg-type]
    return f"{len(sweep.cells)} cell{'s' * (len(sweep.cells) != 1)}: {', '.join(parts)}"


def reason(cell: SweepCell) -> str:
    """Why a cell is not a plain pass, in a line; empty where there is nothing to say."""
    if cell.reason:
        return cut(cell.reason.split("\n")[0], 300)
    if cell.report is None or cell.verdict == "pass":
        return ""
    return cut(" ".join(why for probe in cell.report.judged for why in content_of(probe).why), 300)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why some cells are no plain pass: those with one verdict for one reason."""

    verdict: Verdict
    names: str
    reason: str


def troubles(sweep: Sweep) -> list[Trouble]:
    together: dict[tuple[Verdict, str], list[str]] = {}
    for cell in sweep.cells:
        if cell.verdict != "pass":
            together.setdefault((cell.verdict, reason(cell)), []).append(sweep.name_of(cell))
    return [
        Trouble(verdict, names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more", why)
        for (verdict, why), names in together.items()
    ]
