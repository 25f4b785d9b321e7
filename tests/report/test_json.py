from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from loracheck.checking import check
from loracheck.errors import ReportError
from loracheck.report.json import read_report, render
from suite_factory import Files, answering, failing_from, make_suite

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.results import Report

TOP = {
    "schema_version", "loracheck_version", "verdict", "score", "probes", "provenance", "timing", "warnings",
    "judged_with", "holm_p", "redacted",
}  # fmt: skip


@pytest.fixture
def report(files: Files) -> Report:
    return check(make_suite(files, 8).with_nulls(), engine=answering(adapter=failing_from(4)))


def refusal(path: Path, content: bytes | str | None = None) -> str:
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ReportError) as refused:
        read_report(path)
    return str(refused.value).replace(str(path), path.name)


def test_the_top_level_is_that_of_the_design(report: Report) -> None:
    data = json.loads(render(report))
    assert set(data) == TOP
    assert (data["schema_version"], data["verdict"], data["warnings"]) == (1, "fail", [])


def test_a_report_is_read_back_as_it_was_written(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text(render(report), encoding="ascii")
    assert render(read_report(path)) == path.read_text(encoding="ascii") == render(report)


def test_what_a_newer_loracheck_adds_is_passed_over(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text(json.dumps({**json.loads(render(report)), "new": 1}), encoding="utf-8")
    assert render(read_report(path)) == render(report)


@pytest.mark.parametrize("content", ["", "{", "[]", "3", "{}", "words", b"\xff\xfe", "[" * 100_000, "9" * 5000])
def test_another_file_is_no_report(tmp_path: Path, content: Any) -> None:
    said = refusal(tmp_path / "out.json", content)
    assert said == "out.json: not a loracheck report; `loracheck check ... --json REPORT.json` writes one"


def test_a_report_that_was_cut_short_is_no_report(report: Report, tmp_path: Path) -> None:
    said = refusal(tmp_path / "out.json", render(report)[:-100])
    assert said.startswith("out.json: not a loracheck report")


def test_a_report_of_another_schema_version_says_so(tmp_path: Path) -> None:
    said = refusal(tmp_path / "out.json", '{"schema_version": 2}')
    fix = "use the version that wrote it, or run the check again"
    assert said == f"out.json: a report of schema version 2; this loracheck reads 1; {fix}"


def test_a_report_with_a_part_missing_names_it(report: Report, tmp_path: Path) -> None:
    data = json.loads(render(report))
    del data["probes"][1]["cases"][0]["ft"]["text"]
    said = refusal(tmp_path / "out.json", json.dumps(data))
    assert (
        said == "out.json: not a whole report: probes.1.cases.0.ft.text: Field required; was it edited, or cut short?"
    )


def test_missing_files_and_folders_say_so(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.json") == "none.json: no such file; check the path"
    assert refusal(tmp_path).endswith(": this is a folder; name a file in it")
