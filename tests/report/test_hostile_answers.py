"""Whatever a model writes, its report can be written, read and shown."""

from __future__ import annotations

import io
import json
import unicodedata
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from loracheck.checking import check
from loracheck.report.json import read_report, render
from loracheck.report.terminal import show
from suite_factory import Files, answering, call, make_suite

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.results import Report

HOSTILE = {
    "lone surrogates in the text": "a\ud800b\udfff",
    "lone surrogates in the arguments": '{"name": "search_web", "arguments": {"query": "\\ud800"}}',
    "NaN": '{"name": "search_web", "arguments": {"query": "x", "n": NaN, "m": [Infinity, {"k": -Infinity}]}}',
    "control characters": "\x1b[2J\x1b]0;title\x07\r\b\x00\x9b31m\u202eevil\u200b\n\ttab",
    "nested at the limit": '{"name": "search_web", "arguments": {"query": ' + "[" * 197 + "]" * 197 + "}}",
    "nested 50,000 deep": '{"a":' * 50_000,
    "a long integer": '{"name": "search_web", "arguments": {"query": ' + "9" * 4300 + "}}",
    "an integer too long": '{"name": "search_web", "arguments": {"query": ' + "9" * 10_000 + "}}",
    "duplicate keys": '{"name": "a", "name": "search_web", "arguments": {}, "arguments": {"query": "x"}}',
    "a name that is a list": '{"name": ["search_web"], "arguments": 3}',
    "a quarter of a megabyte of text": "x" * 250_000,
    "a quarter of a megabyte of braces": "{" * 250_000,
    "nothing": "",
    "blanks": " \n\t ",
}

# Control, format, surrogate, private-use and line-breaking characters.
ACTING = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def rendered(report: Report) -> str:
    out = io.StringIO()
    show(report, Console(file=out, width=80, highlight=False, emoji=False, markup=False))
    return out.getvalue()


def survives(report: Report, path: Path) -> str:
    path.write_text(render(report), encoding="ascii")
    again = read_report(path)
    assert render(again) == render(report)
    text = rendered(report)
    assert rendered(again) == text
    text.encode("utf-8")
    assert ACTING.isdisjoint(unicodedata.category(char) for char in text.replace("\n", ""))
    return text


@pytest.mark.parametrize("answer", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_answer_survives_the_report(files: Files, tmp_path: Path, answer: str) -> None:
    suite = make_suite(files, cases=1).with_defaults(max_new_tokens=10_000_000)
    report = check(suite, engine=answering(base=answer, adapter=call()))
    survives(report, tmp_path / "out.json")
    assert report.probes[0].cases[0].base.text == answer


def test_the_report_is_json_for_everybody(files: Files, tmp_path: Path) -> None:
    report = check(make_suite(files, cases=1), engine=answering(adapter=HOSTILE["NaN"]))
    (tmp_path / "out.json").write_text(render(report), encoding="ascii")

    def refuse(constant: str) -> None:
        pytest.fail(f"{constant} is not JSON")

    data = json.loads((tmp_path / "out.json").read_bytes(), parse_constant=refuse)
    arguments = data["probes"][0]["cases"][0]["ft"]["call"]["arguments"]
    assert arguments == {"query": "x", "n": "nan", "m": ["inf", {"k": "-inf"}]}


def test_control_characters_are_shown_as_escapes(files: Files, tmp_path: Path) -> None:
    report = check(make_suite(files, cases=1), engine=answering(adapter=HOSTILE["control characters"]))
    text = survives(report, tmp_path / "out.json")
    assert "\\x1b[2J\\x1b]0;title\\x07\\x0d\\x08\\x00\\x9b31m\\u202eevil" in text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.text(st.characters(), max_size=60))
def test_any_text_survives_the_report(files: Files, tmp_path: Path, answer: str) -> None:
    report = check(make_suite(files, cases=1), engine=answering(base=answer, adapter=call(query=answer)))
    survives(report, tmp_path / "out.json")
