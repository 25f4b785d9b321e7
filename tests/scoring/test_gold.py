import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.scoring import same_value
from loracheck.scoring.gold import arguments_match, gold_of

from .json_values import JSON, JSON_WITH_NAN, KEYS, nested

STRING = {"type": "string"}
ARRAY = {"type": "array", "items": STRING}
TABLE = {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}


def accepts(gold, value, schema):
    """Whether a gold value takes this one, for an argument of that schema."""
    return arguments_match({"x": gold}, {"x": value}, {"type": "object", "properties": {"x": schema}})


def may_be_left_out(gold, schema):
    return arguments_match({"x": gold}, {}, {"type": "object", "properties": {"x": schema}})


@pytest.mark.parametrize(
    ("gold", "arguments", "match"),
    [
        ({}, {}, True),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": 1}, {}, False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": None}, {"a": None}, True),
        ({"a": None}, {}, False),
        ({"a": float("nan")}, {"a": float("nan")}, False),
        ({"a": {"b": 1}}, {"a": {"b": 1}}, True),
        ({"a": {"b": 1}}, {"a": 1}, False),
        ({"a": {}}, {}, False),
    ],
)
def test_plain_values_must_be_there_and_the_same(gold, arguments, match):
    assert arguments_match(gold, arguments, None) is match


@pytest.mark.parametrize("schema", [STRING, {}, None, {"type": ["string", "null"]}, {"type": "any"}, {"enum": []}, 3])
def test_a_list_where_no_array_is_asked_for_is_a_choice(schema):
    assert accepts(["a", "b"], "b", schema)
    assert not accepts(["a", "b"], "c", schema)
    assert not accepts(["a", "b"], ["a", "b"], schema)
    assert accepts([["a", "b"]], ["a", "b"], schema)
    assert not accepts([], "a", schema)


@pytest.mark.parametrize(
    "schema",
    [
        ARRAY,
        {"type": "array"},
        {"items": STRING},
        {"type": ["array", "null"]},
        {"anyOf": [{"type": "null"}, ARRAY]},
        {"$ref": "#/properties/y"},
    ],
)
def test_where_an_array_is_asked_for_a_list_is_the_array_and_a_list_of_lists_a_choice(schema):
    def accepts(gold, value):
        return arguments_match({"x": gold}, {"x": value}, {"properties": {"x": schema, "y": ARRAY}})

    assert accepts(["a", "b"], ["a", "b"])
    assert not accepts(["a", "b"], "a")
    assert not accepts(["a", "b"], ["b", "a"])
    assert accepts([["a", "b"], ["b", "a"]], ["b", "a"])
    assert not accepts([["a", "b"], ["b", "a"]], [["a", "b"], ["b", "a"]])
    assert accepts([], [])
    assert accepts([[]], [])


def test_an_array_of_arrays_is_one_level_deeper():
    rows = [[1, 2], [3, 4]]
    assert accepts(rows, rows, TABLE)
    assert not accepts(rows, [1, 2], TABLE)
    assert accepts([rows, [[5]]], rows, TABLE)
    assert accepts([rows, [[5]]], [[5]], TABLE)
    assert accepts([[], [[5]]], [], TABLE)
    assert accepts([[]], [[]], TABLE)
    assert not accepts([[]], [], TABLE)


def test_null_in_a_choice_lets_the_argument_be_left_out():
    assert may_be_left_out(["a", None], STRING)
    assert accepts(["a", None], "a", STRING)
    assert not may_be_left_out(["a"], STRING)
    assert may_be_left_out([None, ["a"]], ARRAY)
    assert may_be_left_out([None, []], ARRAY)
    assert accepts([None, []], [], ARRAY)
    assert may_be_left_out([None], ARRAY)
    assert may_be_left_out([None, [[1]]], TABLE)
    assert not may_be_left_out([None, "a"], ARRAY), "not a list of lists, so an array with a null in it"


def test_nested_objects_follow_the_same_rules():
    schema = {"type": "object", "properties": {"city": STRING, "tags": ARRAY}}
    gold = {"city": ["Rome", "Roma"], "tags": [["a"], None]}
    assert accepts(gold, {"city": "Roma", "tags": ["a"]}, schema)
    assert accepts([gold], {"city": "Roma"}, schema)
    assert not accepts(gold, {"city": "Paris"}, schema)
    assert not accepts(gold, {"city": "Rome", "more": 1}, schema)


def test_objects_in_an_array_follow_the_same_rules():
    schema = {"type": "array", "items": {"type": "object", "properties": {"field": STRING, "in": ARRAY}}}
    rows = [{"field": ["age", "years"], "in": ["a"]}, {"field": ["job"]}]
    value = [{"field": "years", "in": ["a"]}, {"field": "job"}]
    assert accepts(rows, value, schema)
    assert accepts([rows], value, schema)
    assert not accepts(rows, value[:1], schema)
    assert not accepts(rows, value[::-1], schema)


def test_properties_without_a_name_of_their_own_take_the_schema_of_the_others():
    schema = {"type": "object", "additionalProperties": ARRAY}
    assert accepts({"a": ["x", "y"]}, {"a": ["x", "y"]}, schema)
    assert not accepts({"a": ["x", "y"]}, {"a": "x"}, schema)


@pytest.mark.parametrize("schema", [{"$ref": "#/properties/x"}, {"$ref": "#/none"}, {"$ref": "http://x"}, {"$ref": 3}])
def test_references_to_nothing_and_to_themselves_ask_for_nothing(schema):
    assert accepts(["a", "b"], "a", schema)


def test_a_schema_that_nests_arrays_without_end_has_an_end():
    assert accepts(["a"], ["a"], {"type": "array", "items": {"$ref": "#/properties/x"}})


def test_nesting_without_limit_is_no_match_and_no_error():
    assert arguments_match(nested(100), nested(100), None)
    assert not arguments_match(nested(100_000), nested(100_000), None)


SCHEMAS = st.recursive(
    st.sampled_from([STRING, ARRAY, TABLE, {}, {"type": "array"}, {"type": "object"}, {"type": ["array", "null"]}]),
    lambda inner: (
        st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(lambda properties: {"properties": properties}, st.dictionaries(KEYS, inner, max_size=4))
    ),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(KEYS, JSON, max_size=4)


@given(ARGUMENTS, ARGUMENTS, SCHEMAS)
def test_the_gold_of_a_call_accepts_that_call_alone(arguments, others, schema):
    gold = gold_of(arguments, schema)
    assert arguments_match(gold, arguments, schema)
    assert arguments_match(gold, others, schema) == same_value(arguments, others)


@given(st.dictionaries(KEYS, JSON_WITH_NAN, max_size=4), st.dictionaries(KEYS, JSON_WITH_NAN, max_size=4), JSON)
def test_nothing_raises(gold, arguments, schema):
    assert arguments_match(gold, arguments, schema) in (True, False)
    json.dumps(gold_of(arguments, schema))
