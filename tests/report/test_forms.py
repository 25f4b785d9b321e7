"""The forms a report is saved in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from loracheck.errors import InputError
from loracheck.report import FORMS, save
from report.reports import full_report

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("form", FORMS)
def test_a_report_is_saved_in_the_form_of_its_ending(tmp_path: Path, form: str) -> None:
    for ending in (FORMS[form].ending, FORMS[form].ending.upper()):
        path = tmp_path / f"out{ending}"
        save(full_report(), path)
        assert path.read_text(encoding="utf-8") == FORMS[form].render(full_report())


def test_an_ending_that_is_no_form_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"out\.pdf: .* '\.pdf'; use one of \.json, \.html, \.md, \.xml"):
        save(full_report(), tmp_path / "out.pdf")


def test_a_file_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"out\.json: could not be written: "):
        save(full_report(), tmp_path / "missing" / "out.json")
