"""All that `--verbose` says; the short screen is in test_brief.py."""

from __future__ import annotations

import io
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from loracheck.checking import check
from loracheck.report.terminal import show
from loracheck.results import ProbeReport
from report.reports import (
    FULL_EVIDENCE,
    LIMITS,
    OLD_EVIDENCE,
    answer,
    broken_case,
    case,
    full_report,
    probe,
    report,
)
from suite_factory import Files, answering, call, failing_from, make_case, make_suite

if TYPE_CHECKING:
    from loracheck.results import Report


def shown(made: Report, *, width: int = 80, terminal: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, highlight=False, emoji=False, markup=False)
    show(made, console, verbose=True)
    return out.getvalue()


def run(files: Files, adapter: Any = None, *, cases: int = 4) -> Report:
    return check(make_suite(files, cases).with_nulls(), engine=answering(adapter=adapter))


def columns(text: str) -> int:
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide


def test_verdict_figures_and_changed_cases_are_shown() -> None:
    """The verdict with its reasons is above the figures."""
    lines = [line.rstrip() for line in shown(full_report()).splitlines()]
    assert lines[0] == "FAIL  tools_intact  score 0.50  a real drop, size unsure"
    figures = lines.index("                      base adapter       change limit")
    assert " ".join(lines[1:figures]).strip() == (
        "7 of 32 calls are lost: 5 answered without a call, 2 cannot be read. Valid calls went from 100.0% to 78.1%, "
        "a change of -21.9 points; the limit is -5.0 points. Too few cases to be sure: the change may be -39 to -3 "
        "points (95% interval), and the limit is -5.0 points. It takes about 210 cases in all for even odds of being "
        "sure, and about 1,240 for four in five."
    )
    assert lines[figures + 1 : figures + 14] == [
        "valid calls         100.0%   78.1% -21.9 points MISSED at least -5.0 points",
        "wrong tool names      0.0%    0.0%              kept   at most 10.0%",
        "above null adapters z +5.5  z +4.3              kept   at least z +3.0; they get",
        "                                                0% ± 18%",
        "p, null adapters                                not judged; exact, one-sided",
        "                                                0.0016",
        "argument drift               16.7%              not judged; 25 pairs compared",
        "exact arguments      71.9%   59.4%              not judged",
        "strict schema        90.0%   70.0%              not judged",
        "abstains            100.0%   50.0%              not judged; 4 cases that fit no",
        "                                                tool",
        "95% interval                                    61% to 89% valid calls, of 32",
        "",
    ]
    matrix = lines.index("base ↓  adapter →  right tool  unreadable call  no call")
    paragraphs = " ".join(lines[figures + 14 : matrix])
    for sentence in (
        "Valid calls: 7 lost, 0 gained of 32; change -22 points, 95% interval -39 to -3. If changed cases were as "
        "likely gained as lost, a split this uneven would come up in 1.6% of checks.",
        "Exact calls: 6 lost, 2 gained of 32; change -12 points, 95% interval -29 to +6; such a split in 29% of "
        "checks.",
        "A check of 32 cases FAILs from 2 lost cases; a true drop of 9.1 points FAILs 4 runs in 5; p < 0.05 needs 17. "
        "If 2.0% of answers flip by chance, as measured, that alone FAILs 13% of runs.",
        "Asked once more, 1 case at a time, the base changed 12.5% of its answers and 3.1% of their outcomes.",
        "z by rank of the null adapters: ×0.50 +4.9, ×1.00 +4.3, ×2.00 +3.1.",
        "Drift on the base's own calls: format KL 0.012, 2.1%; values KL 0.45, 12.0% of tokens changed.",
        "Most moved: case7, token 12: “{” to “I”.",
        "Dialect: 3 answers with the adapter are in plain JSON.",
    ):
        assert sentence in paragraphs
    assert "Too few cases" not in paragraphs
    assert lines[matrix + 1 : matrix + 7] == [
        "right tool                 25                2        5",
        "",
        "7 of 32 cases changed their outcome:",
        "  case26: Search for case26.",
        '    base    right tool      {"name": "search_web", "arguments": {"query": "x"}}',
        "    adapter no call         I cannot do that.",
    ]


