"""Where a report goes: the screen, files, and what a CI system offers."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from loracheck.cli.options import COLOR, OUTPUT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from loracheck.report.model import Report

_FILES = {
    "json": "Write the whole report here.",
    "html": "Write a page for the browser.",
    "markdown": "Write a summary for a pull request.",
    "junit": "Write JUnit XML for a CI system.",
}


@dataclass(frozen=True, slots=True)
class Outputs:
    files: dict[str, Path]
    """By format."""
    color: bool | None

    def __post_init__(self) -> None:
        # Said before the work, not after it.
        for form, path in self.files.items():
            if not path.absolute().parent.is_dir():
                raise click.UsageError(f"--{form} {path}: the folder does not exist")

    def write(self, report: Report) -> None:
        from loracheck.report.annotations import annotations
        from loracheck.report.markdown import append_step_summary
        from loracheck.report.terminal import show

        for form, path in self.files.items():
            write_output(path, rendered(report, form))
        show(report, color=self.color)
        append_step_summary(report)
        for line in annotations(report):
            click.echo(line)


def rendered(report: Report, form: str) -> str:
    """The report in one of its forms, each imported when it is asked for: commands start fast."""
    if form == "json":
        from loracheck.report.json import to_json

        return to_json(report)
    if form == "html":
        from loracheck.report.html import to_html

        return to_html(report)
    if form == "markdown":
        from loracheck.report.markdown import to_markdown

        return to_markdown(report)
    from loracheck.report.junit import to_junit

    return to_junit(report)


def write_output(path: Path, text: str) -> None:
    from loracheck.errors import InputError
    from loracheck.files import write_atomically

    try:
        write_atomically(path, text.encode())
    except OSError as error:
        raise InputError(f"{path}: could not be written: {error.strerror}") from None


def output_options(command: Callable[..., None]) -> Callable[..., None]:
    """Options for every form of a report; the command gets them as `outputs`."""

    @functools.wraps(command)
    def with_outputs(*args: Any, color: bool | None, **options: Any) -> None:
        files = {form: path for form in _FILES if (path := options.pop(f"{form}_file")) is not None}
        command(*args, outputs=Outputs(files, color), **options)

    decorated: Any = COLOR(with_outputs)
    for form, text in reversed(_FILES.items()):
        decorated = click.option(f"--{form}", f"{form}_file", type=OUTPUT, help=text)(decorated)
    return decorated  # type: ignore[no-any-return]
