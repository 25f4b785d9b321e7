"""`loracheck diff`: two reports side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from loracheck.cli.options import COLOR, INPUT, OUTPUT
from loracheck.cli.outputs import write_output

if TYPE_CHECKING:
    from pathlib import Path

EPILOG = """\b
Examples:
  loracheck diff yesterday.json today.json
  loracheck diff release.json candidate.json --html diff.html

\b
Exit codes: 0 B is not worse, 1 B is worse, 2 bad input, or nothing in common.
B is worse when, in a probe that both have,
  - its adapter makes fewer valid calls on the shared cases than A's, by more
    than B's limit assert_validity_delta_gte (-0.05);
  - its wrong tool names are over B's limit assert_hallucination_lte (0.10),
    and A's were not;
  - or its verdict is fail or error where A's was pass."""


@click.command(epilog=EPILOG)
@click.argument("a", type=INPUT)
@click.argument("b", type=INPUT)
@click.option("--json", "json_file", type=OUTPUT, help="Write the whole diff here.")
@click.option("--html", "html_file", type=OUTPUT, help="Write it as a page for the browser.")
@COLOR
@click.pass_context
def diff(
    ctx: click.Context, /, a: Path, b: Path, json_file: Path | None, html_file: Path | None, color: bool | None
) -> None:
    """Compare two reports, A and B: figures, verdicts, and the cases that flipped.

    Cases are matched by the name of their probe and their id. Says so when models, cases or settings differ.
    """
    from loracheck.report.diff import diff as compare
    from loracheck.report.diff.terminal import show_diff
    from loracheck.report.json import read_report

    found = compare(read_report(a), read_report(b))
    if json_file is not None:
        from loracheck.report.diff.json import to_json

        write_output(json_file, to_json(found))
    if html_file is not None:
        from loracheck.report.diff.html import to_html

        write_output(html_file, to_html(found, a.name, b.name))
    show_diff(found, color=color)
    ctx.exit(1 if found.worse else 0)
