import pytest

from loracheck.scoring import Answer, Expectation, read_answer

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
