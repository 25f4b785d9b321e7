"""The diff as one HTML file, in the dress of the report's own page; nothing a model wrote runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loracheck.report.diff.figures import figures, verdict_in_words
from loracheck.report.html.diff import compare
from loracheck.report.html.dress import environment, inlined, policy
from loracheck.report.text import cut

if TYPE_CHECKING:
    from loracheck.report.diff.compare import Diff

# A page of a few megabytes at the most; `--json` has everything.
MOST_FLIPS, _LETTERS = 200, 4000


def to_html(found: Diff, a: str = "A", b: str = "B") -> str:
    """`a` and `b` are what the reader knows the reports by, such as file names."""
    style = inlined("style.css")
    return (
        environment()
        .get_template("diff.jinja")
        .render(
            found=found,
            names={"A": a, "B": b},
            headline=verdict_in_words(found),
            figures=figures,
            marked=lambda match: compare(cut(match.a.ft.text, _LETTERS), cut(match.b.ft.text, _LETTERS)),
            most=MOST_FLIPS,
            style=style,
            policy=policy(style),
        )
    )
