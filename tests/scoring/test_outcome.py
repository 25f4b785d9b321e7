from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.scoring import Answer, Expectation, Reading, read_answer
from loracheck.scoring.outcome import differs_at

from .json_values import JSON_WITH_NAN, MODEL_TEXT

SPEC = {"name": "add", "parameters": {"properties": {"a": {"type": "number"}}, "required": ["a"]}}
CASE = Expectation(SPEC, "add")
GOOD = '{"name": "add", "arguments": {"a": 1}}'
OTHER = '{"name": "sub", "arguments": {"a": 1}}'


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (GOOD, "valid"),
        (OTHER, "wrong_tool"),
        ('{"name": "add", "arguments": {"a": "1"}}', "bad_arguments"),
        ('{"name": "add", "arguments": {}}', "bad_arguments"),
        ('{"name": "add", "parameters": {"a": 1}}', "bad_arguments"),
        ('{"name": "add"}', "bad_arguments"),
        ('{"name": null, "arguments": {"a": 1}}', "malformed"),
        ('{"arguments": {"a": 1}}', "malformed"),
        ('{"name": "add", "arguments": {"a": 1}', "malformed"),
        ("{'name': 'add', 'arguments': {'a': 1}}", "malformed"),
        ('{\\"name\\": \\"add\\"}', "malformed"),
        ("I cannot do that.", "no_call"),
        ("a set {1, 2}", "no_call"),
        ("{}", "no_call"),
        ('["name"]', "no_call"),
        ("", "no_call"),
    ],
)
def test_every_answer_has_one_outcome(text, outcome):
    reading = read_answer(CASE, Answer(text), None)
    assert reading.outcome == outcome
    assert reading.valid is (outcome in ("valid", "wrong_tool"))


def test_truncation_explains_only_an_answer_that_did_not_parse():
    assert read_answer(CASE, Answer(GOOD[:-1], truncated=True), None).outcome == "truncated"
    assert read_answer(CASE, Answer("Well, let me", truncated=True), None).outcome == "truncated"
    assert read_answer(CASE, Answer(f"{GOOD} and", truncated=True), None).outcome == "valid"
    assert read_answer(CASE, Answer('{"a": 1} x', truncated=True), None).outcome == "malformed"


def test_a_declared_list_of_tools_replaces_the_gold_name():
    assert read_answer(CASE, Answer(OTHER), {"sub"}).outcome == "valid"
    assert read_answer(CASE, Answer(GOOD), {"sub"}).outcome == "wrong_tool"
    assert read_answer(CASE, Answer(GOOD), frozenset()).outcome == "wrong_tool"


def test_without_a_gold_name_or_a_list_no_name_is_accepted():
    assert read_answer(Expectation(SPEC, None), Answer(GOOD), None).outcome == "wrong_tool"


def test_the_call_is_kept_as_it_was_read():
    assert read_answer(CASE, Answer(OTHER), None).call == {"name": "sub", "arguments": {"a": 1}}
    assert read_answer(CASE, Answer("no"), None).call is None


WEATHER = {
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["C", "F"]}},
        "required": ["city"],
        "additionalProperties": False,
    },
}
OFFER = Expectation(SPEC, "add", (SPEC, WEATHER))


def test_a_call_is_checked_against_the_schema_of_the_tool_it_names():
    other = read_answer(OFFER, Answer('{"name": "get_weather", "arguments": {"city": "Oslo"}}'), None)
    assert (other.valid, other.outcome) == (True, "wrong_tool")
    wrong = read_answer(OFFER, Answer('{"name": "get_weather", "arguments": {"a": 1}}'), None)
    assert (wrong.valid, wrong.outcome) == (False, "bad_arguments")


def test_an_invented_name_is_checked_against_the_tool_that_was_meant():
    invented = read_answer(OFFER, Answer('{"name": "sum_up", "arguments": {"a": 1}}'), None)
    assert (invented.valid, invented.outcome) == (True, "wrong_tool")
    assert not read_answer(OFFER, Answer('{"name": "sum_up", "arguments": {"city": "Oslo"}}'), None).valid


def test_only_the_first_call_of_an_answer_is_judged_and_the_others_are_kept():
    text = f"<tool_call>{GOOD}</tool_call><tool_call>{OTHER}</tool_call>"
    reading = read_answer(CASE, Answer(text), None, "hermes")
    assert (reading.call["name"], reading.outcome) == ("add", "valid")
    assert reading.more_calls == ({"name": "sub", "arguments": {"a": 1}},)


def test_the_marks_of_a_dialect_without_a_call_are_a_malformed_one():
    assert read_answer(CASE, Answer("<tool_call>add</tool_call>"), None, "hermes").outcome == "malformed"
    assert read_answer(CASE, Answer("<tool_call>add</tool_call>"), None).outcome == "no_call"


