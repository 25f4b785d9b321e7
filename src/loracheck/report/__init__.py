"""Show: a report in any of its forms. Each renderer sees the report and nothing else.

A new form is a new module here with a function `render(report) -> str`, and one line below.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from loracheck.errors import InputError
from loracheck.files import ELSEWHERE, write_atomically

if TYPE_CHECKING:
    from loracheck.results import Report

Shown = TypeVar("Shown")


@dataclass(frozen=True)
class Form(Generic[Shown]):
    """One way to show a report, or a sweep. Its module is imported when it is first asked for: commands start fast."""

    module: str
    ending: str
    """Of the files it is written to."""
    about: str

    def render(self, report: Shown) -> str:
        text: str = import_module(f"{__name__}.{self.module}").render(report)
        return text


FORMS: dict[str, Form[Report]] = {
    "json": Form("json", ".json", "Write the whole report here."),
    "html": Form("html", ".html", "Write a page for the browser."),
    "markdown": Form("markdown", ".md", "Write a summary for a pull request."),
    "junit": Form("junit", ".xml", "Write JUnit XML for a CI system."),
    "badge": Form("badge", ".svg", "Write the verdict as a badge for a README."),
}


def save(report: Report, path: Path) -> None:
    """Write the report in the form that the file's ending asks for."""
    write_text(path, form_for(path, FORMS).render(report))


def form_for(path: Path, forms: Mapping[str, Form[Shown]]) -> Form[Shown]:
    """The form that the file's ending asks for."""
    for form in forms.values():
        if path.suffix.lower() == form.ending:
            return form
    endings = ", ".join(form.ending for form in forms.values())
    raise InputError(f"{path}: no form of the report has the ending {path.suffix!r}; use one of {endings}")


def write_text(path: Path, text: str) -> None:
    try:
        write_atomically(path, text.encode())
    except OSError as error:
        raise InputError(f"{path}: could not be written: {error.strerror}; {ELSEWHERE}") from None