def test_what_a_check_finds_is_shown(files: Files) -> None:
    lines = [line.rstrip() for line in shown(run(files, failing_from(10), cases=12)).splitlines()]
    assert lines[0].startswith("FAIL  tools_intact")
    assert "valid calls         100.0%   75.0% -25.0 points MISSED at least -5.0 points" in lines
    text = " ".join(lines)
    assert "Valid calls: 3 lost, 0 gained of 12; change -25 points, 95% interval -" in text
    assert "a split this uneven would come up in 25% of checks." in text
    assert lines[lines.index("base ↓  adapter →  right tool  no call") + 1] == "right tool                  9        3"


def test_a_pass_says_that_nothing_changed(files: Files) -> None:
    lines = shown(run(files, cases=12)).splitlines()
    assert lines[0].startswith("PASS  tools_intact")
    assert lines[-1] == "No case changed its outcome (12 cases)."
    assert not any("base ↓" in line for line in lines)


def test_an_old_report_shows_what_it_has() -> None:
    lines = [line.rstrip() for line in shown(report(probe(case(), broken_case("two")))).splitlines()]
    place = lines.index("valid calls         100.0%   50.0% -50.0 points MISSED at least -5.0 points")
    assert lines[place + 1 : place + 6] == [
        "wrong tool names              0.0%              kept   at most 10.0%",
        "above null adapters              –              not judged: no null adapters",
        "argument drift                   –              not judged; – pairs compared",
        "95% interval                                    9% to 91% valid calls, of 2",
        "",
    ]
    assert "1 of 2 cases changed their outcome:" in lines


def test_a_report_without_grades_says_what_it_knows() -> None:
    cases = full_report().probes[0].cases
    lines = [line.rstrip() for line in shown(report(probe(*cases, evidence=OLD_EVIDENCE))).splitlines()]
    assert lines[0] == "FAIL  tools_intact  score 0.50"
    text = " ".join(lines)
    # What it calls the cases needed is the number for even odds.
    assert "It takes about 210 cases in all for even odds of being sure. " in text
    assert "A true drop of 17 points gives p < 0.05 in 4 runs of 5." in text
    assert "p, null adapters" not in text


@pytest.mark.parametrize(("floor", "said"), [(0.5, "kept   at least 50.0%"), (0.6, "MISSED at least 60.0%")])
def test_limits_that_a_suite_adds_are_judged(floor: float, said: str) -> None:
    added = {**LIMITS, "assert_exact_arguments_gte": floor, "assert_abstention_gte": floor}
    rates = {"exact_arguments_base": 1.0, "exact_arguments_ft": 0.5, "abstention": {"cases": 2, "base": 1.0, "ft": 0.5}}
    text = shown(report(probe(case(), evidence={"limits": added, **rates})))
    for row in ("exact arguments", "abstains"):
        assert said in next(line for line in text.splitlines() if line.startswith(row))


@pytest.mark.parametrize("instead", [None, "words", 7, -1.5, [], {}, [7], {"base": []}, True, 10**400])
def test_evidence_of_another_kind_breaks_nothing(instead: Any) -> None:
    whole = dict(full_report().probes[0])
    inner = {"validity": instead, "moved": [instead], "valid": instead, "ft": instead}
    for part in FULL_EVIDENCE:
        for changed in ({part: instead}, {part: inner}):
            made = report(ProbeReport.model_validate({**whole, "evidence": {**FULL_EVIDENCE, **changed}}))
            assert shown(made).startswith("FAIL")


def test_a_verdict_without_a_z_says_why(files: Files) -> None:
    unjudged = check(make_suite(files), engine=answering())
    assert "not judged: the suite has no null_adapter probe" in " ".join(shown(unjudged).split())


def test_warnings_are_shown(files: Files) -> None:
    warned = run(files).model_copy(update={"warnings": ("a\x1b[2Jb",)})
    assert shown(warned).splitlines()[-1] == "Warning: a\\x1b[2Jb"


