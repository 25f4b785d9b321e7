"""The short screen: within its lines and columns whatever the report holds, and in plain words."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from loracheck.checking import check
from loracheck.cli.main import cli
from loracheck.report import FORMS
from loracheck.report.brief import MOST_LINES
from loracheck.report.next_steps import Origin
from loracheck.report.outcomes import OUTCOME_NAMES
from loracheck.report.terminal import as_text
from loracheck.results import ProbeReport, Report, overall
from report.factory import make_report
from report.reports import FULL_EVIDENCE, LIMITS, answer, broken_case, case, full_report, probe, report
from report.test_content import judged, silent, words
from report.test_terminal import columns
from report.test_tries import SHOWN as WITH_TRIES
from suite_factory import Files, answering, failing_from, make_suite

if TYPE_CHECKING:
    from collections.abc import Iterator

LONG = "a long text about 猫 and 犬 " * 40
SMOKE = Origin(("loracheck", "check", "--base", "m.gguf", "--adapter", "a.gguf", "--cases", "smoke"))
SAVED = Origin(files={"json": Path("out.json")})
ORIGINS = {
    "none": Origin(),
    "command": SMOKE,
    "saved": SAVED,
    "with page": replace(SAVED, files={"json": Path("out.json"), "html": Path("out.html")}),
    "long": Origin(("loracheck", "check", "--base", "x" * 40, "--adapter", "y" * 40, "--cases", "smoke")),
    "too long": Origin(("loracheck", "check", "--base", "x" * 200, "--adapter", "y" * 200, "--cases", "smoke")),
}
EVERY_LIMIT = {
    **LIMITS,
    "assert_exact_arguments_gte": 0.99,
    "assert_abstention_gte": 0.99,
    "assert_all_calls_gte": 0.99,
    "assert_pass_hat_k_delta_gte": 0.5,
}
EVERYTHING_MISSED = {
    **FULL_EVIDENCE,
    "limits": EVERY_LIMIT,
    "hallucination_rate": 0.5,
    "several": {
        "cases": 9,
        "right_base": 1.0,
        "right_ft": 0.1,
        "missing_ft": 7,
        "wrong_arguments_ft": 3,
        "extra_ft": 2,
    },
    "tries": WITH_TRIES.judged[0].comparison.tries,
    "subject": "candidate",
}


def loud(made: Report) -> Report:
    """The same with warnings, judged again, about a candidate with a long name."""
    origin = made.provenance.model_copy(update={"candidate": made.provenance.model.model_copy(update={"path": LONG})})
    return made.model_copy(
        update={"warnings": (LONG, LONG, LONG), "judged_with": dict.fromkeys(EVERY_LIMIT, 1.0), "provenance": origin}
    )


def together(*probes: ProbeReport) -> Report:
    return report(*probes, verdict=overall(probes)[0])


def built() -> Iterator[tuple[str, Report]]:
    """Every verdict, and all that can be said about it."""
    right = [case(f"{n}") for n in range(40)]
    lossy = [*right[:30], *(broken_case(f"b{n}", LONG, prompt=LONG) for n in range(10))]
    misnamed = [case(f"m{n}", answer(LONG, "wrong_tool", call={"name": LONG})) for n in range(20)]
    quiet = case("q", answer(), answer("no", "no_call"), expect="no_call")
    passing, failing = judged(*right), judged(*lossy)
    missing_all = probe(
        *lossy, *misnamed, quiet, evidence=EVERYTHING_MISSED, z_score=1.0, name=LONG, message=LONG, ft_value=0.5
    )
    broken = probe(*right, verdict="error", message=LONG, base_value=None, ft_value=None, evidence={})
    nothing = probe(verdict="skip", message="no cases to judge", base_value=None, ft_value=None, evidence={})
    newer = ProbeReport(name=LONG, kind="something_new", verdict="warn", message=LONG, evidence={"a": [1]})
    for adapter in ("toolcaller", "renamer", "chatty"):
        yield adapter, make_report(adapter)
    yield "full", full_report()
    yield "nothing changed", together(passing)
    yield "lost within the limits", together(judged(*right, broken_case(text=LONG, prompt=LONG)))
    yield "too few", together(judged(*right[:4]))
    yield "long answers", together(failing)
    yield "long names", together(judged(*misnamed))
    yield "every limit missed", together(missing_all)
    yield "every limit kept", together(probe(*right, evidence={**EVERYTHING_MISSED, "limits": LIMITS}, verdict="pass"))
    yield "nothing compared", together(judged(*silent("no_call", 9), *silent("truncated", 7), *silent("malformed", 5)))
    yield "only quiet cases", together(judged(quiet))
    yield "skip", together(nothing)
    yield "error", together(broken)
    yield "a newer kind", together(newer)
    yield "no probe", report()
    yield "two pass", together(passing, passing.model_copy(update={"name": LONG}))
    yield "one of two fails", together(passing, failing)
    yield "two fail in everything", together(missing_all, missing_all)
    yield "thirty pass", together(*(passing.model_copy(update={"name": f"probe{n}"}) for n in range(30)))
    yield "thirty fail", together(*(missing_all.model_copy(update={"name": f"{n}{LONG}"}) for n in range(30)))
    yield "all verdicts", together(passing, failing, broken, nothing, newer, missing_all)
    yield "tries", WITH_TRIES


BUILT = dict(built())
VERDICTS = {made.verdict for made in BUILT.values()}


def test_every_verdict_is_among_those_built() -> None:
    assert set(MOST_LINES) == VERDICTS


@pytest.mark.parametrize("name", BUILT)
@pytest.mark.parametrize("is_loud", [False, True], ids=["plain", "loud"])
def test_a_verdict_fits_its_lines_and_80_columns(name: str, is_loud: bool) -> None:
    made = loud(BUILT[name]) if is_loud else BUILT[name]
    for origin in (Origin(), ORIGINS["long"], ORIGINS["with page"]) if is_loud else ORIGINS.values():
        lines = as_text(made, origin=origin).splitlines()
        assert len(lines) <= (25 if made.verdict in ("fail", "error") else 15)
        assert max(map(columns, lines)) <= 80
        assert lines[0]
        assert lines[-1]
        assert not any(line != line.rstrip() for line in lines)
        assert not any(not first and not second for first, second in pairwise(lines))
        assert any(line.startswith(made.verdict.upper()) for line in lines)


@pytest.mark.parametrize("name", BUILT)
def test_no_word_needs_statistics_to_be_understood(name: str) -> None:
    text = as_text(BUILT[name], origin=SAVED)
    assert not re.search(r"\b(KL|ft|pt|McNemar|Holm|Wilson|one-sided|nulls)\b", text)


def commands(text: str) -> list[list[str]]:
    """Those on the screen, as a shell would read them."""
    joined = text.replace("\\\n", " ")
    return [shlex.split(written) for written in re.findall(r"loracheck (?:check|report|demo) .*", joined)]


@pytest.mark.parametrize("origin", [name for name in ORIGINS if name not in ("none", "too long")])
@pytest.mark.parametrize("name", ["toolcaller", "renamer", "full", "too few", "nothing compared", "skip", "two pass"])
def test_the_next_command_is_one_that_the_command_line_knows(name: str, origin: str) -> None:
    printed = commands(as_text(BUILT[name], origin=ORIGINS[origin]))
    assert printed
    for _, command, *typed in printed:
        called = cli.commands[command]
        with called.make_context(called.name, typed) as context:
            assert context.params["verbose"] or context.params.get("cases_file") or context.params.get("output")


def test_a_command_too_long_for_the_screen_is_told_in_words() -> None:
    text = as_text(full_report(), origin=ORIGINS["too long"])
    assert "the same command with -v" in text
    assert "--cases core" in text
    assert not commands(text)


def test_an_unsure_verdict_on_the_small_pack_is_settled_by_the_large_one() -> None:
    unsure, sure = together(judged(*(case(f"{n}") for n in range(11)))), BUILT["toolcaller"]
    wanted = ["loracheck", "check", "--base", "m.gguf", "--adapter", "a.gguf", "--cases", "core"]
    assert wanted in commands(as_text(unsure, origin=SMOKE))
    own = replace(SMOKE, command=(*SMOKE.command[:-1], "mine.jsonl"))
    assert not any("core" in words for words in commands(as_text(unsure, origin=own)))
    assert not any("core" in words for words in commands(as_text(sure, origin=SMOKE)))


def test_a_fail_shows_why_what_was_judged_and_one_case_whole() -> None:
    assert as_text(make_report("renamer"), origin=SAVED).splitlines() == [
        "FAIL  tools_intact",
        "32 of 32 answers name a wrong tool, such as acme_get_weather for get_weather.",
        "That is 100.0% of the valid calls; the limit is 10.0%.",
        "",
        "                      base adapter      change  limit",
        "valid calls         100.0%  100.0% +0.0 points  kept   at least -5.0 points",
        "wrong tool names            100.0%              MISSED at most 10.0%",
        "above null adapters         z +5.6              kept   at least z +3.0",
        "",
        "One of 32 broken cases, search_web_4: Search the web for jazz.",
        '  base     right tool  {"name": "search_web", "arguments": {"query": "jazz"}}',
        '  adapter  wrong tool  {"name": "acme_search_web", "arguments": {"query":',
        '                       "jazz"}}',
        "",
        "More cases and figures: loracheck report out.json -v",
        "Every case, in a browser: loracheck report out.json --format html -o out.html",
    ]


def test_only_what_was_judged_is_in_the_table(files: Files) -> None:
    made = check(make_suite(files, cases=12), engine=answering(adapter=failing_from(10)))
    lines = as_text(made).splitlines()
    assert "valid calls      100.0%   75.0% -25.0 points  MISSED at least -5.0 points" in lines
    assert not any("not judged" in line for line in lines)


def test_a_long_answer_is_shown_whole_as_far_as_there_is_room() -> None:
    told = "Of course! There are many ways to do that, and I can walk you through each of them. Where do we start?"
    text = as_text(together(judged(*(case(f"{n}") for n in range(9)), broken_case(text=told))))
    assert told in " ".join(text.split())
    assert "The broken case, case1: Search for case1." in text


def test_answers_that_part_late_are_shown_where_they_part() -> None:
    same = "x" * 2000
    late = case(base=answer(f"{same}right"), ft=answer(f"{same}wrong", "malformed"), differs_at=2000)
    text = as_text(report(probe(late)))
    assert f"…{'x' * 20}right" in text
    assert f"…{'x' * 20}wrong" in text


def test_a_fail_in_which_nothing_broke_shows_what_is_wrong_in_both() -> None:
    wrong = answer('{"name": "other"}', "wrong_tool", call={"name": "other"})
    text = as_text(together(judged(*(case(f"{n}", wrong, wrong) for n in range(9)))))
    assert "Wrong in both, 0: Search for 0." in text
    assert text.count('wrong tool  {"name": "other"}') == 2


def test_a_warning_nobody_can_act_on_waits_for_verbose(files: Files) -> None:
    made = check(make_suite(files, 12).with_nulls(), engine=answering(nulls='{"name": "x", "arguments": {"a": 1}}'))
    acted_on = "m.gguf: 4 tensors of the adapter are ignored"
    noted = "tools_intact: no case where both views make a valid call: how arguments drifted could not be compared"
    made = made.model_copy(update={"warnings": (noted, acted_on)})
    assert f"Warning: {acted_on}" in as_text(made)
    assert "drifted" not in as_text(made)
    assert "drifted" in as_text(made, verbose=True)


def test_of_two_probes_the_one_that_failed_comes_first() -> None:
    lines = as_text(BUILT["one of two fails"]).splitlines()
    assert lines[0] == "FAIL  all together"
    assert lines[1].startswith("FAIL  tools_intact")
    assert lines[4:6] == [
        "PASS  tools_intact  may be chance",
        "Nothing broke: the 40 of 40 cases the base gets right are still right.",
    ]
    assert "tools_intact valid calls 100.0%   75.0% -25.0 points  MISSED" in lines


def test_of_many_probes_at_least_the_verdicts_of_the_worst_are_there() -> None:
    starts = [line.partition(" ")[0] for line in as_text(BUILT["all verdicts"]).splitlines()]
    verdicts = [start for start in starts if start.isupper()]
    assert verdicts == ["ERROR", "ERROR", "FAIL", "FAIL", "WARN", "SKIP", "PASS"]
    passed = as_text(BUILT["thirty pass"], origin=SAVED).splitlines()
    assert passed[:3] == ["PASS  all together", *(f"PASS  probe{n}  may be chance" for n in (0, 1))]


# One word, one meaning


@pytest.mark.parametrize("form", ["terminal", "markdown", "html", "junit"])
@pytest.mark.parametrize("adapter", ["renamer", "chatty"])
def test_valid_is_said_of_calls_that_fit_the_schema_and_of_nothing_else(adapter: Any, form: str) -> None:
    """An answer's outcome is told by the tool it calls: a valid call may be one of a wrong tool."""
    for text in (words(make_report(adapter), form), as_text(make_report(adapter), origin=SAVED)):
        around = re.findall(r"(?:\S+ )?\bvalid\b(?: \S+)?", re.sub(r"adapter [\d.]+% valid", "", text))
        assert around or form == "junit"
        assert all(re.search(r"valid calls?\b", phrase) for phrase in around), around
        assert not any(re.search(rf"\b{outcome}\b", text) for outcome in OUTCOME_NAMES if "_" in outcome), text


