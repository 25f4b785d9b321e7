import json
import sys

import pytest
from hypothesis import given, settings

from linear_time import takes_linear_time
from loracheck.scoring import parse_tool_call
from loracheck.scoring.parse import MAX_INTEGER_DIGITS, MAX_NESTING, json_at

from .json_values import MODEL_TEXT

MEGABYTE = 1_000_000
CALL = {"name": "t", "arguments": {"a": 1}}
CALL_TEXT = json.dumps(CALL)


@pytest.mark.parametrize(
    "text",
    [
        CALL_TEXT,
        f"\n\t {CALL_TEXT}\r\n",
        f"```{CALL_TEXT}```",
        f"Sure:\n```jSoN\n{CALL_TEXT}\n```\nDone.",
        f"<tool_call>{CALL_TEXT}</tool_call>",
        f"}}}} {CALL_TEXT}",
        f"```python\nprint(1)\n``` {CALL_TEXT}",
        f"```json\n{CALL_TEXT}",
        f'he said "{{" then {CALL_TEXT}',
    ],
)
def test_a_call_is_found_wherever_the_rules_look(text):
    assert parse_tool_call(text) == CALL


@pytest.mark.parametrize("text", ["", " ", "[1]", '"{}"', "7", "null", "{'a': 1}", '{"a": 1'])
def test_what_is_no_object_is_no_call(text):
    assert parse_tool_call(text) is None


def test_an_object_inside_an_array_is_the_first_balanced_span():
    assert parse_tool_call(f"[{CALL_TEXT}, 1]") == CALL


@pytest.mark.parametrize("word", ["", "json", "JSON\n", "jSoN \n"])
def test_a_fenced_block_wins_over_an_earlier_span(word):
    assert parse_tool_call(f'{{"first": 1}} ```{word}{CALL_TEXT}```') == CALL


def test_only_the_first_fenced_block_is_read():
    assert parse_tool_call(f"```no``` {{bad}} ```{CALL_TEXT}```") is None


def test_only_the_first_balanced_span_is_tried():
    assert parse_tool_call(f"{{not json}} {CALL_TEXT}") is None


def test_a_stray_quote_hides_the_braces_behind_it():
    assert parse_tool_call('5" disk {"a": 1}') is None


def test_a_backslash_outside_a_string_escapes_nothing():
    # The quote opens a string, which the next quote closes again.
    assert parse_tool_call('\\"{" {"a": 1}') == {"a": 1}


def test_the_last_of_two_equal_keys_wins():
    assert parse_tool_call('{"a": 1, "a": 2}') == {"a": 2}


def test_lone_surrogates_are_ordinary_text():
    assert parse_tool_call('{"a": "\\ud800", "\ud801": 1}') == {"a": "\ud800", "\ud801": 1}


def test_nan_and_infinity_are_read_as_numbers():
    call = parse_tool_call('{"a": NaN, "b": -Infinity, "c": 1e999}')
    assert call is not None
    assert call["a"] != call["a"]
    assert (call["b"], call["c"]) == (float("-inf"), float("inf"))


@pytest.mark.parametrize("prefix", ["", "see "])
@pytest.mark.parametrize(("opening", "closing"), [('{"a":', "}"), ("[", "]")])
def test_nesting_is_read_up_to_our_own_limit(prefix, opening, closing):
    def text(depth):
        inner = opening * (depth - 1) + "1" + closing * (depth - 1)
        return f'{prefix}{{"a":{inner}}}'

    assert parse_tool_call(text(MAX_NESTING)) is not None
    assert parse_tool_call(text(MAX_NESTING + 1)) is None
    assert parse_tool_call(text(100_000)) is None


def test_brackets_in_strings_and_side_by_side_are_not_nesting():
    call = {"a": "{[" * 1000 + '\\"', "b": [[]] * 1000}
    assert parse_tool_call(json.dumps(call)) == call


def test_the_callers_stack_depth_does_not_matter():
    text = '{"a":' * MAX_NESTING + "1" + "}" * MAX_NESTING

    def at_depth(frames):
        return parse_tool_call(text) if frames == 0 else at_depth(frames - 1)

    assert at_depth(400) == parse_tool_call(text) is not None


