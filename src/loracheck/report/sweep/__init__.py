"""A sweep in any of its forms. A new one is a new module here with a function `render(sweep) -> str`, and one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loracheck.report import Form, form_for

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.sweeping.results import Sweep

SWEEP_FORMS: dict[str, Form[Sweep]] = {
    "json": Form("sweep.json", ".json", "Write every cell with its whole report here."),
    "html": Form("sweep.html", ".html", "Write a page with a chart for the browser."),
    "markdown": Form("sweep.markdown", ".md", "Write the table for a pull request."),
    "junit": Form("sweep.junit", ".xml", "Write JUnit XML for a CI system."),
    "badge": Form("sweep.badge", ".svg", "Write the verdict as a badge for a README."),
    "csv": Form("sweep.csv", ".csv", "Write a line for each cell, for a spreadsheet."),
}


def save_sweep(sweep: Sweep, path: Path) -> None:
    """Write the sweep in the form that the file's ending asks for."""
    from loracheck.report import write_text

    write_text(path, form_for(path, SWEEP_FORMS).render(sweep))