def test_strict_validity_is_looked_at_only_when_asked_for():
    strict = Expectation(WEATHER, "get_weather", (WEATHER, SPEC))

    def strict_valid(text, **options):
        reading = read_answer(strict, Answer(text), None, **options)
        return reading.valid, reading.strict_valid

    kelvin = '{"name": "get_weather", "arguments": {"city": "Oslo", "unit": "K"}}'
    assert strict_valid(kelvin) == (True, None)
    assert strict_valid(kelvin, strict=True) == (True, False)
    assert strict_valid(kelvin.replace('"K"', '"C"'), strict=True) == (True, True)
    assert strict_valid(GOOD, strict=True) == (True, True), "checked against the tool it names"
    assert strict_valid("no", strict=True) == (False, False)
    assert strict_valid('{"name": "get_weather", "arguments": {}}', strict=True) == (False, False)


@pytest.mark.parametrize(
    ("arguments", "correct"),
    [
        ('{"city": "Oslo"}', True),
        ('{"city": "Oslo, Norway", "unit": "C"}', True),
        ('{"city": "Bergen"}', False),
        ('{"city": "Oslo", "unit": "F"}', False),
        ("{}", False),
    ],
)
def test_arguments_are_held_against_the_gold_ones_and_their_choices(arguments, correct):
    gold = {"city": ["Oslo", "Oslo, Norway"], "unit": ["C", None]}
    answer = Answer(f'{{"name": "get_weather", "arguments": {arguments}}}')
    expectation = Expectation(WEATHER, "get_weather", gold_arguments=gold)
    reading = read_answer(expectation, answer, None)
    assert (reading.arguments_correct, reading.exact) == (correct, correct)


def test_without_gold_arguments_nothing_is_said_of_them():
    reading = read_answer(CASE, Answer(GOOD), None)
    assert (reading.arguments_correct, reading.exact) == (None, True)
    assert read_answer(CASE, Answer("no"), None).arguments_correct is None
    assert read_answer(Expectation(SPEC, "add", gold_arguments={}), Answer("no"), None).arguments_correct is False


def test_gold_arguments_for_a_tool_that_is_not_told_are_compared_as_they_stand():
    assert read_answer(Expectation(None, "add", gold_arguments={"a": 1}), Answer(GOOD), None).arguments_correct is True


def test_a_wrong_tool_with_the_right_arguments_is_not_the_expected_call():
    reading = read_answer(Expectation(SPEC, "add", gold_arguments={"a": 1}), Answer(OTHER), None)
    assert (reading.outcome, reading.arguments_correct, reading.exact) == ("wrong_tool", True, False)


def test_reading_looks_into_no_other_dialect():
    assert read_answer(CASE, Answer(GOOD), None, "hermes").dialect is None


@given(JSON_WITH_NAN, MODEL_TEXT, st.none() | st.dictionaries(st.text(max_size=2), JSON_WITH_NAN, max_size=2))
def test_any_answer_to_any_case_is_read(spec, text, gold):
    reading = read_answer(Expectation(spec, "search_web", gold_arguments=gold), Answer(text), None, strict=True)
    assert isinstance(reading, Reading)
    assert reading.strict_valid in (True, False)
    assert (reading.arguments_correct is None) is (gold is None)
    assert reading.valid or not (reading.strict_valid or reading.arguments_correct)


@pytest.mark.parametrize(
    ("a", "b", "at"),
    [
        ("", "", None),
        ("same", "same", None),
        ("", "x", 0),
        ("abc", "abd", 2),
        ("abc", "ab", 2),
        ("xbc", "abc", 0),
        ("naïve 😀!", "naïve 😀?", 7),
    ],
)
def test_texts_part_where_their_common_start_ends(a, b, at):
    assert differs_at(a, b) == at
    assert differs_at(b, a) == at


@given(st.text(alphabet="ab", max_size=30), st.text(alphabet="ab", max_size=30))
def test_where_texts_part_is_the_length_of_their_common_prefix(a, b):
    common = sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(a, b, strict=False)))
    assert differs_at(a, b) == (None if a == b else common)


def test_long_texts_that_part_at_the_very_end():
    start = "x" * 1_000_000
    assert differs_at(start + "y", start + "z") == 1_000_000


def test_without_a_dialect_a_call_inside_thinking_is_the_call_that_the_contract_says_it_is() -> None:
    thought = f"<think>{GOOD}</think>"
    assert read_answer(CASE, Answer(thought), None).outcome == "valid"
    assert read_answer(CASE, Answer(thought), None, "json").outcome == "no_call"


def test_an_attempt_inside_thinking_is_no_attempt_to_answer() -> None:
    assert read_answer(CASE, Answer('<think>{"name": "ad</think>Hello.'), None, "json").outcome == "no_call"
    assert read_answer(CASE, Answer('Hm.</think>{"name": "ad', thinking=True), None, "json").outcome == "malformed"
