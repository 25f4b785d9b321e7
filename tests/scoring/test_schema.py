import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linear_time import takes_linear_time
from loracheck.scoring import matches_schema
from loracheck.scoring.schema import check_schema, strictly_valid

from .json_values import JSON, JSON_WITH_NAN, nested

DRAFT_4 = "http://json-schema.org/draft-04/schema#"


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


def fits(arguments, parameters):
    assert check_schema(parameters) is None
    return strictly_valid({"name": "f", "arguments": arguments}, {"name": "f", "parameters": parameters})


def argument(schema):
    return {"type": "object", "properties": {"x": schema}}


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"enum": ["C", "F"]}, "C", "K"),
        ({"type": "integer"}, 1, True),
        ({"type": "integer"}, 1.0, 1.5),
        ({"type": ["string", "null"]}, None, 1),
        ({"type": "array", "items": {"type": "string"}}, ["a"], ["a", 1]),
        ({"properties": {"y": {"const": 1}}, "required": ["y"]}, {"y": 1}, {}),
        ({"anyOf": [{"type": "string"}, {"minimum": 3}]}, 3, 2),
        ({"oneOf": [{"minimum": 1}, {"maximum": 3}]}, 9, 2),
        ({"not": {"type": "string"}}, 1, "a"),
        ({"pattern": "^a+$"}, "aa", "b"),
        ({"additionalProperties": False, "properties": {"y": {}}}, {"y": 1}, {"z": 1}),
        ({"prefixItems": [{"type": "string"}], "items": False}, ["a"], ["a", "b"]),
        (False, None, 1),
    ],
)
def test_the_whole_of_json_schema_counts(schema, good, bad):
    if schema is not False:
        assert fits({"x": good}, argument(schema))
    assert not fits({"x": bad}, argument(schema))


def test_references_inside_the_schema_are_followed():
    parameters = argument({"$ref": "#/$defs/node"}) | {
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["id"]}}
    }
    assert fits({"x": {"id": 1, "next": {"id": 2}}}, parameters)
    assert not fits({"x": {"id": 1, "next": {}}}, parameters)


def test_references_by_id_and_to_the_specification_itself_need_no_network():
    named = argument({"$ref": "https://example.invalid/name"}) | {
        "$defs": {"name": {"$id": "https://example.invalid/name", "type": "string"}}
    }
    assert fits({"x": "a"}, named)
    assert not fits({"x": 1}, named)
    assert not fits({"x": {"type": 3}}, argument({"$ref": "https://json-schema.org/draft/2020-12/schema"}))


def test_the_draft_that_the_schema_names_is_used():
    # Draft 4 has a boolean here, later ones a number.
    old = argument({"minimum": 1, "exclusiveMinimum": True}) | {"$schema": DRAFT_4}
    assert not fits({"x": 1}, old)
    assert fits({"x": 2}, old)
    assert check_schema({key: value for key, value in old.items() if key != "$schema"})


@pytest.mark.parametrize(
    "call", [None, [], {}, {"name": "f"}, {"name": 1, "arguments": {}}, {"name": "f", "arguments": 1}]
)
def test_what_is_no_call_is_not_strictly_valid(call):
    assert not strictly_valid(call, {"name": "f"})


@pytest.mark.parametrize("spec", [{"name": "f"}, {"name": "f", "parameters": None}, None, []])
def test_a_tool_without_a_schema_takes_any_arguments(spec):
    assert strictly_valid({"name": "f", "arguments": {"x": 1}}, spec)


def test_the_whole_schema_is_looked_for_in_openais_wrapper_too():
    spec = {"type": "function", "function": {"name": "f", "parameters": argument({"type": "string"})}}
    assert strictly_valid({"name": "f", "arguments": {"x": "a"}}, spec)
    assert not strictly_valid({"name": "f", "arguments": {"x": 1}}, spec)


