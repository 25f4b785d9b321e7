from __future__ import annotations

import io
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from loracheck import check
from loracheck.report.terminal import show
from suite_factory import Files, answering, call, failing_from, make_case, make_suite

if TYPE_CHECKING:
    from loracheck import Report


def shown(report: Report, *, width: int = 80, terminal: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, highlight=False, emoji=False, markup=False)
    show(report, console)
    return out.getvalue()


def run(files: Files, ft: Any = None, *, cases: int = 4, noise: Any = "no idea", **changes: Any) -> Report:
    return check(make_suite(files, cases, **changes).with_nulls(), engine=answering(ft=ft, noise=noise))


def columns(text: str) -> int:
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide


def test_verdict_signals_and_changed_cases_are_shown(files: Files) -> None:
    lines = shown(run(files, failing_from(4))).splitlines()
    assert [line.rstrip() for line in lines] == [
        "FAIL  tools_intact  score 0.76",
        "ft 75% valid, base 100%, delta -25.0 points, 0% wrong tool names, z +4.1 against",
        "noise; missed: delta -25.0 points is under the limit of -5.0",
        "",
        "                    base     ft    change  limit",
        "valid calls       100.0%  75.0%  -25.0 pt  MISSED at least -5.0 pt",
        "wrong tool names           0.0%            kept   at most 10.0%",
        "z against noise            +4.1            kept   at least +3.0; noise: 0% ± 18%",
        "argument drift             0.0%            not judged; 3 pairs compared",
        "95% interval                               25% to 100% of 4 cases valid",
        "",
        "1 of 4 cases changed their outcome:",
        "  case4: Search for 4.",
        '    base valid         {"name": "search_web", "arguments": {"query": "x"}}',
        "    ft   no_call       I cannot do that.",
    ]


def test_a_pass_says_that_nothing_changed(files: Files) -> None:
    lines = shown(run(files)).splitlines()
    assert lines[0].startswith("PASS  tools_intact")
    assert lines[-1] == "No case changed its outcome (4 cases)."


def test_a_verdict_without_a_z_says_why(files: Files) -> None:
    unjudged = check(make_suite(files), engine=answering())
    assert "not judged: the suite has no null_adapter probe" in " ".join(shown(unjudged).split())


def test_warnings_are_shown(files: Files) -> None:
    report = run(files).model_copy(update={"warnings": ("a\x1b[2Jb",)})
    assert shown(report).splitlines()[-1] == "Warning: a\\x1b[2Jb"


def test_two_probes_have_a_verdict_together(files: Files) -> None:
    suite = make_suite(files)
    (probe,) = suite.suite
    twice = suite.model_copy(update={"suite": (probe, probe.model_copy(update={"name": "again"}))})
    assert shown(check(twice, engine=answering())).splitlines()[-1] == "PASS  all together  score 1.00"


def test_only_so_many_changed_cases_are_shown(files: Files) -> None:
    lines = shown(run(files, "nothing", cases=12)).splitlines()
    assert sum(line.startswith("  case") for line in lines) == 10
    assert lines[-1] == "  … and 2 more; --json FILE keeps every answer"


@pytest.mark.parametrize("width", [40, 80])
def test_every_line_fits_the_terminal(files: Files, width: int) -> None:
    words = "a long answer about 猫 and 犬 " * 20
    cases = [make_case(number, id=f"{'x' * 100}{number}", prompt=words) for number in (1, 2)]
    suite = make_suite(files, name="n" * 100).with_cases(cases).with_nulls()
    saturated = {"search_web": call(), "calculator": call("calculator", a=1, b=2)}
    report = check(suite, engine=answering(ft=words, noise=lambda prompt: saturated[prompt.id]))
    for line in shown(report.model_copy(update={"warnings": ("w" * 300,)}), width=width).splitlines():
        assert columns(line) <= width, line


def test_no_colour_outside_a_terminal(files: Files) -> None:
    report = run(files, failing_from(4))
    assert "\x1b[" not in shown(report)
    assert "\x1b[1;31mFAIL" in shown(report, terminal=True)


def test_markup_in_answers_is_text(files: Files) -> None:
    suite = make_suite(files).with_cases([make_case(prompt="[bold]a[/nonsense] :smile:")])
    lines = shown(check(suite, engine=answering(ft="[red]no[/red]"))).splitlines()
    assert lines[-3] == "  case1: [bold]a[/nonsense] :smile:"
    assert lines[-1].endswith("[red]no[/red]")


@pytest.mark.parametrize("missing", ["limits", "null", "hallucination_rate", "exact_arguments_base"])
@pytest.mark.parametrize("instead", [None, "words", [], {}])
def test_evidence_that_is_not_there_or_of_another_kind_is_a_dash(files: Files, missing: str, instead: Any) -> None:
    report = run(files)
    noise, probe = report.probes
    changed = probe.model_copy(update={"evidence": {**probe.evidence, "exact_arguments_ft": 1.0, missing: instead}})
    assert "–" in shown(report.model_copy(update={"probes": (noise, changed)}))
