"""What is asked for and what is spoken, from the chat template to the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from loracheck.checking import check
from loracheck.probes import words_of
from suite_factory import CHAT_TEMPLATE, answering, call, make_suite, write_files

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.results import Report

# Shows its tools, and writes calls as Hermes does.
CALLS = "{% if message.tool_calls %}<tool_call>{{ message.tool_calls | tojson }}{% endif %}"
HERMES = CHAT_TEMPLATE.replace("{% endfor %}", CALLS + "{% endfor %}")
FENCED = f"```json\n{call()}\n```"
TAGGED = f"<tool_call>\n{call()}\n</tool_call>"
PYTHON = '[search_web(query="x")]'


def run(folder: Path, base: str, adapter: str, *, nulls: bool = False, template: str = HERMES) -> Report:
    suite = make_suite(write_files(folder, template), 8)
    return check(suite.with_nulls() if nulls else suite, engine=answering(base, adapter))


def test_a_base_that_ignores_its_template_is_not_taken_for_mute(tmp_path: Path) -> None:
    report = run(tmp_path, FENCED, FENCED)
    (probe,) = report.judged
    assert (report.verdict, probe.base_value, probe.ft_value) == ("pass", 1.0, 1.0)
    use = probe.comparison.dialect
    assert use is not None
    assert (use.name, use.spoken, use.base_counts, use.ft_counts) == ("hermes", "json", {"json": 8}, {"json": 8})
    assert any("a server that looks for Hermes <tool_call> sees no calls" in warning for warning in report.warnings)


def test_an_adapter_that_repairs_the_format_does_not_fail_for_it(tmp_path: Path) -> None:
    report = run(tmp_path, FENCED, TAGGED)
    (probe,) = report.judged
    assert (report.verdict, probe.ft_value) == ("pass", 1.0)
    assert probe.comparison.dialect
    assert probe.comparison.dialect.ft_counts == {"hermes": 8}


@pytest.mark.parametrize("base", [FENCED, TAGGED])
def test_an_adapter_that_gives_up_the_way_its_base_writes_calls_is_caught(tmp_path: Path, base: str) -> None:
    report = run(tmp_path, base, PYTHON)
    (probe,) = report.judged
    assert (report.verdict, probe.ft_value) == ("fail", 0.0)
    assert {case.ft.outcome for case in probe.cases} == {"malformed"}
    (reason,) = words_of(probe.kind).reasons(probe)
    assert "which its base does not write" in reason.headline


def test_one_that_gives_up_the_format_its_base_keeps_is_caught_though_another_server_would_read_it(
    tmp_path: Path,
) -> None:
    assert run(tmp_path, TAGGED, FENCED).verdict == "fail"


def test_null_adapters_are_read_as_the_cases_are(tmp_path: Path) -> None:
    suite = make_suite(write_files(tmp_path, HERMES), 8).with_nulls()
    (probe,) = check(suite, engine=answering(FENCED, FENCED, nulls=FENCED)).judged
    # One of the two sentinels is about another tool.
    assert probe.comparison.null.rates == (0.5, 0.5, 0.5)
    (probe,) = check(suite, engine=answering(FENCED, FENCED, nulls=PYTHON)).judged
    assert probe.comparison.null.rates == (0.0, 0.0, 0.0)


def test_where_we_add_the_tools_plain_json_is_what_was_asked(tmp_path: Path) -> None:
    without_tools = "{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}<tool_call>"
    report = run(tmp_path, call(), call(), template=without_tools)
    assert report.judged[0].comparison.dialect
    assert report.judged[0].comparison.dialect.name == "json"
    assert report.verdict == "pass"


def test_where_neither_view_makes_a_valid_call_nothing_was_compared(tmp_path: Path) -> None:
    report = run(tmp_path, "Hello.", "Hello.")
    (probe,) = report.judged
    assert (probe.verdict, probe.score, report.verdict, report.inconclusive) == ("pass", 1.0, "warn", True)
    (reason,) = words_of(probe.kind).reasons(probe)
    assert reason.headline == "Nothing was compared: neither view makes a valid call."
    assert reason.detail == "All 16 answers are without a call."


def test_answers_cut_off_in_thinking_are_told_with_the_fix(tmp_path: Path) -> None:
    thinking = CHAT_TEMPLATE.replace("<assistant>", "<assistant><think>")
    suite = make_suite(write_files(tmp_path, thinking), 8).with_defaults(max_new_tokens=5)
    report = check(suite, engine=answering("Let me see.", "Let me see."))
    told = [warning for warning in report.warnings if "still thinking" in warning]
    assert len(told) == 2, "once for each view"
    assert all("--max-new-tokens" in warning and "--no-thinking" in warning for warning in told)
