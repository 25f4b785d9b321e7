from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loracheck.report.annotations import annotations
from report.reports import broken_case, case, probe, report


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
        ("error", {"title": "tools_intact, two: valid to no_call"}),
    ]
    assert read(lines[1])[2].endswith("\nft: Sorry,\nno.")
    assert "%0Aft: Sorry,%0Ano." in lines[1]


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
