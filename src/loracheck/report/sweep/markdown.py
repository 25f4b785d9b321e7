"""A sweep as Markdown, for a pull request or the summary of a CI step."""

from __future__ import annotations

from collections.abc import Iterator

from loracheck.report.markdown import LIMIT, MARKS, prose
from loracheck.report.sweep.table import FIGURES, Line, columns, headline, lines, troubles
from loracheck.sweeping.results import Sweep


def render(sweep: Sweep) -> str:
    """At most LIMIT characters; what had to be left out is said at the end."""
    head = [f"## {MARKS[sweep.verdict]} loracheck sweep, {headline(sweep)}"]
    if sweep.findings:
        head.append("\n".join(f"- {prose(sentence)}" for sentence in sweep.findings[:50]))
    head += [f"> ⚠️ {prose(warning)}" for warning in sweep.warnings[:10]]
    foot = f"<sub>loracheck {prose(sweep.loracheck_version)}</sub>"
    rows = lines(sweep)
    blocks = [*head, _table(sweep, rows), *_reasons(sweep), foot]
    while len(text := "\n\n".join(blocks) + "\n") > LIMIT and len(rows) > 1:
        rows = rows[: len(rows) // 2]
        left_out = f"Left out, because a comment has no room for more: {len(sweep.cells) - len(rows)} cells."
        blocks = [*head, _table(sweep, rows), left_out, *_reasons(sweep), foot]
    return text


def _table(sweep: Sweep, rows: list[Line]) -> str:
    axes = columns(sweep)
    made = [f"| {' | '.join((*axes, *FIGURES))} |", f"|{' --- |' * (len(axes) + 1)}{' ---: |' * (len(FIGURES) - 1)}"]
    for row in rows:
        verdict, *figures = row.figures
        cells = [*map(prose, row.places), f"{MARKS[row.cell.verdict]} {verdict}", *map(prose, figures)]
        made.append(f"| {' | '.join(cells)} |")
    return "\n".join(made)


def _reasons(sweep: Sweep) -> Iterator[str]:
    told = [trouble for trouble in troubles(sweep) if trouble.verdict != "skip"]
    if told:
        yield "\n".join(f"- {prose(trouble.names)}: {prose(trouble.reason)}" for trouble in told[:20])
