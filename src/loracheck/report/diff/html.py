"""The diff as one HTML file, in the dress of the report's own page; nothing a model wrote runs."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from loracheck.report.diff.figures import figures, verdict_in_words
from loracheck.report.html.diff import compare
from loracheck.report.html.shown import lines, one_line
from loracheck.report.text import cut

if TYPE_CHECKING:
    from loracheck.report.diff.compare import Diff

# A page of a few megabytes at the most; `--json` has everything.
MOST_FLIPS, _LETTERS = 200, 4000


def to_html(found: Diff, a: str = "A", b: str = "B") -> str:
    """`a` and `b` are what the reader knows the reports by, such as file names."""
    environment = Environment(
        loader=PackageLoader("loracheck.report.diff", ""),
        autoescape=True,
        finalize=one_line,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["lines"] = lines
    style = files("loracheck.report.html").joinpath("templates/style.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return environment.get_template("page.jinja").render(
        found=found,
        names={"A": a, "B": b},
        headline=verdict_in_words(found),
        figures=figures,
        marked=lambda match: compare(cut(match.a.ft.text, _LETTERS), cut(match.b.ft.text, _LETTERS)),
        most=MOST_FLIPS,
        style=Markup(style),  # noqa: S704 (our own file)
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
    )