def test_right_and_wrong_tools_add_up_to_the_valid_calls() -> None:
    cases = [*(case(f"{n}") for n in range(7)), *(case(f"w{n}", answer(outcome="wrong_tool")) for n in range(2))]
    made = judged(*cases, broken_case("x"), broken_case("y"))
    text = as_text(together(made), verbose=True)
    assert "valid calls         100.0%   81.8%" in text
    heads, counts = (line.split("  ") for line in text.splitlines() if "right tool  " in line and "{" not in line)
    assert [head.strip() for head in heads if head.strip()][-3:] == ["right tool", "wrong tool", "no call"]
    assert [int(count) for count in counts if count.strip().isdigit()] == [7, 2, 2]


def test_a_call_where_none_was_asked_for_is_no_right_tool() -> None:
    loud_case = case("q", answer(), answer("no", "no_call"), expect="no_call")
    made = report(probe(loud_case, evidence={"limits": {**LIMITS, "assert_abstention_gte": 0.9}}))
    for form in ("terminal", "markdown", "html"):
        assert "call not asked for" in words(made, form)
        assert "right tool" not in words(made, form)


def test_every_outcome_has_a_name_of_its_own() -> None:
    assert len(set(OUTCOME_NAMES.values())) == len(OUTCOME_NAMES)
    assert "valid" not in " ".join(OUTCOME_NAMES.values())
    assert set(FORMS) >= {"html", "markdown", "junit"}
