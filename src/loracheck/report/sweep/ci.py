"""What GitHub Actions offers for a sweep: annotations on the run, and the summary of a step."""

# No `from __future__ import annotations`: it would take the name of a function here.
import os
from collections.abc import Iterator
from itertools import islice

from loracheck.report.ci import ANNOTATED, MOST, annotation, append_to_summary
from loracheck.report.sweep import markdown
from loracheck.report.sweep.table import reason
from loracheck.sweeping.results import Sweep


def annotations(sweep: Sweep) -> Iterator[str]:
    """Lines for standard output, one for each cell that is no pass; nothing outside GitHub Actions."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        yield from islice(_all(sweep), MOST)


def append_step_summary(sweep: Sweep) -> None:
    append_to_summary(lambda: markdown.render(sweep))


def _all(sweep: Sweep) -> Iterator[str]:
    told = [cell for cell in sweep.cells if cell.verdict in ANNOTATED]
    for cell in sorted(told, key=lambda cell: ANNOTATED[cell.verdict]):
        yield annotation(ANNOTATED[cell.verdict], None, f"{cell.verdict}: {sweep.name_of(cell)}", reason(cell))
