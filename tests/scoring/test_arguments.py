import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.scoring.arguments import arguments_match, field_disagreement, gold_of, same_value

from .json_values import JSON, JSON_WITH_NAN, KEYS, nested

STRING = {"type": "string"}
ARRAY = {"type": "array", "items": STRING}
TABLE = {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}


def disagreement(base, ft):
    return field_disagreement({"arguments": base}, {"arguments": ft})


@pytest.mark.parametrize(
    ("base", "ft", "rate"),
    [
        ({}, {}, 0),
        ({"a": 1}, {"a": 1}, 0),
        ({"a": 1}, {"a": 2}, 1),
        ({"a": 1, "b": 1}, {"a": 1}, 1 / 2),
        ({"a": None}, {}, 1),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, 1 / 2),
        ({"a": {}}, {}, 0),
        ({"a": {}}, {"a": 1}, 1),
        ({"a": 1, "z": 0}, {"a": {"b": 1, "c": 1}, "z": 0}, 3 / 4),
        ({"a": [1, 2, 3]}, {"a": [1, 2, 4]}, 1),
        ({"a": [{"b": {}}]}, {"a": [{}]}, 1),
        ({"a.b": 1}, {"a": {"b": 1}}, 1),
    ],
)
def test_the_share_of_leaf_paths_that_differ(base, ft, rate):
    assert disagreement(base, ft) == rate
    assert disagreement(ft, base) == rate


@pytest.mark.parametrize("empty", [{}, {"arguments": None}, {"arguments": ""}, {"arguments": []}])
def test_missing_null_and_empty_arguments_are_an_empty_dict(empty):
    assert field_disagreement(empty, {"arguments": {}}) == 0
    assert field_disagreement({"arguments": {"a": 1}}, empty) == 1


@pytest.mark.parametrize("other", ["x", 7, [1], True])
def test_other_arguments_that_are_no_dict_disagree_wholly_even_with_themselves(other):
    assert disagreement(other, {}) == disagreement({}, other) == disagreement(other, other) == 1


def test_true_is_not_one_at_any_depth():
    assert not same_value(True, 1)
    assert not same_value(0, False)
    assert not same_value([[1]], [[True]])
    assert not same_value([{"a": [0.0]}], [{"a": [False]}])
    assert disagreement({"a": {"b": [True]}}, {"a": {"b": [1]}}) == 1


def test_one_is_one_point_zero_and_strings_are_never_numbers():
    assert same_value([1, {"a": 2.0}], [1.0, {"a": 2}])
    assert not same_value("2.0", 2.0)
    assert not same_value("", None)
    assert not same_value(10**4000, float("inf"))


def test_containers_of_different_kinds_or_sizes_differ():
    assert not same_value([], {})
    assert not same_value([1], [1, 1])
    assert not same_value({"a": 1}, {"b": 1})
    assert not same_value([None], [])


def test_nan_equals_nothing():
    nan = float("nan")
    assert not same_value([nan], [nan])


def test_values_nested_without_limit_are_compared():
    deep, same, other = nested(100_000), nested(100_000), nested(100_000, innermost=True)
    assert same_value(deep, same)
    assert not same_value(deep, other)
    assert disagreement(deep, same) == 0
    assert disagreement(deep, other) == 1
    assert disagreement(deep, {"k": 1}) == 1
    assert disagreement({"a": [deep]}, {"a": [same]}) == 0


def leaves(value, path=()):
    if not isinstance(value, dict):
        return {path: value}
    return {p: v for key, inner in value.items() for p, v in leaves(inner, (*path, key)).items()}


@given(JSON, JSON)
def test_the_walk_counts_what_spelling_out_every_path_counts(base, ft):
    a, b = leaves({"x": base, "y": 1}), leaves({"x": ft, "y": 1})
    paths = a.keys() | b.keys()
    differing = [p for p in paths if p not in a or p not in b or not same_value(a[p], b[p])]
    rate = disagreement({"x": base, "y": 1}, {"x": ft, "y": 1})
    assert rate == len(differing) / len(paths)


@given(JSON, JSON)
def test_sameness_is_symmetric_reflexive_and_at_least_as_strict_as_python(a, b):
    assert same_value(a, copy.deepcopy(a))
    assert same_value(a, b) == same_value(b, a)
    if same_value(a, b):
        assert a == b


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
def test_gold_and_arguments_of_any_shape_raise_nothing(gold, arguments, schema):
    assert arguments_match(gold, arguments, schema) in (True, False)
    json.dumps(gold_of(arguments, schema))
