import pytest

from loracheck.scoring.dialects import Calls, read_calls
from loracheck.scoring.parse import MAX_NESTING

from .answers import CALL, GOOD

MARK = "]<]minimax[>["


def invocation(inside, name="f"):
    return f'<tool_call>\n<invoke name="{name}">{inside}</invoke>\n</tool_call>'.replace("<", f"{MARK}<")


def arguments(inside, properties=None):
    tools = [{"name": "f", "parameters": {"type": "object", "properties": properties or {}}}]
    (call,) = read_calls(invocation(inside), "minimax_m3", tools).calls
    return call["arguments"]


def test_objects_and_lists_are_elements_inside_elements():
    inside = "<at><city>Oslo</city><zip>150</zip></at><tags><item>a b</item><item>7</item></tags>"
    assert arguments(inside) == {"at": {"city": "Oslo", "zip": 150}, "tags": ["a b", 7]}
    inside = "<rows>\n<item><id>1</id></item>\n<item><id>2</id></item>\n</rows>"
    assert arguments(inside) == {"rows": [{"id": 1}, {"id": 2}]}


def test_values_are_typed_at_any_depth():
    properties = {
        "at": {"type": "object", "properties": {"zip": {"type": "string"}}},
        "tags": {"type": "array", "items": {"type": "string"}},
    }
    inside = "<at><zip>0150</zip></at><tags><item>7</item></tags>"
    assert arguments(inside, properties) == {"at": {"zip": "0150"}, "tags": ["7"]}


def test_a_value_is_kept_to_the_letter():
    assert arguments("<text>\n a > b\n</text><empty></empty>") == {"text": "\n a > b\n", "empty": ""}


def test_a_call_without_arguments_has_none():
    assert arguments("") == {}


def test_several_calls_are_all_read_in_one_block_and_in_many():
    one = GOOD["minimax_m3"]
    both = one.replace(f"{MARK}</tool_call>", one.partition("\n")[2])
    assert read_calls(both, "minimax_m3").calls == (CALL, CALL)
    assert read_calls(one + one, "minimax_m3").calls == (CALL, CALL)


@pytest.mark.parametrize(
    "inside",
    [
        "<a>1</b>",
        "<a>1",
        "<a>1</a></a>",
        "a: 1<b>2</b>",
        "<a>one<b>2</b></a>",
        "<a><b>2</b>two</a>",
        "<a>" * (MAX_NESTING + 1) + "</a>" * (MAX_NESTING + 1),
    ],
)
def test_elements_that_do_not_nest_are_an_attempt(inside):
    assert read_calls(invocation(inside), "minimax_m3") == Calls((), attempted=True)


def test_a_call_that_is_not_closed_does_not_hide_the_next():
    broken = invocation("<a>1").partition(f"{MARK}</invoke>")[0]
    assert read_calls(broken + GOOD["minimax_m3"], "minimax_m3").calls == (CALL,)


def test_a_block_without_a_call_is_an_attempt():
    assert read_calls(f"{MARK}<tool_call>get_weather", "minimax_m3") == Calls((), attempted=True)
    assert read_calls("<tool_call>get_weather", "minimax_m3") == Calls((), attempted=False)
