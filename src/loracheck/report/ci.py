"""What GitHub Actions offers besides the log: annotations on the run, and the summary of a step."""

# No `from __future__ import annotations`: it would take the name of a function here.
import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from loracheck.errors import InputError
from loracheck.files import ELSEWHERE
from loracheck.report import markdown
from loracheck.report.content import content_of, together
from loracheck.report.outcomes import outcome_change
from loracheck.results import Report, Verdict
from loracheck.text import cut, visible, visible_lines

# GitHub shows no more of a kind for one step.
MOST = 10

ANNOTATED: dict[Verdict, str] = {"fail": "error", "error": "error", "warn": "warning"}


def annotations(report: Report) -> Iterator[str]:
    """Lines for standard output, nothing outside GitHub Actions: verdicts that failed first, then cases that broke.

    Cases that broke within the limits of a probe that passed are warnings.
    """
    if os.environ.get("GITHUB_ACTIONS") == "true":
        yield from islice(_all(report), MOST)


def append_step_summary(report: Report) -> None:
    """Add the report to the file that GITHUB_STEP_SUMMARY names; nothing where it is not set."""
    append_to_summary(lambda: markdown.render(report))


def append_to_summary(render: Callable[[], str]) -> None:
    name = os.environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return
    try:
        with Path(name).open("a", encoding="utf-8") as file:
            file.write(f"{render()}\n")
    except OSError as error:
        raise InputError(f"{name}: the step summary could not be written: {error.strerror}; {ELSEWHERE}") from None


def _all(report: Report) -> Iterator[str]:
    file = report.provenance.suite_file
    for probe in report.judged:
        content = content_of(probe)
        if content.verdict in ANNOTATED:
            said = (*content.why, content.caution, report.judged_again_note, together(report))
            title = f"{content.verdict}, {content.grade}" if content.grade else content.verdict
            lines = "\n".join(cut(line, 1000) for line in said if line)
            yield annotation(ANNOTATED[content.verdict], file, f"{title}: {probe.name}", lines)
    for probe in report.judged:
        level = "error" if probe.verdict in ("fail", "error") else "warning"
        for case in probe.broken:
            yield annotation(
                level,
                file,
                f"{probe.name}, {case.id}: {outcome_change(case)}",
                f"prompt: {cut(case.prompt, 300)}\nbase: {cut(case.base.text, 300)}\n"
                f"{probe.comparison.subject}: {cut(case.ft.text, 300)}",
            )


def annotation(level: str, file: str | None, title: str, message: str) -> str:
    properties = {"file": file, "title": cut(title, 200)}
    written = ",".join(f"{name}={_property(visible(value))}" for name, value in properties.items() if value)
    return f"::{level} {written}::{_data(visible_lines(message))}"


def _data(text: str) -> str:
    """Percent signs first: they write the others."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
