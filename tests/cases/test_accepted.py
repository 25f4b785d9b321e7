from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.cases.accepted import accepted_arguments
from loracheck.scoring.arguments import arguments_match, gold_of

STRINGS = {"type": "array", "items": {"type": "string"}}
PROPERTIES = {
    "city": {"type": "string"},
    "days": STRINGS,
    "rows": {"type": "array", "items": STRINGS},
    "spot": {"type": "object", "properties": {"x": {"type": "number"}, "tags": STRINGS}},
    "spots": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "number"}}}},
}
PARAMETERS = {"type": "object", "properties": PROPERTIES}


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        ({}, [{}]),
        ({"city": "Rome"}, [{"city": "Rome"}]),
        ({"city": ["Rome", "Roma"]}, [{"city": "Rome"}, {"city": "Roma"}]),
        ({"city": ["Rome", None]}, [{"city": "Rome"}, {}]),
        ({"city": [None]}, [{}]),
        ({"city": None}, [{"city": None}]),
        ({"days": ["sat", "sun"]}, [{"days": ["sat", "sun"]}]),
        ({"days": [["sat"], ["sun"], None]}, [{"days": ["sat"]}, {"days": ["sun"]}, {}]),
        ({"days": []}, [{"days": []}]),
        ({"days": ["sat", None]}, [{"days": ["sat", None]}]),
        ({"rows": [["a"], ["b"]]}, [{"rows": [["a"], ["b"]]}]),
        ({"rows": [[["a"]], [["b"], ["c"]]]}, [{"rows": [["a"]]}, {"rows": [["b"], ["c"]]}]),
        (
            {"spot": {"x": [1, 2], "tags": ["a"]}},
            [{"spot": {"x": 1, "tags": ["a"]}}, {"spot": {"x": 2, "tags": ["a"]}}],
        ),
        ({"spot": [{"x": [1, None]}, None]}, [{"spot": {"x": 1}}, {"spot": {}}, {}]),
        ({"spots": [{"x": [1, 2]}]}, [{"spots": [{"x": 1}]}]),
        ({"spots": [[{"x": 1}], [{"x": 2}]]}, [{"spots": [{"x": 1}]}, {"spots": [{"x": 2}]}]),
        (
            {"city": ["Rome", "Roma"], "days": [["sat"], None]},
            [{"city": "Rome", "days": ["sat"]}, {"city": "Roma", "days": ["sat"]}, {"city": "Rome"}],
        ),
        ({"city": []}, []),
        ({"spot": {"x": []}}, []),
        ({"days": [{"x": []}]}, []),
    ],
)
def test_the_first_of_every_choice_and_then_each_other_one(
    gold: dict[str, Any], expected: list[dict[str, Any]]
) -> None:
    assert accepted_arguments(gold, PARAMETERS) == expected


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["x", "tags"]), inner, max_size=2),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(st.sampled_from([*PROPERTIES, "other"]), VALUES, max_size=4)


@given(ARGUMENTS)
def test_whatever_is_given_the_gold_arguments_accept(gold: dict[str, Any]) -> None:
    for arguments in accepted_arguments(gold, PARAMETERS):
        assert arguments_match(gold, arguments, PARAMETERS)


@given(ARGUMENTS)
def test_gold_arguments_made_from_a_call_accept_that_call_first(arguments: dict[str, Any]) -> None:
    gold = gold_of(arguments, PARAMETERS)
    assert accepted_arguments(gold, PARAMETERS)[:1] == [arguments]
