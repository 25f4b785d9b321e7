import pytest

from loracheck.scoring.dialects import Calls, read_calls

from .answers import CALL, JSON, LLAMA


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (LLAMA, 1),
        (f"<|python_tag|>{LLAMA}", 1),
        (f"Here:\n{LLAMA}\nDone.", 1),
        (f"{LLAMA}; {LLAMA}", 2),
        (f"<|python_tag|>{LLAMA};{LLAMA}<|eom_id|>", 2),
        (f"<|python_tag|>{LLAMA}\n<|python_tag|>{LLAMA}", 2),
        ('{"type": "function", ' + LLAMA[1:], 1),
        (JSON, 1),
    ],
)
def test_llama_calls_are_read(text, calls):
    assert read_calls(text, "llama3").calls == (CALL,) * calls


@pytest.mark.parametrize(
    "text", [LLAMA[:-1], '{"name": "get_weather", "parameters": {"a": {"name": "x"', "<|python_tag|>import os"]
)
def test_a_llama_call_that_is_cut_off_is_an_attempt_and_not_the_object_inside_it(text):
    assert read_calls(text, "llama3") == Calls((), attempted=True)


def test_a_second_llama_call_that_breaks_does_not_take_the_first_along():
    assert read_calls(f'{LLAMA}; {{"name":', "llama3") == Calls((CALL,), attempted=True)


def test_llamas_own_tools_are_called_like_python():
    call = {"name": "brave_search", "arguments": {"query": "Oslo"}}
    assert read_calls('<|python_tag|>brave_search.call(query="Oslo")', "llama3").calls == (call,)


FUNCTION = '{"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\", \\"days\\": 3}"}'


@pytest.mark.parametrize(
    "text",
    [
        f'{{"content": null, "tool_calls": [{{"type": "function", "function": {FUNCTION}}}]}}',
        f'{{"function_call": {FUNCTION}}}',
        f'[{{"id": "1", "type": "function", "function": {FUNCTION}}}]',
        f'{{"type": "function", "function": {FUNCTION}}}',
        f'```json\n{{"tool_calls": [{JSON}]}}\n```',
    ],
)
def test_openai_messages_are_read(text):
    assert read_calls(text, "openai").calls == (CALL,)


@pytest.mark.parametrize(
    "text", [JSON, '{"tool_calls": null}', '{"tool_calls": []}', "[1, 2]", '{"tool_calls": ["x"]}']
)
def test_an_openai_message_without_calls_has_none(text):
    assert read_calls(text, "openai").calls == ()


def test_an_openai_message_that_is_cut_off_is_an_attempt():
    assert read_calls('{"tool_calls": [{"function": {"name": "get_', "openai") == Calls((), attempted=True)


@pytest.mark.parametrize(
    ("text", "attempted"), [("{'name': 't'}", True), ('{"name": "t', True), ("{so}", False), ("", False)]
)
def test_plain_json_that_fails_is_an_attempt(text, attempted):
    assert read_calls(text, "json") == Calls((), attempted=attempted)


def test_plain_json_is_left_as_it_was_written():
    assert read_calls(LLAMA, "json").calls == ({"name": "get_weather", "parameters": CALL["arguments"]},)


@pytest.mark.parametrize("thought", [f"<think>{JSON}</think>", f"{JSON}</think>", f"<think>{JSON}"])
def test_plain_json_in_thinking_is_no_call(thought):
    assert read_calls(thought, "json") == Calls((), attempted=False)


def test_plain_json_in_thinking_does_not_win_over_the_answer():
    assert read_calls(f'<think>{{"name": "f", "arguments": {{}}}}</think>{JSON}', "json").calls == (CALL,)


@pytest.mark.parametrize(
    "text", ["[{0}, {0}]", "Both:\n```json\n[\n  {0},\n  {0}\n]\n```", "[{0}, 1, {0}] is what I call.", "[[{0}, {0}]]"]
)
def test_the_calls_of_a_list_are_all_read_in_plain_json(text):
    assert read_calls(text.replace("{0}", JSON), "json").calls == (CALL, CALL)


@pytest.mark.parametrize("text", ['{0} [{"a": 1}, {"b": 2}]', "[{0}, ", "{0}\n{0}", '{"calls": [{"a": 1}]}'])
def test_what_is_in_no_list_with_the_first_object_is_no_further_call(text):
    assert len(read_calls(text.replace("{0}", JSON), "json").calls) == 1
