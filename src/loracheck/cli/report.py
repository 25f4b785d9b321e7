"""`loracheck report`: show a saved report again, in any of its forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from loracheck.cli.options import COLOR, INPUT, OUTPUT
from loracheck.cli.outputs import rendered, write_output

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = """\b
Examples:
  loracheck report out.json
  loracheck report out.json --format html -o out.html
  loracheck report out.json --format markdown >> comment.md
  loracheck report out.json --format junit -o junit.xml"""


@click.command(epilog=EXAMPLES)
@click.argument("file", type=INPUT)
@click.option(
    "--format",
    "form",
    type=click.Choice(["terminal", "markdown", "junit", "html"]),
    default="terminal",
    show_default=True,
    help="Markdown is for pull requests, JUnit XML for CI, HTML for a browser.",
)
@click.option("-o", "--output", type=OUTPUT, help="Write to this file instead of standard output.")
@COLOR
def report(file: Path, form: str, output: Path | None, color: bool | None) -> None:
    """Show a report that `loracheck check --json` wrote.

    The exit code is 0 whatever the verdict is.
    """
    from loracheck.report.json import read_report
    from loracheck.report.terminal import as_text, show

    found = read_report(file)
    if form == "terminal" and output is None:
        show(found, color=color)
        return
    text = as_text(found, color=bool(color)) if form == "terminal" else rendered(found, form)
    if output is None:
        # As bytes of UTF-8, which XML and HTML say they are, whatever the terminal's encoding is.
        click.echo(text.encode(), nl=False)
    else:
        write_output(output, text)