@pytest.mark.parametrize(
    ("parameters", "start"),
    [
        ([], "it should be a mapping, key: value"),
        ({"type": "dict"}, "type: 'dict' is not valid under any of the given schemas"),
        (argument({"type": "float"}), "properties.x.type: 'float' is not valid under any of the given schemas"),
        (argument({"required": True}), "properties.x.required: True is not of type 'array'"),
        ({"properties": []}, "properties: [] is not of type 'object'"),
        (argument({"pattern": "("}), "properties.x.pattern: '(' is not a 'regex'"),
        (argument({"$ref": "https://example.invalid/x"}), "$ref 'https://example.invalid/x' is not in it; copy what"),
        (argument({"$ref": "file:///etc/passwd"}), "$ref 'file:///etc/passwd' is not in it; copy what"),
        (argument({"$ref": "#/$defs/none"}), "$ref '/$defs/none' is not in it; copy what it refers to"),
        ({"$schema": "https://example.invalid/x"}, "$schema 'https://example.invalid/x' is not a known draft"),
        ({"$schema": ["x"]}, "$schema ['x'] is not a known draft"),
        ({"$id": "http://[", "not": {"$ref": "x"}}, "an $id or $ref in it is no address: "),
        ({"$id": []}, "$id: [] is not of type 'string'"),
        ({"$ref": "#"}, "a $ref in it leads back to itself without end"),
    ],
)
def test_a_bad_schema_is_told(parameters, start):
    complaint = check_schema(parameters)
    assert complaint is not None
    assert complaint.startswith(start)


def test_a_schema_nested_without_limit_is_told():
    deep = {}
    for _ in range(100_000):
        deep = {"not": deep}
    assert check_schema(deep) == "it is nested too deeply"
    assert not strictly_valid({"name": "f", "arguments": {}}, {"name": "f", "parameters": deep})


def test_a_complaint_is_short():
    assert len(check_schema(argument({"type": "x" * 9999})) or "") == 200


def test_a_schema_behind_a_reference_is_never_fetched(monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("it was fetched")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    monkeypatch.setattr("socket.socket.connect", refuse)
    remote = argument({"$ref": "https://example.invalid/schema.json"})
    assert check_schema(remote)
    assert not strictly_valid({"name": "f", "arguments": {"x": 1}}, {"name": "f", "parameters": remote})


def test_arguments_nested_without_limit_are_not_valid_and_no_error():
    tree = {"type": "object", "additionalProperties": {"$ref": "#"}}
    assert fits(nested(20, {}), tree)
    assert not strictly_valid({"name": "f", "arguments": nested(100_000)}, {"name": "f", "parameters": tree})
    assert not strictly_valid({"name": "f", "arguments": nested(100_000)}, {"name": "f", "parameters": {"const": 1}})


def test_numbers_of_any_size_are_no_error():
    assert not fits({"x": 10**4000 + 1}, argument({"multipleOf": 0.5, "type": "string"}))
    for number in (10**4000, float("inf"), float("nan"), 1e308):
        assert fits({"x": number}, argument({"multipleOf": 0.1, "maximum": 5})) is False


def test_four_times_the_answer_takes_about_four_times_as_long():
    schema = argument({"items": {"properties": {"y": {"type": "integer"}}}})

    def check(items):
        return lambda: fits({"x": [{"y": n} for n in range(items)]}, schema)

    assert check(5_000)()
    assert takes_linear_time(check(5_000), check(20_000))


def test_scoring_does_not_import_jsonschema_before_it_is_needed():
    lines = "import sys, loracheck.scoring.schema; print({'jsonschema', 'referencing'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@given(JSON_WITH_NAN, JSON)
def test_the_whole_schema_raises_nothing_whatever_it_is_given(arguments, parameters):
    assert check_schema(parameters) is None or isinstance(check_schema(parameters), str)
    call = {"name": "f", "arguments": arguments}
    assert strictly_valid(call, {"name": "f", "parameters": parameters}) in (True, False)


KEYWORDS = st.sampled_from(["type", "properties", "items", "enum", "anyOf", "$ref", "$id", "$defs", "required"])
VALUES = st.sampled_from(["#", "#/$defs/a", "string", "array", "http://[", "x", "urn:x", "("])
SCHEMAS = st.recursive(
    VALUES | JSON,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS | st.just("a"), inner, max_size=4),
    max_leaves=10,
)


@settings(max_examples=500)
@given(SCHEMAS, st.dictionaries(st.sampled_from("ab"), JSON, max_size=2))
def test_nothing_that_looks_like_a_schema_raises(parameters, arguments):
    complaint = check_schema(parameters)
    valid = strictly_valid({"name": "f", "arguments": arguments}, {"name": "f", "parameters": parameters})
    assert complaint is None or isinstance(complaint, str)
    assert valid in (True, False)
