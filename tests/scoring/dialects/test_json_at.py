import pytest

from loracheck.scoring.parse import MAX_INTEGER_DIGITS, MAX_NESTING, json_at


def test_the_value_and_its_end_are_told():
    assert json_at('x{"a": [1]} y', 1) == ({"a": [1]}, 11)
    assert json_at("12 ", 0) == (12, 2)


@pytest.mark.parametrize(
    ("text", "start"), [("", 0), ("{}", 2), ("{}", 9), (" {}", 0), ('{"a": 1', 0), ("{'a': 1}", 0)]
)
def test_where_no_value_begins_there_is_none(text, start):
    assert json_at(text, start) is None


def test_the_limits_of_every_call_hold():
    assert json_at("[" * MAX_NESTING + "]" * MAX_NESTING, 0) is not None
    assert json_at("[" * (MAX_NESTING + 1) + "]" * (MAX_NESTING + 1), 0) is None
    assert json_at("[" * 100_000, 0) is None
    assert json_at("9" * MAX_INTEGER_DIGITS, 0) is not None
    assert json_at("9" * (MAX_INTEGER_DIGITS + 1), 0) is None
