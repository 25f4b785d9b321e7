import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loracheck.scoring import matches_schema

from .json_values import JSON_WITH_NAN, nested


def spec(declared, required=()):
    properties = {"x": {"type": declared}}
    return {"name": "t", "parameters": {"properties": properties, "required": list(required)}}


def call(**arguments):
    return {"name": "t", "arguments": arguments}


@pytest.mark.parametrize(
    ("declared", "fits"),
    [
        ("string", [""]),
        ("integer", [1]),
        ("number", [1, 1.5]),
        ("boolean", [True]),
        ("object", [{}]),
        ("array", [[]]),
        (["string", "null"], ["", None]),
        (["integer", "boolean"], [1, True]),
        (["null"], [None]),
    ],
)
def test_a_declared_type_takes_its_own_values_only(declared, fits):
    values = ["", 1, 1.5, True, {}, [], None]
    accepted = [value for value in values if matches_schema(call(x=value), spec(declared))]
    assert repr(accepted) == repr([value for value in values if repr(value) in map(repr, fits)])


@pytest.mark.parametrize("declared", ["date", "null", None, 7, {}, [], ["string", "date"], [{}]])
def test_a_type_we_do_not_know_lets_every_value_through(declared):
    assert all(matches_schema(call(x=value), spec(declared)) for value in ["", 1, None, {}, []])


def test_a_required_argument_must_be_there_even_if_null():
    assert matches_schema(call(x=None), spec("null", required=["x"]))
    assert not matches_schema(call(y=1), spec("null", required=["x"]))


def test_undeclared_arguments_are_let_through():
    assert matches_schema(call(y=1), spec("string"))


@pytest.mark.parametrize(
    "not_a_call",
    [
        None,
        [],
        "t",
        {},
        {"name": "t"},
        {"name": "t", "arguments": None},
        {"name": "t", "arguments": []},
        {"name": "t", "arguments": "{}"},
        {"name": None, "arguments": {}},
        {"name": 7, "arguments": {}},
    ],
)
def test_a_call_needs_a_string_name_and_a_dict_of_arguments(not_a_call):
    assert not matches_schema(not_a_call, {"name": "t"})


@pytest.mark.parametrize(
    "junk",
    [
        None,
        "t",
        7,
        [],
        {},
        {"parameters": None},
        {"parameters": "x"},
        {"parameters": ["x"]},
        {"parameters": {"properties": ["x"], "required": "xyz"}},
        {"parameters": {"properties": {"x": "string"}, "required": {"y": 1}}},
        {"parameters": {"properties": None, "required": [None, 7, {}, ["y"]]}},
        {"type": "function", "function": "t"},
    ],
)
def test_a_specification_that_is_none_asks_for_nothing(junk):
    assert matches_schema(call(x=1), junk)


def test_the_openai_wrapper_is_looked_into():
    wrapped = {"type": "function", "function": spec("string", required=["x"])}
    assert matches_schema(call(x="a"), wrapped)
    assert not matches_schema(call(x=1), wrapped)
    assert not matches_schema(call(), wrapped)


def test_a_key_named_function_alone_is_no_wrapper():
    assert not matches_schema(call(x=1), {**spec("string"), "function": {"name": "other"}})


def test_values_nested_without_limit_are_only_looked_at_from_outside():
    assert matches_schema(call(x=nested(100_000)), spec("object"))
    assert not matches_schema(call(x=nested(100_000)), spec("array"))


@settings(deadline=None)
@given(
    st.fixed_dictionaries({"name": JSON_WITH_NAN, "arguments": JSON_WITH_NAN}) | JSON_WITH_NAN,
    st.fixed_dictionaries(
        {
            "parameters": st.fixed_dictionaries(
                {
                    "properties": st.dictionaries(st.sampled_from("ab"), st.fixed_dictionaries({"type": JSON_WITH_NAN}))
                    | JSON_WITH_NAN,
                    "required": JSON_WITH_NAN,
                }
            )
            | JSON_WITH_NAN
        }
    )
    | JSON_WITH_NAN,
)
def test_any_data_gives_an_answer_and_the_wrapper_never_changes_it(some_call, some_spec):
    plain = matches_schema(some_call, some_spec)
    assert plain in (True, False)
    if isinstance(some_spec, dict) and "function" not in some_spec:
        assert matches_schema(some_call, {"type": "function", "function": some_spec}) is plain
