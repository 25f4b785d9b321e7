"""`loracheck report`, `diff` and `score`: what is known already, shown, compared and judged without a model."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from loracheck.cli.completion import REPORT_FILE
from loracheck.cli.options import COLOR, OUTPUT, VERBOSE, OneOf, typed_command
from loracheck.report import FORMS, write_text
from loracheck.report.sweep import SWEEP_FORMS

if TYPE_CHECKING:
    from loracheck.results import Report
    from loracheck.sweeping.results import Sweep

_LONGEST_LINE = 64 * 2**20

REPORT_EXAMPLES = """\b
Examples:
  loracheck report out.json
  loracheck report out.json --format html -o out.html
  loracheck report out.json --format markdown >> comment.md
  loracheck report out.json --format badge -o badge.svg
  loracheck report out.json --redact --format json -o to-show.json
  loracheck report out.json --limit assert_validity_delta_gte=-0.10
  loracheck report out.json --limit tools_intact.assert_z_gte=2 --format json"""


def limit_and_bound(text: str) -> tuple[str, float]:
    """assert_…=NUMBER, or NAME.assert_…=NUMBER for one probe."""
    limit, equals, number = text.rpartition("=")
    try:
        bound = float(number)
    except ValueError:
        bound = math.nan
    if not equals or not math.isfinite(bound):
        raise click.BadParameter(f"{text!r}: write LIMIT=NUMBER, such as assert_validity_delta_gte=-0.10")
    return limit, bound


@click.command(epilog=REPORT_EXAMPLES)
@click.argument("file", type=REPORT_FILE)
@click.option(
    "--format",
    "form",
    type=OneOf(["terminal", *SWEEP_FORMS]),
    default="terminal",
    show_default=True,
    help="Markdown is for pull requests, JUnit XML for CI, HTML for a browser, a badge for a README, CSV for a sweep.",
)
@click.option("-o", "--output", type=OUTPUT, help="Write to this file instead of standard output.")
@click.option(
    "--limit",
    "limits",
    type=limit_and_bound,
    metavar="[NAME.]LIMIT=NUMBER",
    multiple=True,
    help="Judge the same answers by another limit; all probes, or one as NAME.assert_…  May repeat.",
)
@click.option(
    "--redact",
    is_flag=True,
    help="Leave out prompts, answers, paths and names; verdict, counts, rates, outcomes and hashes stay.",
)
@VERBOSE
@COLOR
def report(
    file: Path,
    form: str,
    output: Path | None,
    limits: tuple[tuple[str, float], ...],
    redact: bool,
    verbose: bool,
    color: bool | None,
) -> None:
    """Show what `loracheck check --json` or `sweep --json` wrote, or what other limits would have given.

    The exit code is 0 whatever the verdict is.
    """
    from loracheck.report.sweep.json import read_report_or_sweep
    from loracheck.sweeping.results import Sweep

    saved, how = read_report_or_sweep(file), (form, dict(limits), redact, output is None, color)
    text = _sweep_shown(saved, *how) if isinstance(saved, Sweep) else _report_shown(saved, *how, file, verbose=verbose)
    if text is None:
        return
    if output is None:
        # As bytes of UTF-8, which XML and HTML say they are, whatever the terminal's encoding is.
        click.echo(text.encode(), nl=False)
    else:
        write_text(output, text)


def _report_shown(
    shown: Report,
    form: str,
    limits: dict[str, float],
    redact: bool,
    to_screen: bool,
    color: bool | None,
    file: Path,
    *,
    verbose: bool,
) -> str | None:
    """None when it is on the screen already."""
    from loracheck.judge import judge_again
    from loracheck.report import redact as redacting
    from loracheck.report.next_steps import Origin
    from loracheck.report.terminal import as_text, show

    if form not in ("terminal", *FORMS):
        raise click.UsageError(f"--format {form} is for a sweep; a single report has {', '.join(FORMS)}")
    # Other limits are in the command alone, not in the file.
    origin = Origin(typed_command()) if limits else Origin(files={"json": file})
    if limits:
        shown = judge_again(shown, limits)
    if redact:
        shown = redacting.redact(shown)
    if form == "terminal" and to_screen:
        show(shown, color=color, verbose=verbose, origin=origin)
        return None
    if form == "terminal":
        return as_text(shown, color=bool(color), verbose=verbose, origin=origin)
    return FORMS[form].render(shown)


def _sweep_shown(
    shown: Sweep, form: str, limits: dict[str, float], redact: bool, to_screen: bool, color: bool | None
) -> str | None:
    from loracheck.report import redact as redacting
    from loracheck.report.sweep.terminal import as_text, show_sweep
    from loracheck.sweeping.building import judge_sweep_again

    if limits:
        shown = judge_sweep_again(shown, limits)
    if redact:
        shown = redacting.redact_sweep(shown)
    if form == "terminal" and to_screen:
        show_sweep(shown, color=color)
        return None
    return as_text(shown, color=bool(color)) if form == "terminal" else SWEEP_FORMS[form].render(shown)


DIFF_EPILOG = """\b
Examples:
  loracheck diff yesterday.json today.json
  loracheck diff release.json candidate.json --html diff.html

