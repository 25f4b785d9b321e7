import pytest

from loracheck.scoring.dialects import Calls, read_calls

from .answers import CALL, JSON, LLAMA


@pytest.mark.parametrize(
    "text",
    [
        "<start_function_call>call:get_weather{city:<escape>Oslo<escape>,days:3}",
        "<start_function_call>call:get_weather{days:3, city:Oslo}<end_function_call><start_function_response>",
        '<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>,days:3}<tool_call|>',
        '<start_function_call>call:get_weather{"city": "Oslo", "days": 3}<end_function_call>',
        "```tool_code\nget_weather(city='Oslo', days=3)\n```",
        "Let me see.\n```tool_code\nprint(get_weather(city='Oslo', days=3))\n```",
        f"```json\n{JSON}\n```",
        f"```json\n[{LLAMA}]\n```",
    ],
)
def test_every_spelling_is_read(text):
    assert read_calls(text, "gemma").calls == (CALL,)


def test_values_nest_and_quoted_text_is_never_read_as_structure():
    text = (
        '<start_function_call>call:f{a:<escape>x, y:1} "q" \\<escape>,b:[<escape>p<escape>,two words,-1.5],'
        "c:{d:true,e:null,f:{}},g:trueish,h:<escape><escape>}<end_function_call>"
    )
    assert read_calls(text, "gemma").calls[0]["arguments"] == {
        "a": 'x, y:1} "q" \\',
        "b": ["p", "two words", -1.5],
        "c": {"d": True, "e": None, "f": {}},
        "g": "trueish",
        "h": "",
    }


@pytest.mark.parametrize(
    "text",
    [
        "<start_function_call>",
        "<start_function_call>get_weather(city='Oslo')<end_function_call>",
        "<start_function_call>call:get_weather{city:<escape>Oslo",
        "<start_function_call>call:get_weather{city:<escape>Oslo<escape><end_function_call>",
        "```tool_code\nget_weather('Oslo')\n```",
        "```json\n{'name': 'get_weather'}\n```",
    ],
)
def test_what_cannot_be_read_is_an_attempt(text):
    assert read_calls(text, "gemma") == Calls((), attempted=True)
