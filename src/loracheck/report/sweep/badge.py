"""A sweep as a badge: its worst verdict, and how many of its cells pass."""

from __future__ import annotations

from loracheck.report.badge import draw
from loracheck.sweeping.results import Sweep
from loracheck.text import counted


def render(sweep: Sweep) -> str:
    passing = sum(cell.passed for cell in sweep.cells)
    words = f"{sweep.verdict.upper()}, {passing} of {len(sweep.cells)} pass"
    about = f"a sweep of {counted(len(sweep.cells), 'cell')}, loracheck {sweep.loracheck_version}"
    judged_with = next((cell.report.judged_with for cell in sweep.cells if cell.report), None)
    return draw(sweep.verdict, words, about, judged_with)
