from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from loracheck import check
from loracheck.report import FORMS
from loracheck.report.next_steps import Origin
from loracheck.report.terminal import as_text
from report.reports import broken_case, full_report, probe, report
from suite_factory import Files, answering, failing_from, make_suite

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "out.json"
    path.write_text(FORMS["json"].render(full_report()), encoding="ascii")
    return path


def test_a_report_is_shown_on_the_terminal_unless_told_otherwise(loracheck: Any, saved: Path) -> None:
    done = loracheck("report", saved)
    assert (done.code, done.err) == (0, "")
    assert done.out == loracheck("report", saved, "--format", "terminal").out
    assert done.out == as_text(full_report(), origin=Origin(files={"json": saved}))


def test_the_next_command_has_the_limits_that_were_typed(
    loracheck: Any, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(saved.parent)
    out = loracheck("report", saved.name, "--limit", "assert_z_gte=2").out
    assert f"loracheck report {saved.name} --limit assert_z_gte=2 -v" in out


def test_verbose_has_everything_and_no_next_step(loracheck: Any, saved: Path) -> None:
    assert loracheck("report", saved, "-v").out == as_text(full_report(), verbose=True)


def test_a_report_as_markdown(loracheck: Any, saved: Path) -> None:
    done = loracheck("report", saved, "--format", "markdown")
    assert (done.code, done.out, done.err) == (0, FORMS["markdown"].render(full_report()), "")


def test_a_report_as_junit_xml(loracheck: Any, saved: Path) -> None:
    done = loracheck("report", saved, "--format", "junit")
    assert done.code == 0
    assert ET.fromstring(done.out.encode()).get("tests") == "33"


def test_a_report_as_a_page(loracheck: Any, saved: Path) -> None:
    done = loracheck("report", saved, "--format", "html")
    assert done.code == 0
    assert done.out.startswith("<!doctype html>")


@pytest.mark.parametrize("form", ["terminal", *FORMS])
def test_any_form_can_go_to_a_file(loracheck: Any, saved: Path, tmp_path: Path, form: str) -> None:
    printed = loracheck("report", saved, "--format", form).out
    done = loracheck("report", saved, "--format", form, "-o", tmp_path / "out.txt")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == printed


def test_xml_and_html_are_utf_8_whatever_the_terminal_speaks(spawn: Any, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text(FORMS["json"].render(report(probe(broken_case(text="naïve 猫 answer")))), encoding="ascii")
    process = spawn("report", path, "--format", "junit", PYTHONIOENCODING="ascii")
    out, err = process.communicate()
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
    why = "could not be written: No such file or directory; write it elsewhere, or make room there"
    assert done.err == f"Error: {missing}: {why}\n"


def test_an_unknown_form_ends_with_2(loracheck: Any, saved: Path) -> None:
    done = loracheck("report", saved, "--format", "poem")
    assert (done.code, done.out) == (2, "")
    assert "no format 'poem'; give one of terminal, json, html, markdown, junit" in done.err


@pytest.mark.parametrize("content", [None, "", "{}", '{"schema_version": 99}', '{"schema_version": 1}'])
def test_report_refuses_what_is_no_report(loracheck: Any, tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "out.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    done = loracheck("report", path)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"Error: {path}: ")


@pytest.fixture
def judged(files: Files, tmp_path: Path) -> Path:
    """One of twelve calls is lost, which is 8.3 points: more than the limit of 5 allows."""
    path = tmp_path / "judged.json"
    report = check(make_suite(files, cases=12), engine=answering(adapter=failing_from(12)))
    assert report.verdict == "fail"
    report.save(path)
    return path


def test_a_report_is_judged_again_by_another_limit_and_says_so(loracheck: Any, judged: Path) -> None:
    before = judged.read_bytes()
    assert loracheck("report", judged).out.startswith("FAIL  tools_intact")
    done = loracheck("report", judged, "--limit", "assert_validity_delta_gte=-0.10")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("PASS  tools_intact")
    assert "Judged again with assert_validity_delta_gte = -0.1" in done.out
    assert "at least -10.0 points" in done.out
    assert judged.read_bytes() == before


def test_a_limit_may_be_for_one_probe_and_counts_before_one_for_all(loracheck: Any, judged: Path) -> None:
    one = ("--limit", "tools_intact.assert_validity_delta_gte=-0.10")
    every = ("--limit", "assert_validity_delta_gte=-0.01")
    for limits in ((*one,), (*one, *every), (*every, *one)):
        assert loracheck("report", judged, *limits).out.startswith("PASS  tools_intact")
    assert loracheck("report", judged, *every).out.startswith("FAIL  tools_intact")


def test_the_exit_code_of_a_report_judged_again_is_0_whatever_the_verdict(loracheck: Any, judged: Path) -> None:
    done = loracheck("report", judged, "--limit", "assert_hallucination_lte=0", "--limit", "assert_z_gte=-1e3")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("FAIL  tools_intact")


@pytest.mark.parametrize("form", ["terminal", *FORMS])
def test_every_form_of_a_report_judged_again_says_so(loracheck: Any, judged: Path, form: str) -> None:
    done = loracheck("report", judged, "--limit", "assert_validity_delta_gte=-0.10", "--format", form)
    assert (done.code, done.err) == (0, "")
    if form == "json":
        again = json.loads(done.out)
        assert (again["verdict"], again["judged_with"]) == ("pass", {"assert_validity_delta_gte": -0.1})
        assert again["probes"][0]["cases"] == json.loads(judged.read_bytes())["probes"][0]["cases"]
    else:
        assert "Judged again with assert_validity_delta_gte = -0.1" in html.unescape(done.out)


def test_a_report_judged_again_can_be_saved_and_judged_once_more(loracheck: Any, judged: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.json"
    limit = "assert_validity_delta_gte=-0.10"
    assert loracheck("report", judged, "--limit", limit, "--format", "json", "-o", again).out == ""
    assert loracheck("report", again, "-v").out == loracheck("report", judged, "-v", "--limit", limit).out
    back = loracheck("report", again, "--limit", "assert_validity_delta_gte=-0.05", "--format", "json")
    before, after = json.loads(judged.read_bytes()), json.loads(back.out)
    assert (after["verdict"], after["score"], after["probes"]) == (before["verdict"], before["score"], before["probes"])


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("assert_validity_gte=0.1", "Error: no limit 'assert_validity_gte'; there are assert_validity_delta_gte, "),
        ("cases=3", "Error: no limit 'cases'; there are "),
        ("=3", "Error: no limit ''; there are "),
        ("tools.assert_z_gte=2", "Error: no probe 'tools' in the report; it has tools_intact"),
        (
            "assert_abstention_gte=0.5",
            "Error: tools_intact: assert_abstention_gte needs cases with expect: no_call",
        ),
        ("assert_z_gte=many", "'assert_z_gte=many': write LIMIT=NUMBER, such as assert_validity_delta_gte=-0.10"),
        ("assert_z_gte=", "'assert_z_gte=': write LIMIT=NUMBER"),
        ("assert_z_gte", "'assert_z_gte': write LIMIT=NUMBER"),
        ("assert_z_gte=nan", "'assert_z_gte=nan': write LIMIT=NUMBER"),
        ("assert_z_gte=-inf", "'assert_z_gte=-inf': write LIMIT=NUMBER"),
    ],
)
def test_a_limit_that_there_is_not_ends_with_2_and_one_line_that_says_why(
    loracheck: Any, judged: Path, limit: str, said: str
) -> None:
    done = loracheck("report", judged, "--limit", limit)
    assert (done.code, done.out) == (2, "")
    (line,) = (line for line in done.err.splitlines() if "Error: " in line)
    assert said in line


# To show to others


@pytest.mark.parametrize("form", ["terminal", *FORMS])
def test_a_redacted_report_shows_no_prompt_and_no_answer_in_any_form(loracheck: Any, saved: Path, form: str) -> None:
    done = loracheck("report", saved, "--redact", "--format", form)
    assert (done.code, done.err) == (0, "")
    assert not [private for private in ("Search for", "search_web", "I cannot", "gguf") if private in done.out]


def test_a_redacted_report_is_read_again_and_compared(loracheck: Any, saved: Path, tmp_path: Path) -> None:
    shown = tmp_path / "shown.json"
    assert loracheck("report", saved, "--redact", "--format", "json", "-o", shown).code == 0
    assert "redacted" in loracheck("report", shown).out
    assert loracheck("diff", shown, shown).code == 0
    assert "the report is redacted and does not hold its suite" in loracheck("check", "--like", shown).err
    refused = loracheck("diff", saved, shown)
    assert refused.code == 2
    assert "one of the two reports is redacted" in refused.err


def test_other_limits_count_before_what_they_look_at_is_left_out(loracheck: Any, judged: Path) -> None:
    limit = ("--limit", "assert_validity_delta_gte=-0.99")
    whole, shown = (
        json.loads(loracheck("report", judged, *limit, *more, "--format", "json").out) for more in ((), ("--redact",))
    )
    assert whole["verdict"] == shown["verdict"]
    was, is_now = (data["probes"][-1]["evidence"] for data in (whole, shown))
    assert was["mean_arg_disagreement"] == is_now["mean_arg_disagreement"]


def test_what_locate_found_is_no_report_and_has_no_badge(loracheck: Any, tmp_path: Path) -> None:
    path = tmp_path / "located.json"
    path.write_text('{"schema_version": 1, "kind": "locate"}')
    done = loracheck("report", path, "--format", "badge")
    assert done.code == 2
    assert "located.json: what `locate` found, not the report of a check" in done.err
