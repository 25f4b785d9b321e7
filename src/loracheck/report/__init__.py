"""Show: a report in any of its forms. Each renderer sees the report and nothing else.

A new form is a new module here with a function `render(report) -> str`, and one line below.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from loracheck.errors import InputError
from loracheck.files import write_atomically

if TYPE_CHECKING:
    from loracheck.results import Report


@dataclass(frozen=True, slots=True)
class Form:
    """One way to show a report. Its module is imported when it is first asked for: commands start fast."""

    module: str
    ending: str
    """Of the files it is written to."""
    about: str

    def render(self, report: Report) -> str:
        text: str = import_module(f"{__name__}.{self.module}").render(report)
        return text


FORMS: dict[str, Form] = {
    "json": Form("json", ".json", "Write the whole report here."),
    "html": Form("html", ".html", "Write a page for the browser."),
    "markdown": Form("markdown", ".md", "Write a summary for a pull request."),
    "junit": Form("junit", ".xml", "Write JUnit XML for a CI system."),
}


def save(report: Report, path: Path) -> None:
    """Write the report in the form that the file's ending asks for."""
    for form in FORMS.values():
        if path.suffix.lower() == form.ending:
            write_text(path, form.render(report))
            return
    endings = ", ".join(form.ending for form in FORMS.values())
    raise InputError(f"{path}: no form of the report has the ending {path.suffix!r}; use one of {endings}")


def write_text(path: Path, text: str) -> None:
    try:
        write_atomically(path, text.encode())
    except OSError as error:
        raise InputError(f"{path}: could not be written: {error.strerror}") from None
