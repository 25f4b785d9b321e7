from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.scoring.drift import ReadAnswer, divergence, measure_drift, places_of, value_spans
from loracheck.scoring.evidence import Moved

SURE = (math.log(0.9), math.log(0.05))
TORN = (math.log(0.45), math.log(0.45))


def read(text: str, calls: list[dict[str, Any]], changed: dict[int, str] | None = None) -> ReadAnswer:
    """An answer with one token a letter; the tuned view is torn at the `changed` places and expects another token."""
    changed = changed or {}
    places = len(text) + 1
    letters = [*text, "<end>"]
    return ReadAnswer(
        case="c1",
        text=text,
        calls=calls,
        ends=tuple(len(text[: place + 1].encode()) for place in range(len(text))),
        base_log_probs=[SURE] * places,
        ft_log_probs=[TORN if place in changed else SURE for place in range(places)],
        base_top=letters,
        ft_top=[changed.get(place, letter) for place, letter in enumerate(letters)],
    )


def values_in(text: str, *calls: dict[str, Any]) -> list[str]:
    data = text.encode()
    return [data[start:end].decode() for start, end in value_spans(text, calls)]


def test_views_that_expect_the_same_have_no_drift_and_nothing_moved() -> None:
    drift = measure_drift([read('{"name": "f", "arguments": {"q": "cats"}}', [{"arguments": {"q": "cats"}}])])
    assert drift is not None
    assert drift.kl_format == drift.kl_values == drift.changed_format == drift.changed_values == drift.changed == 0.0
    assert drift.worst_format == drift.worst_values == 0.0
    assert drift.moved == ()


def test_a_change_inside_a_value_is_told_from_one_in_the_format() -> None:
    text = '{"name": "f", "arguments": {"q": "cats"}}'
    calls = [{"name": "f", "arguments": {"q": "cats"}}]
    in_value = measure_drift([read(text, calls, {text.index("cats"): "d"})])
    in_name = measure_drift([read(text, calls, {text.index("f", 5): "g"})])
    assert in_value is not None
    assert in_name is not None
    assert (in_value.changed_values, in_value.changed_format) == (0.25, 0.0)
    assert (in_name.changed_values, in_name.changed_format) == (0.0, pytest.approx(1 / (len(text) - 4 + 1)))
    assert in_value.changed == in_name.changed == 1 / (len(text) + 1)
    assert (in_value.worst_format, in_name.worst_values) == (0.0, 0.0)
    (moved,) = in_value.moved
    assert in_value.worst_values == moved.kl > 0
    assert (moved.case, moved.token, moved.kind, moved.base_top, moved.ft_top) == (("c1", "c", "value", "c", "d"))


def test_the_end_of_the_answer_is_a_place_too() -> None:
    drift = measure_drift([read("{}", [], {2: "and"})])
    assert drift is not None
    assert drift.positions == 3
    assert drift.moved[0] == Moved(
        case="c1", position=2, token="", kind="format", kl=divergence(SURE, TORN), base_top="<end>", ft_top="and"
    )


def test_without_answers_there_is_no_drift_to_speak_of() -> None:
    assert measure_drift([]) is None


def test_the_five_places_that_moved_most_are_kept_the_farthest_first() -> None:
    moved = measure_drift([read("abcdefghij", [], dict.fromkeys(range(8), "z"))])
    assert moved is not None
    assert [place.position for place in moved.moved] == [0, 1, 2, 3, 4]


def test_divergence_is_the_textbook_one_when_the_candidates_are_all_there_is() -> None:
    base, ft = (math.log(0.75), math.log(0.25)), (math.log(0.5), math.log(0.5))
    assert divergence(base, ft) == pytest.approx(0.75 * math.log(1.5) + 0.25 * math.log(0.5), abs=1e-5)


def test_what_lies_beyond_the_candidates_counts_as_one_more() -> None:
    base, ft = (math.log(0.8),), (math.log(0.4),)
    assert divergence(base, ft) == pytest.approx(0.8 * math.log(2) + 0.2 * math.log(0.2 / 0.6))


@given(st.lists(st.floats(-40, -0.7), min_size=1, max_size=1), st.lists(st.floats(-40, -0.7), min_size=1, max_size=1))
def test_divergence_is_never_negative_and_zero_for_equals(base: list[float], ft: list[float]) -> None:
    assert divergence(base, ft) >= 0
    assert divergence(base, base) == 0


@pytest.mark.parametrize(
    ("text", "arguments", "values"),
    [
        ('{"arguments": {"a": 1, "b": [true, null], "c": {"d": "x"}}}', {"a": 1, "b": [True, None], "c": {"d": "x"}},
         ["1", "true", "null", "x"]),
        ("[f(a=1, b=True, c='x')]", {"a": 1, "b": True, "c": "x"}, ["1", "True", "x"]),
        ('{"q": "caf\\u00e9"}', {"q": "café"}, ["caf\\u00e9"]),
        ('{"q": "café au lait"}', {"q": "café au lait"}, ["café au lait"]),
        ('{"q": "x"}', {"q": "not in it"}, []),
        ('{"q": ""}', {"q": ""}, []),
    ],
)  # fmt: skip
def test_values_are_found_however_they_are_spelt(text: str, arguments: dict[str, Any], values: list[str]) -> None:
    assert values_in(text, {"arguments": arguments}) == values


def test_a_value_that_also_stands_in_a_key_or_in_the_name_is_found_in_its_own_place() -> None:
    text = '{"name": "f1", "arguments": {"a1": 1, "b": "b"}}'
    spans = value_spans(text, [{"name": "f1", "arguments": {"a1": 1, "b": "b"}}])
    assert spans == [(text.index(" 1,") + 1, text.index(" 1,") + 2), (text.rindex("b"), text.rindex("b") + 1)]


@given(st.text(max_size=60), st.dictionaries(st.text(), st.text() | st.integers() | st.none(), max_size=4))
def test_any_text_and_call_give_spans_in_order_inside_the_text(text: str, arguments: dict[str, Any]) -> None:
    spans = value_spans(text, [{"arguments": arguments}])
    flat = [edge for span in spans for edge in span]
    assert flat == sorted(flat)
    assert not flat or flat[-1] <= len(text.encode("utf-8", "replace"))


def test_every_token_and_the_end_are_places() -> None:
    assert [place.token for place in places_of(read("añb", []))] == ["a", "ñ", "b", ""]
