from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linear_time import takes_linear_time
from loracheck.report.html.parts import Span, compare

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
def test_long_texts_take_time_by_their_length_alone(letter: str) -> None:
    def compare_texts(scale: int) -> object:
        return compare(letter * 20 * scale, f"no{letter * 19 * scale}{letter[::-1] * (9 * scale // 10)}")

    assert takes_linear_time(lambda: compare_texts(1_000), lambda: compare_texts(4_000))
