from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.report.html.diff import Span, compare

WORDS = st.lists(st.sampled_from(["{", "}", '"', "name", "get", "_", " ", "\n", "é"]), max_size=40).map("".join)


def marked(side: tuple[Span, ...]) -> str:
    return "".join(f"[{span.text}]" if span.changed else span.text for span in side)


@pytest.mark.parametrize(
    ("base", "ft", "seen"),
    [
        ("same text", "same text", ("same text", "same text")),
        ("", "", ("", "")),
        ("call get_weather now", "call acme_get_weather now", ("call get_weather now", "call [acme_]get_weather now")),
        ('{"a": 1}', '{"a": 2}', ('{"a": [1]}', '{"a": [2]}')),
        ('{"a": 1}}', '{"a": 1', ('{"a": 1[}}]', '{"a": 1')),
        ("one two three four", "one 2 three 4", ("one [two] three [four]", "one [2] three [4]")),
    ],
)
def test_only_what_differs_is_marked(base: str, ft: str, seen: tuple[str, str]) -> None:
    left, right = compare(base, ft)
    assert (marked(left), marked(right)) == seen


@pytest.mark.parametrize(("base", "ft"), [("abc", "xyz"), ('{"name": 1}', "I cannot"), ("", "words"), ("words", "")])
def test_nothing_is_marked_where_nothing_is_common(base: str, ft: str) -> None:
    assert [marked(side) for side in compare(base, ft)] == [base, ft]


@given(st.one_of(st.text(), WORDS), st.one_of(st.text(), WORDS))
def test_the_spans_give_the_texts_back(base: str, ft: str) -> None:
    left, right = compare(base, ft)
    assert "".join(span.text for span in left) == base
    assert "".join(span.text for span in right) == ft


@pytest.mark.parametrize("letter", ["x", "{", "a b ", "é\n"])
def test_long_texts_take_no_time(letter: str) -> None:
    started = time.perf_counter()
    compare(letter * 20_000, f"no{letter * 19_000}{letter[::-1] * 900}")
    assert time.perf_counter() - started < 2