def test_a_caller_with_no_stack_left_gets_no_call_instead_of_a_crash(monkeypatch):
    class Exhausted:
        def decode(self, text):
            raise RecursionError

    monkeypatch.setattr("loracheck.scoring.parse._DECODER", Exhausted())
    assert parse_tool_call(CALL_TEXT) is None


def test_integers_are_read_up_to_the_pinned_length_whatever_python_is_set_to():
    longest = "9" * MAX_INTEGER_DIGITS
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        assert parse_tool_call(f'{{"a": {longest}}}') == {"a": int(longest)}
        assert parse_tool_call(f'{{"a": -{longest}}}') == {"a": -int(longest)}
        assert parse_tool_call(f'{{"a": {longest}9}}') is None
        assert parse_tool_call(f'{{"a": {"1" * 10_000}}}') is None
    finally:
        sys.set_int_max_str_digits(before)


def test_a_megabyte_string_is_read():
    assert parse_tool_call('{"a": "' + "x" * MEGABYTE + '"}') == {"a": "x" * MEGABYTE}


@pytest.mark.parametrize(
    "unit",
    [
        "{",
        "}",
        "[",
        "]",
        '"',
        "\\",
        "`",
        '{"a":',
        '"\\',
        '\\"',
        "{}",
        '{"',
        "{[",
        " {",
        "```{",
        "]}",
    ],
)
@pytest.mark.parametrize("prefix", ["", "{", '{"', '{}"'])
def test_a_megabyte_of_anything_takes_about_four_times_as_long_as_a_quarter(unit, prefix):
    for suffix in ("", "}"):
        quarter, whole = (prefix + unit * (size // len(unit)) + suffix for size in (MEGABYTE // 4, MEGABYTE))
        assert takes_linear_time(lambda text=quarter: parse_tool_call(text), lambda text=whole: parse_tool_call(text))


def test_the_json_value_at_a_place_and_its_end_are_told():
    assert json_at('x{"a": [1]} y', 1) == ({"a": [1]}, 11)
    assert json_at("12 ", 0) == (12, 2)


@pytest.mark.parametrize(
    ("text", "start"), [("", 0), ("{}", 2), ("{}", 9), (" {}", 0), ('{"a": 1', 0), ("{'a': 1}", 0)]
)
def test_where_no_value_begins_there_is_none(text, start):
    assert json_at(text, start) is None


def test_the_limits_of_every_call_hold_there_too():
    assert json_at("[" * MAX_NESTING + "]" * MAX_NESTING, 0) is not None
    assert json_at("[" * (MAX_NESTING + 1) + "]" * (MAX_NESTING + 1), 0) is None
    assert json_at("[" * 100_000, 0) is None
    assert json_at("9" * MAX_INTEGER_DIGITS, 0) is not None
    assert json_at("9" * (MAX_INTEGER_DIGITS + 1), 0) is None


def load_object(text):
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def structural(text):
    """Every character outside strings, with its index."""
    in_string = escaped = False
    for index, char in enumerate(text):
        if not in_string:
            in_string = char == '"'
            yield index, char
        elif escaped:
            escaped = False
        else:
            escaped = char == "\\"
            in_string = char != '"'


def parse_character_by_character(text):
    """The contract, word for word and without care for speed."""
    text = text.strip()
    if (call := load_object(text)) is not None:
        return call
    _, fence, rest = text.partition("```")
    body, closing, _ = (rest[4:] if rest[:4].lower() == "json" else rest).partition("```")
    if fence and closing and (call := load_object(body.strip())) is not None:
        return call
    depth = start = 0
    for index, char in structural(text):
        if char == "{":
            start = index if depth == 0 else start
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                return load_object(text[start : index + 1])
            depth = max(depth, 0)
    return None


@settings(max_examples=500)
@given(MODEL_TEXT)
def test_any_text_parses_as_the_contract_reads(text):
    # As text, because NaN is not equal to itself.
    assert repr(parse_tool_call(text)) == repr(parse_character_by_character(text))
