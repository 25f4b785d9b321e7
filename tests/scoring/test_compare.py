import copy

import pytest
from hypothesis import given, settings

from loracheck.scoring import field_disagreement, same_value

from .json_values import JSON, nested


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


@settings(deadline=None)
@given(JSON, JSON)
def test_the_walk_counts_what_spelling_out_every_path_counts(base, ft):
    a, b = leaves({"x": base, "y": 1}), leaves({"x": ft, "y": 1})
    paths = a.keys() | b.keys()
    differing = [p for p in paths if p not in a or p not in b or not same_value(a[p], b[p])]
    rate = disagreement({"x": base, "y": 1}, {"x": ft, "y": 1})
    assert rate == len(differing) / len(paths)


@settings(deadline=None)
@given(JSON, JSON)
def test_sameness_is_symmetric_reflexive_and_at_least_as_strict_as_python(a, b):
    assert same_value(a, copy.deepcopy(a))
    assert same_value(a, b) == same_value(b, a)
    if same_value(a, b):
        assert a == b
