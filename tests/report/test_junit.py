from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.report.junit import render
from report.reports import answer, broken_case, case, full_report, probe, report

# What Jenkins' xunit plugin asks for in its junit-10.xsd: attributes an element must have, may have, and its children.
SHAPE: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors"}, {"time", "skipped"}, {"testcase"}),
    "testcase": ({"name"}, {"classname", "time"}, {"failure", "error", "skipped", "system-out"}),
    "failure": (set(), {"type", "message"}, set()),
    "error": (set(), {"type", "message"}, set()),
    "skipped": (set(), {"type", "message"}, set()),
    "system-out": (set(), set(), set()),
}


def parsed(made: Any) -> ET.Element:
    """The XML as a parser of bytes sees it, once its shape and its sums are right."""
    root = ET.fromstring(render(made).encode("utf-8"))
    assert root.tag == "testsuites"
    for element in root.iter():
        must, may, children = SHAPE[element.tag]
        assert must <= set(element.attrib) <= must | may
        assert {child.tag for child in element} <= children
    for holder in (root, *root.iter("testsuite")):
        for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            if name in holder.attrib:
                assert int(holder.attrib[name]) == len(list(holder.iter(tag)))
    return root


def outcome(made: Any, name: str) -> str:
    """passed, failure, error or skipped."""
    (test,) = (test for test in parsed(made).iter("testcase") if test.get("name") == name)
    return next((child.tag for child in test if child.tag != "system-out"), "passed")


def test_there_is_a_test_for_the_verdict_and_one_for_each_case() -> None:
    root = parsed(report(probe(case("one"), broken_case("two"))))
    assert [(test.get("classname"), test.get("name")) for test in root.iter("testcase")] == [
        ("loracheck", "tools_intact"),
        ("loracheck.tools_intact", "one"),
        ("loracheck.tools_intact", "two"),
    ]
    assert (root.get("tests"), root.get("failures"), root.get("time")) == ("3", "2", "12.500")


@pytest.mark.parametrize(
    ("base", "ft", "expect", "said"),
    [
        ("valid", "valid", "call", "passed"),
        ("valid", "no_call", "call", "failure"),
        ("valid", "wrong_tool", "call", "failure"),
        ("no_call", "valid", "call", "passed"),
        ("no_call", "malformed", "call", "skipped"),
        ("wrong_tool", "wrong_tool", "call", "skipped"),
        ("no_call", "no_call", "no_call", "passed"),
        ("no_call", "valid", "no_call", "failure"),
        ("valid", "no_call", "no_call", "passed"),
        ("valid", "wrong_tool", "no_call", "skipped"),
    ],
)
def test_a_case_fails_when_the_adapter_broke_it_and_is_skipped_when_the_base_fails_too(
    base: str, ft: str, expect: str, said: str
) -> None:
    made = case("one", answer(outcome=ft), answer(outcome=base), expect=expect)
    assert outcome(report(probe(made)), "one") == said


@pytest.mark.parametrize(
    ("verdict", "said"),
    [("pass", "passed"), ("warn", "passed"), ("fail", "failure"), ("error", "error"), ("skip", "skipped")],
)
def test_the_verdict_is_a_test_of_its_own(verdict: str, said: str) -> None:
    assert outcome(report(probe(case("one"), verdict=verdict)), "tools_intact") == said


def test_a_failure_says_what_became_of_what_and_quotes_both_answers() -> None:
    failure = next(parsed(report(probe(broken_case("one", "Sorry,\nno."), verdict="pass"))).iter("failure"))
    assert failure.get("message") == "right tool to no call"
    assert failure.text is not None
    assert '"name": "search_web"' in failure.text
    assert "adapter:\nSorry,\nno.\n" in failure.text


def test_a_case_cannot_be_taken_for_the_verdict() -> None:
    tests = list(parsed(report(probe(case("tools_intact")))).iter("testcase"))
    assert len({(test.get("classname"), test.get("name")) for test in tests}) == 2


def test_null_adapters_are_no_tests() -> None:
    assert parsed(report(probe(kind="null_adapter", verdict="skip"))).get("tests") == "0"


def test_a_long_answer_is_cut() -> None:
    assert len(render(report(probe(broken_case(text="x" * 1_000_000))))) < 10_000


def test_a_full_report_is_well_formed() -> None:
    assert parsed(full_report()).get("failures") == "8"


def test_what_xml_forbids_is_shown_as_an_escape() -> None:
    made = broken_case("a\x00b", "\x1b[2J\ud800\ufffe\uffff]]><failure>&amp;")
    text = render(report(probe(made)))
    assert 'name="a\\x00b"' in text
    failures = list(parsed(report(probe(made))).iter("failure"))
    assert "\\x1b[2J\\ud800\\ufffe\\uffff]]><failure>&amp;" in str(failures[-1].text)


@given(st.text(), st.text(min_size=1))
def test_any_text_makes_well_formed_xml(text: str, name: str) -> None:
    parsed(report(probe(broken_case(name, text, prompt=text), name=name, message=text)))
