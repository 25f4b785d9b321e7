from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loracheck.errors import InputError
from loracheck.report import markdown
from loracheck.report.ci import annotations, append_step_summary
from report.reports import broken_case, case, full_report, probe, report

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def github(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")


def read(line: str) -> tuple[str, dict[str, str], str]:
    """The line as the runner reads it."""
    found = re.fullmatch(r"::(\w+) ([^:]*)::([^\r\n]*)", line)
    assert found, line
    properties = dict(item.split("=", 1) for item in found[2].split(","))
    return found[1], {name: unquote(value) for name, value in properties.items()}, unquote(found[3])


def test_a_failed_verdict_comes_first_and_then_the_cases_that_broke() -> None:
    lines = list(annotations(report(probe(case("one"), broken_case("two", "Sorry,\nno.")))))
    assert [read(line)[:2] for line in lines] == [
        ("error", {"title": "fail: tools_intact"}),
        ("error", {"title": "tools_intact, two: right tool to no call"}),
    ]
    assert read(lines[0])[2].startswith("1 of 2 calls is lost: answered without a call. Valid calls went from 100.0%")
    assert read(lines[1])[2].endswith("\nadapter: Sorry,\nno.")
    assert "%0Aadapter: Sorry,%0Ano." in lines[1]


def test_what_broke_within_the_limits_is_a_warning() -> None:
    assert [read(line)[0] for line in annotations(report(probe(broken_case(), verdict="pass")))] == ["warning"]


def test_nothing_is_said_outside_github_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("", "false"):
        monkeypatch.setenv("GITHUB_ACTIONS", value)
        assert list(annotations(report(probe(broken_case())))) == []
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert list(annotations(report(probe(broken_case())))) == []


def test_there_are_no_more_than_github_shows() -> None:
    assert len(list(annotations(report(probe(*(broken_case(f"case{n}") for n in range(50))))))) == 10


def test_the_suite_file_is_named_where_it_is_known() -> None:
    made = report(probe(broken_case()), provenance={"suite_file": "ci/a,b:c%.yaml"})
    assert {read(line)[1]["file"] for line in annotations(made)} == {"ci/a,b:c%.yaml"}
    assert "file=ci/a%2Cb%3Ac%25.yaml," in next(annotations(made))


def test_a_suite_file_that_is_no_name_is_not_named() -> None:
    for file in (None, 3, {"path": "a.yaml"}, []):
        made = report(probe(broken_case()), provenance={"suite_file": file})
        assert all("file" not in read(line)[1] for line in annotations(made))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(), st.text(min_size=1))
def test_no_text_can_start_another_command(text: str, name: str) -> None:
    for line in annotations(report(probe(broken_case(name, text), name=name, message=text))):
        level, properties, _ = read(line)
        assert (level, set(properties)) == ("error", {"title"})
        line.encode("utf-8")


def test_the_step_summary_is_added_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    append_step_summary(full_report())
    assert summary.read_text(encoding="utf-8") == f"before\n{markdown.render(full_report())}\n"


def test_without_a_step_summary_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    append_step_summary(full_report())
    assert list(tmp_path.iterdir()) == []


def test_a_step_summary_that_cannot_be_written_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "missing" / "summary.md"))
    with pytest.raises(InputError, match=r"summary\.md: the step summary could not be written: No such file"):
        append_step_summary(full_report())
