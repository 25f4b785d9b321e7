from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from loracheck.report import FORMS
from report.reports import broken_case, case, probe, report

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.json"
    all_right = probe(*(case(f"case{n}") for n in range(4)), verdict="pass")
    path.write_text(FORMS["json"].render(report(all_right)), encoding="ascii")
    return path


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.json"
    cases = [broken_case("case0"), *(case(f"case{n}") for n in range(1, 4))]
    path.write_text(FORMS["json"].render(report(probe(*cases, verdict="fail"))), encoding="ascii")
    return path


def test_a_worse_report_ends_with_1_and_says_why(loracheck: Any, good: Path, bad: Path) -> None:
    done = loracheck("diff", good, bad)
    assert (done.code, done.err) == (1, "")
    compared = "A: mine.gguf@0.5 against base.gguf\nB: mine.gguf@0.5 against base.gguf\n"
    assert done.out.startswith(f"{compared}\nPASS → FAIL  tools_intact\n")
    assert "B is worse than A:\n" in done.out
    assert "(1 lost, 0 gained: McNemar p 1, may be chance)" in " ".join(done.out.split())


def test_the_same_or_a_better_report_ends_with_0(loracheck: Any, good: Path, bad: Path) -> None:
    assert loracheck("diff", good, good).code == 0
    assert loracheck("diff", bad, good).code == 0
    assert loracheck("diff", bad, bad).code == 0


def test_a_better_report_says_why(loracheck: Any, good: Path, bad: Path) -> None:
    out = " ".join(loracheck("diff", bad, good).out.split())
    better = "better: tools_intact: valid calls, adapter less base: -25.0 points in A, +0.0 points in B"
    assert f"B is better than A: {better}" in out


def test_json_and_html_are_written_whatever_the_verdict(loracheck: Any, good: Path, bad: Path, tmp_path: Path) -> None:
    done = loracheck("diff", good, bad, "--json", tmp_path / "d.json", "--html", tmp_path / "d.html")
    assert done.code == 1
    assert json.loads((tmp_path / "d.json").read_bytes())["probes"][0]["broke"][0]["id"] == "case0"
    assert "A is <bdi>good.json</bdi>, B is <bdi>bad.json</bdi>" in (tmp_path / "d.html").read_text(encoding="utf-8")


def test_other_models_are_said_loudly(loracheck: Any, good: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    elsewhere = report(probe(case("case1"), verdict="pass"), provenance={"model": {"path": "x", "sha256": "x"}})
    other.write_text(FORMS["json"].render(elsewhere), encoding="ascii")
    assert loracheck("diff", good, other).out.startswith("NOT THE SAME: the base models differ")


def test_reports_without_a_case_in_common_end_with_2(loracheck: Any, good: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(FORMS["json"].render(report(probe(case("another")))), encoding="ascii")
    done = loracheck("diff", good, other)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"Error: {good} and {other}: the two reports have no case in common")


def test_what_is_no_report_ends_with_2(loracheck: Any, good: Path, tmp_path: Path) -> None:
    for pair in ((good, tmp_path / "none.json"), (tmp_path / "none.json", good)):
        done = loracheck("diff", *pair)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"Error: {tmp_path / 'none.json'}: ")


def test_a_file_that_cannot_be_written_ends_with_2(loracheck: Any, good: Path, tmp_path: Path) -> None:
    done = loracheck("diff", good, good, "--json", tmp_path / "missing" / "d.json")
    assert (done.code, done.out) == (2, "")
    assert "could not be written: No such file or directory" in done.err


def test_the_help_says_when_b_is_worse(loracheck: Any) -> None:
    out = " ".join(loracheck("diff", "--help").out.split())
    assert "Exit codes: 0 B is not worse, 1 B is worse" in out
    assert "assert_validity_delta_gte (-0.05)" in out
    assert "may be chance (McNemar p of 0.05 or more); the exit code is 1 all the same" in out


@pytest.mark.parametrize(("option", "coloured"), [("--color", True), ("--no-color", False)])
def test_colours_can_be_asked_for(loracheck: Any, good: Path, option: str, coloured: bool) -> None:
    assert ("\x1b[" in loracheck("diff", good, good, option).out) is coloured
