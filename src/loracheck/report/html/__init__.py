"""The report as one HTML file that needs nothing else, and in which nothing a model wrote can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loracheck.report.model import Report


def to_html(report: Report) -> str:
    # jinja2 is not free to import, and most runs write no HTML.
    from loracheck.report.html.page import page

    return page(report)
