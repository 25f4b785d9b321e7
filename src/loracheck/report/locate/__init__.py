"""What `locate` found, in every form: one module each, and the words that they share."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from loracheck.errors import InputError
from loracheck.locating.located import Located
from loracheck.report import write_text

FORMS = {"json": ".json", "html": ".html", "markdown": ".md"}
"""Each is a module here, and the ending of its files."""


def render(located: Located, form: str) -> str:
    text: str = import_module(f"{__name__}.{form}").render(located)
    return text


def save_located(located: Located, path: Path) -> None:
    """Write it in the form that the file's ending asks for."""
    for form, ending in FORMS.items():
        if path.suffix.lower() == ending:
            write_text(path, render(located, form))
            return
    raise InputError(
        f"{path}: nothing is written with the ending {path.suffix!r}; use one of {', '.join(FORMS.values())}"
    )