\b
Exit codes: 0 B is not worse, 1 B is worse, 2 bad input, or nothing in common.
Both are judged on the shared cases, by what check counts. B is worse when, in
a probe that both have,
  - its valid calls, adapter less base, are fewer than A's, by more than B's
    limit assert_validity_delta_gte (-0.05);
  - its wrong tool names are more than A's, and over B's limit
    assert_hallucination_lte (0.10);
  - or its verdict is fail or error where A's was pass.
It says where that may be chance (McNemar p of 0.05 or more); the exit code
is 1 all the same."""


@click.command(epilog=DIFF_EPILOG)
@click.argument("a", type=REPORT_FILE)
@click.argument("b", type=REPORT_FILE)
@click.option("--json", "json_file", type=OUTPUT, help="Write the whole diff here.")
@click.option("--html", "html_file", type=OUTPUT, help="Write it as a page for the browser.")
@COLOR
@click.pass_context
def diff(
    ctx: click.Context, /, a: Path, b: Path, json_file: Path | None, html_file: Path | None, color: bool | None
) -> None:
    """Compare two reports, A and B: figures, verdicts, and the cases that flipped.

    Cases are matched by the name of their probe, their id and their question. Says so when models, cases or settings
    differ. Two sweeps are compared cell by cell.
    """
    from loracheck.errors import ReportError
    from loracheck.report.sweep.json import read_report_or_sweep
    from loracheck.sweeping.results import Sweep

    first, second = read_report_or_sweep(a), read_report_or_sweep(b)
    try:
        if isinstance(first, Sweep) and isinstance(second, Sweep):
            is_worse = _diff_sweeps(first, second, (a.name, b.name), json_file, html_file, color)
        elif isinstance(first, Sweep) or isinstance(second, Sweep):
            raise ReportError("a sweep and a single report; give two of a kind (sweep --reports writes both)")
        else:
            is_worse = _diff_reports(first, second, (a.name, b.name), json_file, html_file, color)
    except ReportError as bad:
        raise ReportError(f"{a} and {b}: {bad}") from bad
    ctx.exit(1 if is_worse else 0)


def _diff_reports(
    a: Report, b: Report, names: tuple[str, str], json_file: Path | None, html_file: Path | None, color: bool | None
) -> bool:
    from loracheck.report.diff import diff as compare
    from loracheck.report.diff.show import show_diff, to_json

    comparison = compare(a, b)
    if json_file is not None:
        write_text(json_file, to_json(comparison))
    if html_file is not None:
        from loracheck.report.html import to_html

        write_text(html_file, to_html(comparison, *names))
    show_diff(comparison, color=color)
    return bool(comparison.worse)


def _diff_sweeps(
    a: Sweep, b: Sweep, names: tuple[str, str], json_file: Path | None, html_file: Path | None, color: bool | None
) -> bool:
    from loracheck.report.sweep.diff import diff_sweeps, show_sweep_diff, to_html, to_json

    comparison = diff_sweeps(a, b)
    if json_file is not None:
        write_text(json_file, to_json(comparison))
    if html_file is not None:
        write_text(html_file, to_html(comparison, *names))
    show_sweep_diff(comparison, color=color)
    return bool(comparison.worse)


@click.command(epilog="\b\nExamples:\n  loracheck score recorded.jsonl\n  cat recorded.jsonl | loracheck score -")
@click.argument("file", type=click.File("r", encoding="utf-8-sig", errors="replace"))
@click.pass_context
def score(ctx: click.Context, file: TextIO) -> None:
    """Judge recorded answers, one JSON object a line, and print one JSON result a line.

    A line holds cases, base_outputs and ft_outputs (lists of equal length), and may hold null_stats, seed,
    allowed_tools and the assert_* limits. A bad line is reported with its number on standard error; the good ones are
    still scored, and the exit code is 2.
    """
    import json

    from loracheck.errors import InputError
    from loracheck.scoring import score_recorded
    from loracheck.text import counted, visible

    bad = 0
    # A line without an end, as /dev/zero has, would fill the memory.
    for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE), ""), 1):
        if len(line) == _LONGEST_LINE:
            raise InputError(
                f"{file.name}:{number}: a line of more than {_LONGEST_LINE:,} characters; is it a file of JSON lines?"
            )
        if not line.strip():
            continue
        try:
            result = score_recorded(json.loads(line))
        except (ValueError, RecursionError) as error:
            bad += 1
            click.echo(f"{file.name}:{number}: {visible(str(error))}", err=True)
            continue
        click.echo(json.dumps(result))
    if bad:
        click.echo(counted(bad, "bad line"), err=True)
        ctx.exit(2)
