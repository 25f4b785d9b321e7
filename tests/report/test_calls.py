"""Several calls of one answer, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from loracheck.report import FORMS
from loracheck.report.calls import CallLine, MadeCall, call_lines, lost_a_call, whole_answer
from loracheck.scoring.several import ExpectedCall, match_calls
from report.reports import answer, case, probe, report
from report.test_html import HOSTILE, Page

if TYPE_CHECKING:
    from loracheck.results import CaseReport, ViewAnswer

ROME, OSLO, NEWS = (
    {"name": "get_weather", "arguments": {"city": "Rome"}},
    {"name": "get_weather", "arguments": {"city": "Oslo"}},
    {"name": "read_news", "arguments": {}},
)
EXPECTED = (ExpectedCall("get_weather", {"city": ["Rome", "Roma"]}), ExpectedCall("get_weather", {"city": "Oslo"}))


def answered(*calls: Any, order: Any = "any") -> ViewAnswer:
    first, *more = calls or (None,)
    matched = match_calls(EXPECTED, calls, order=order)
    return answer("…", "valid" if calls else "no_call", call=first, more_calls=more, matched=matched)


def several(base: ViewAnswer, ft: ViewAnswer, **changes: Any) -> CaseReport:
    return case("two_cities", ft, base, gold_tool_name="get_weather", gold_calls=EXPECTED, **changes)


def made(city: str, fate: Any = "right") -> MadeCall:
    return MadeCall(f'get_weather {{"city": "{city}"}}', fate)


def test_a_call_is_on_the_line_of_the_one_it_was_made_for_whatever_its_place() -> None:
    lines = call_lines(several(answered(ROME, OSLO), answered(OSLO, ROME)))
    assert lines == [
        CallLine('get_weather {"city": ["Rome", "Roma"]}', made("Rome"), made("Rome")),
        CallLine('get_weather {"city": "Oslo"}', made("Oslo"), made("Oslo")),
    ]


def test_what_is_missing_wrong_or_too_much_stands_out() -> None:
    bergen = {"name": "get_weather", "arguments": {"city": "Bergen"}}
    one = several(answered(ROME, NEWS, NEWS), answered(bergen, ROME, NEWS, OSLO))
    base, ft = one.base.matched, one.ft.matched
    news, extra = MadeCall("read_news {}", "not expected"), made("Bergen", "not expected")
    assert [(line.base, line.adapter) for line in call_lines(one)] == [
        (made("Rome"), made("Rome")),
        (None, made("Oslo")),
        (news, news),
        (news, None),
        (None, extra),
    ]
    assert whole_answer(base) == "1 missing, 2 not expected"
    assert whole_answer(ft) == "2 not expected"
    assert whole_answer(answered(ROME, bergen).matched) == "1 with other arguments"
    assert whole_answer(answered(OSLO, ROME, order="strict").matched) == "in another order"
    assert whole_answer(answered(ROME, OSLO).matched) == "all calls right"


def test_a_case_that_takes_one_call_has_no_lines() -> None:
    assert call_lines(case()) == []
    assert not lost_a_call(case())


def test_calls_that_are_not_there_are_passed_over() -> None:
    """A file may be edited by hand."""
    whole = several(answered(ROME, OSLO), answered(ROME, OSLO))
    lost = whole.model_copy(update={"ft": whole.ft.model_copy(update={"call": None, "more_calls": ()})})
    assert [line.adapter for line in call_lines(lost)] == [None, None]
    odd = whole.model_copy(update={"ft": whole.ft.model_copy(update={"call": 3, "more_calls": ({"name": [1]},)})})
    assert [line.adapter and line.adapter.text for line in call_lines(odd)] == ["3", "[1] null"]


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_both_pages_show_them_where_the_adapter_lost_one_and_nothing_broke(form: str) -> None:
    shown = report(probe(several(answered(ROME, OSLO), answered(OSLO)), case("other"), verdict="pass"))
    assert not shown.probes[0].broken, "the first call is right"
    text = Page(FORMS[form].render(shown)).text.replace("&#95;", "_").replace("&#34;", '"')
    for words in ("two_cities", "all calls right", "1 missing", '"city": "Oslo"', "lost one of several calls"):
        assert words in text


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_hostile_calls_are_words(form: str) -> None:
    evil = {"name": HOSTILE, "arguments": {HOSTILE: [HOSTILE, float("nan")]}}
    shown = report(probe(several(answered(ROME, OSLO), answered(evil, ROME)), verdict="pass"))
    text = FORMS[form].render(shown)
    text.encode("utf-8")
    assert Page(text).tags.count("script") == (form == "html")
    assert "img" not in Page(text).tags
