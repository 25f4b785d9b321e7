from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from loracheck.report.json import to_json
from loracheck.report.markdown import to_markdown
from loracheck.report.terminal import as_text
from report.reports import broken_case, full_report, probe, report

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "out.json"
    path.write_text(to_json(full_report()), encoding="ascii")
    return path


def test_a_report_is_shown_on_the_terminal_unless_told_otherwise(loracheck: Any, saved: Path) -> None:
    done = loracheck("report", saved)
    assert (done.code, done.err) == (0, "")
    assert done.out == loracheck("report", saved, "--format", "terminal").out == as_text(full_report())


def test_a_report_as_markdown(loracheck: Any, saved: Path) -> None:
    done = loracheck("report", saved, "--format", "markdown")
    assert (done.code, done.out, done.err) == (0, to_markdown(full_report()), "")


def test_a_report_as_junit_xml(loracheck: Any, saved: Path) -> None:
    done = loracheck("report", saved, "--format", "junit")
    assert done.code == 0
    assert ET.fromstring(done.out.encode()).get("tests") == "33"


def test_a_report_as_a_page(loracheck: Any, saved: Path) -> None:
    done = loracheck("report", saved, "--format", "html")
    assert done.code == 0
    assert done.out.startswith("<!doctype html>")


@pytest.mark.parametrize("form", ["terminal", "markdown", "junit", "html"])
def test_any_form_can_go_to_a_file(loracheck: Any, saved: Path, tmp_path: Path, form: str) -> None:
    printed = loracheck("report", saved, "--format", form).out
    done = loracheck("report", saved, "--format", form, "-o", tmp_path / "out.txt")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == printed


def test_xml_and_html_are_utf_8_whatever_the_terminal_speaks(spawn: Any, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text(to_json(report(probe(broken_case(text="naïve 猫 answer")))), encoding="ascii")
    process = spawn("report", path, "--format", "junit", PYTHONIOENCODING="ascii")
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    assert "naïve 猫 answer" in out


@pytest.mark.parametrize(("option", "coloured"), [("--color", True), ("--no-color", False)])
def test_colours_can_be_asked_for(loracheck: Any, saved: Path, tmp_path: Path, option: str, coloured: bool) -> None:
    assert ("\x1b[" in loracheck("report", saved, option).out) is coloured
    loracheck("report", saved, option, "-o", tmp_path / "out.txt")
    assert ("\x1b[" in (tmp_path / "out.txt").read_text(encoding="utf-8")) is coloured


def test_a_file_that_cannot_be_written_ends_with_2(loracheck: Any, saved: Path, tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "out.md"
    done = loracheck("report", saved, "--format", "markdown", "-o", missing)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"Error: {missing}: could not be written: No such file or directory\n"


def test_an_unknown_form_ends_with_2(loracheck: Any, saved: Path) -> None:
    done = loracheck("report", saved, "--format", "poem")
    assert (done.code, done.out) == (2, "")
    assert "'poem' is not one of 'terminal', 'markdown', 'junit', 'html'" in done.err
