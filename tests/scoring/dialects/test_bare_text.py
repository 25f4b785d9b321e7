import pytest

from loracheck.scoring.dialects.bare_text import BareText, typed


def value_of(text, schema=None, tools=None):
    if tools is None:
        tools = [{"name": "f", "parameters": {"type": "object", "properties": {} if schema is None else {"a": schema}}}]
    value = typed({"name": "f", "arguments": {"a": BareText(text)}}, tools)["arguments"]["a"]
    assert type(value) is not BareText
    return value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", 42),
        ("-1.5", -1.5),
        ("true", True),
        ("null", None),
        ('{"b": [1]}', {"b": [1]}),
        ("[1, 2]", [1, 2]),
        ("Oslo", "Oslo"),
        ('"Oslo"', '"Oslo"'),
        ("", ""),
        (" 42 apples", " 42 apples"),
        ("{bad}", "{bad}"),
    ],
)
def test_undeclared_text_is_the_json_it_spells(text, value):
    assert value_of(text) == value
    assert value_of(text, tools=[{"name": "g", "parameters": {"properties": {"a": {"type": "string"}}}}]) == value


@pytest.mark.parametrize("text", ["42", "true", "null", '{"b": 1}', " x ", '"x"'])
def test_a_declared_string_stays_the_text(text):
    assert value_of(text, {"type": "string"}) == text


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "integer"}, "42", 42),
        ({"type": "integer"}, "many", "many"),
        ({"type": "boolean"}, "True", True),
        ({"type": "boolean"}, " false ", False),
        ({"type": "boolean"}, "yes", "yes"),
        ({"type": ["string", "null"]}, "42", "42"),
        ({"type": ["string", "null"]}, "null", None),
        ({"type": ["integer", "string"]}, "42", 42),
        ({"type": ["integer", "string"]}, "4.5", "4.5"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "42", "42"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "null", None),
        ({"oneOf": [{"type": "array"}, {"type": "string"}]}, "[1]", [1]),
        ({"type": "array"}, '{"a": 1}', {"a": 1}),
    ],
)
def test_a_declared_type_decides(schema, text, value):
    assert value_of(text, schema) == value
    assert type(value_of(text, schema)) is type(value)


@pytest.mark.parametrize(
    "tools",
    [
        [{}],
        [{"name": "f"}],
        [{"name": "f", "parameters": None}],
        [{"name": "f", "parameters": {"properties": []}}],
        [{"name": "f", "parameters": {"properties": {"a": "integer"}}}],
        [{"name": "f", "parameters": {"properties": {"a": {"type": 3, "anyOf": {"type": "string"}}}}}],
    ],
)
def test_a_tool_that_declares_nothing_sensible_types_nothing(tools):
    assert value_of("42", tools=tools) == 42


def test_values_that_were_never_bare_are_left_alone():
    call = {"name": "f", "arguments": {"a": "42"}}
    assert typed(call, [{"name": "f", "parameters": {"properties": {"a": {"type": "integer"}}}}]) is call


NESTED = {
    "type": "object",
    "properties": {
        "zip": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "floors": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "integer"}}]},
        "owner": {"oneOf": [{"type": "string"}, {"type": "object", "properties": {"id": {"type": "string"}}}]},
    },
}


def test_texts_inside_objects_and_lists_are_typed_by_what_declares_them_there():
    house = {
        "zip": BareText("0150"),
        "tags": [BareText("1"), BareText("old")],
        "floors": [BareText("1"), BareText("2")],
        "owner": {"id": BareText("7"), "age": BareText("70")},
        "sold": BareText("false"),
    }
    tools = [{"name": "f", "parameters": {"properties": {"house": NESTED}}}]
    assert typed({"name": "f", "arguments": {"house": house}}, tools)["arguments"]["house"] == {
        "zip": "0150",
        "tags": ["1", "old"],
        "floors": [1, 2],
        "owner": {"id": "7", "age": 70},
        "sold": False,
    }


@pytest.mark.parametrize("schema", [None, [], "object", {"items": 3, "properties": "none"}, {"anyOf": "x"}])
def test_texts_inside_what_is_not_declared_are_the_json_they_spell(schema):
    call = {"name": "f", "arguments": {"a": {"b": [BareText("1")]}}}
    assert typed(call, [{"name": "f", "parameters": {"properties": {"a": schema}}}])["arguments"] == {"a": {"b": [1]}}
