import warnings

import pytest

from loracheck.scoring.dialects import Calls, read_calls
from loracheck.scoring.dialects.python_calls import MAX_SOURCE, python_calls

from .answers import CALL, JSON

CALL_TEXT = 'get_weather(city="Oslo", days=3)'


@pytest.mark.parametrize(
    "text",
    [
        f"[{CALL_TEXT}]",
        f"Sure:\n[{CALL_TEXT}]\nDone (I hope).",
        f"<|tool_call_start|>[{CALL_TEXT}]<|tool_call_end|>It is on its way.",
        f"<|tool_call_start|>[{CALL_TEXT}]",
        f"<|tool_call_start|>{CALL_TEXT}<|tool_call_end|>",
        f"<|python_start|>[{CALL_TEXT}]<|python_end|>",
        f"<|tool_call_start|>[{JSON}]<|tool_call_end|>",
        "[get_weather(\n  city='Oslo',\n  days=3,\n)]",
    ],
)
def test_every_spelling_is_read(text):
    assert read_calls(text, "pythonic").calls == (CALL,)


def test_values_are_literals_nested_as_deep_as_they_like():
    text = r"""[math.add(a=-1, b=2.5, c=[1, (2, "]")], d={"k": [None, True, false, null]}, e='it\'s [', f="C:\dir"),
 now()]"""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calls = read_calls(text, "pythonic").calls
    arguments = {
        "a": -1,
        "b": 2.5,
        "c": [1, [2, "]"]],
        "d": {"k": [None, True, False, None]},
        "e": "it's [",
        "f": "C:\\dir",
    }
    assert calls == ({"name": "math.add", "arguments": arguments}, {"name": "now", "arguments": {}})


@pytest.mark.parametrize(
    "source",
    [
        "[get_weather('Oslo')]",
        "[get_weather(city=oslo)]",
        "[get_weather(city='Oslo'",
        "[get_weather(**{'city': 'Oslo'})]",
        "[get_weather(city=open('x'))]",
        "[get_weather(city=f'{1}')]",
        "[get_weather(city=b'x')]",
        "[get_weather(city=1j)]",
        "[get_weather(city={1: 2})]",
        "[get_weather(city=1+1)]",
        "[f()(a=1)]",
        "[f(a=1), 3]",
        "[f(a='" + "x" * MAX_SOURCE + "')]",
        "[f(a=" + "9" * 5000 + ")]",
        "[f(a=" + "[" * 500 + "]" * 500 + ")]",
        "[f(a=" + "-" * 5000 + "1)]",
        "[f(a='\ud800\0')]",
    ],
)
def test_anything_but_a_call_with_named_literals_is_an_attempt(source):
    assert read_calls(source, "pythonic") == Calls((), attempted=True)


def test_nothing_is_ever_run(monkeypatch):
    monkeypatch.setattr("builtins.eval", None)
    monkeypatch.setattr("builtins.exec", None)
    assert python_calls("[f(a=1)]") == [{"name": "f", "arguments": {"a": 1}}]
    assert python_calls("__import__('os').system('true')") is None


def test_statements_are_no_calls():
    assert python_calls("import os") is None
    assert python_calls("x = f(a=1)") is None


@pytest.mark.parametrize(
    "text",
    [
        f"<function_calls>{CALL_TEXT}</function_calls>",
        f"Sure.\n<function_calls>\n{CALL_TEXT}\n</function_calls>Done.",
        f"<function_calls>[{CALL_TEXT}]",
    ],
)
def test_every_spelling_of_olmo_is_read(text):
    assert read_calls(text, "olmo3").calls == (CALL,)


def test_olmo_writes_a_call_on_each_line():
    text = f"<function_calls>\n{CALL_TEXT}\nnow(zone=null, exact=true)\n</function_calls>"
    assert read_calls(text, "olmo3").calls == (CALL, {"name": "now", "arguments": {"zone": None, "exact": True}})


@pytest.mark.parametrize("inside", ["get_weather('Oslo')", JSON[:-1], '<invoke name="get_weather"/>', "get_weather("])
def test_what_olmo_cannot_have_meant_is_an_attempt(inside):
    assert read_calls(f"<function_calls>{inside}</function_calls>", "olmo3") == Calls((), attempted=True)


def test_without_its_tags_a_call_is_none_of_olmos():
    assert read_calls(f"[{CALL_TEXT}]", "olmo3") == Calls((), attempted=False)


def test_several_python_calls_are_all_read():
    assert read_calls(f"[{CALL_TEXT}, {CALL_TEXT}]", "pythonic").calls == (CALL, CALL)
    block = f"<|tool_call_start|>[{CALL_TEXT}]<|tool_call_end|>"
    assert read_calls(f"{block}\n{block}", "pythonic").calls == (CALL, CALL)