def test_two_probes_have_a_verdict_together(files: Files) -> None:
    suite = make_suite(files)
    (only,) = suite.entries
    twice = suite.model_copy(update={"entries": (only, only.model_copy(update={"name": "again"}))})
    lines = shown(check(twice, engine=answering())).splitlines()
    last = lines.index("PASS  all together  score 1.00")
    assert " ".join(" ".join(lines[last + 1 :]).split()) == (
        "2 probes are 2 tries: if 1 answer in 50 flips by chance, at least one of them FAILs in 15% of runs."
    )


def test_only_so_many_changed_cases_are_shown() -> None:
    lines = shown(report(probe(*(broken_case(f"case{n}") for n in range(12))))).splitlines()
    assert sum(line.startswith("  case") for line in lines) == 10
    assert lines[-1] == "  … and 2 more; --json FILE keeps every answer"


@pytest.mark.parametrize("width", [40, 80])
def test_every_line_fits_the_terminal(files: Files, width: int) -> None:
    words = "a long answer about 猫 and 犬 " * 20
    cases = [make_case(number, id=f"{'x' * 100}{number}", prompt=words) for number in (1, 2)]
    suite = make_suite(files, name="n" * 100).with_cases(cases).with_nulls()
    saturated = {"search_web": call(), "calculator": call("calculator", a=1, b=2)}
    made = check(suite, engine=answering(adapter=words, nulls=lambda prompt: saturated[prompt.id]))
    for line in shown(made.model_copy(update={"warnings": ("w" * 300,)}), width=width).splitlines():
        assert columns(line) <= width, line


def test_no_colour_outside_a_terminal() -> None:
    assert "\x1b[" not in shown(full_report())
    assert "\x1b[1;31mFAIL" in shown(full_report(), terminal=True)


@pytest.mark.parametrize(
    ("color", "no_color", "terminal", "coloured"),
    [
        (None, "", True, True),
        (None, "", False, False),
        (None, "1", True, False),
        (True, "1", False, True),
        (True, "", False, True),
        (False, "", True, False),
    ],
)
def test_colour_is_for_terminals_and_for_those_who_ask(
    monkeypatch: pytest.MonkeyPatch, color: bool | None, no_color: str, terminal: bool, coloured: bool
) -> None:
    for name in ("FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", no_color)
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr("sys.stdout", out)
    show(full_report(), color=color)
    assert ("\x1b[" in out.getvalue()) is coloured


def test_markup_in_answers_is_text(files: Files) -> None:
    suite = make_suite(files).with_cases([make_case(prompt="[bold]a[/nonsense] :smile:")])
    lines = shown(check(suite, engine=answering(adapter="[red]no[/red]"))).splitlines()
    place = lines.index("  case1: [bold]a[/nonsense] :smile:")
    assert lines[place + 2].endswith("[red]no[/red]")


@pytest.mark.parametrize("missing", ["null", "hallucination_rate", "exact_arguments_base"])
@pytest.mark.parametrize("instead", [None, "words", [], {}])
def test_evidence_that_is_not_there_or_of_another_kind_is_a_dash(files: Files, missing: str, instead: Any) -> None:
    _, judged = run(files).probes
    evidence = {**judged.comparison.model_dump(), "exact_arguments_ft": 1.0, missing: instead}
    assert "–" in shown(report(ProbeReport.model_validate({**dict(judged), "evidence": evidence})))


@pytest.mark.parametrize("instead", [None, "words", [], {}, {"assert_validity_delta_gte": "words"}])
def test_limits_that_are_not_there_or_of_another_kind_are_the_default_ones(instead: Any) -> None:
    text = shown(report(probe(case(), evidence={"validity_delta": 0.0, "limits": instead})))
    assert "kept   at least -5.0 points" in text


def test_a_report_without_its_cases_still_has_their_outcomes() -> None:
    lines = shown(report(full_report().probes[0].model_copy(update={"cases": ()}))).splitlines()
    assert "base ↓  adapter →  right tool  unreadable call  no call" in lines


def test_answers_that_part_late_are_shown_where_they_part() -> None:
    same = "x" * 200
    late = case(base=answer(f"{same}right"), ft=answer(f"{same}wrong", "malformed"), differs_at=200)
    text = shown(report(probe(late)))
    assert f"…{'x' * 20}right" in text
    assert f"…{'x' * 20}wrong" in text
