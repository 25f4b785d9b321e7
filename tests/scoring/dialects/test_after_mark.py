import json

import pytest

from loracheck.scoring.dialects import Calls, read_calls

from .answers import ARGS, CALL, JSON

ATTEMPT = Calls((), attempted=True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hermes", f"<tool_call>{JSON}"),
        ("hermes", f"<tool_call>\n{JSON}\n</tool_call><|im_end|>"),
        ("hermes", f"<tool_call>[{JSON}]</tool_call>"),
        (
            "hermes",
            '<tool_call>{"arguments": "{\\"city\\": \\"Oslo\\", \\"days\\": 3}", "name": "get_weather"}</tool_call>',
        ),
        ("tool_calls", f"<TOOLCALL>[{JSON}]</TOOLCALL>"),
        ("tool_calls", f"<tool_calls>\n{JSON}\n</tool_calls>"),
        ("granite", f"<|tool_call|> [{JSON}]<|end_of_text|>"),
        ("granite", f"<tool_call>\n{JSON}\n</tool_call>"),
        ("phi4", f"functools[{JSON}]"),
        ("phi4", f"<|tool_call|>{JSON}<|/tool_call|>"),
        ("gigachat", f"function call<|role_sep|>\n{JSON}<|message_sep|>"),
        ("mistral", f"[TOOL_CALLS] [{JSON[:-1]}, " + '"id": "abcdefghi"}]</s>'),
        ("mistral", f"[TOOL_CALLS]get_weather[ARGS]{ARGS}"),
        ("mistral", f"[TOOL_CALLS]get_weather[CALL_ID]abcdefghi[ARGS]{ARGS}"),
        ("mistral", f"[TOOL_CALLS]get_weather{ARGS}"),
        ("command_r", 'Action: ```json\n[{"tool_name": "get_weather", "parameters": ' + ARGS + "}]\n```"),
        (
            "command_r",
            'Plan: look.\nAction:\n```json\n[\n{"tool_name": "get_weather", "parameters": ' + ARGS + "}\n]```",
        ),
        ("mistral", f"[TOOL_CALLS][{JSON}]\nI will tell you."),
        ("mistral", f"[TOOL_CALLS]get_weather[ARGS]{ARGS}One moment."),
        ("phi4", f"Let me see.\nfunctools[{JSON}]\nShall I go on?"),
        ("hermes", f"<longcat_tool_call>\n{JSON}\n</longcat_tool_call>"),
        ("apertus", f'<|tools_prefix|>[{{"get_weather": {ARGS}}}]'),
        ("apertus", f"<|tools_prefix|>[{JSON}]<|tools_suffix|>"),
        (
            "apertus",
            f'<|inner_prefix|>So.<|inner_suffix|><|tools_prefix|>[{{"get_weather": {ARGS}}}]<|tools_suffix|>So.',
        ),
        ("internlm2", f"<|action_start|> <|plugin|>{JSON}<|action_end|>\n"),
        (
            "inkling",
            f'<|content_invoke_tool_json|>{{"name": "get_weather", "args": {ARGS}}}<|content_model_end_sampling|>',
        ),
        ("inkling", f'other<|content_invoke_tool_json|>{{"name": "get_weather", "args": {ARGS}}}'),
        ("function_call", f"Sure.\n<function_call>{JSON}<|endoftext|>"),
        ("function_tag", f"<function=get_weather>\n{ARGS}\n"),
        ("functionary", f"get_weather\n{ARGS}"),
        ("functionary", f">>>all\nOne moment.>>>get_weather\n{ARGS}<|eot_id|>"),
        ("deepseek_r1", f"function<｜tool▁sep｜>get_weather\n```json\n{ARGS}\n```"),
        ("deepseek_r1", f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{ARGS}\n"),
        ("deepseek_v3", f"<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{ARGS}"),
        ("kimi_k2", f"<|tool_call_begin|>functions.get_weather:12<|tool_call_argument_begin|>{ARGS}"),
    ],
)
def test_every_spelling_is_read(name, text):
    assert read_calls(text, name).calls == (CALL,)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hermes", f"<tool_call>{JSON}}}</tool_call>"),
        ("hermes", f"<tool_call>{JSON} and that is all."),
        ("hermes", "<tool_call>get_weather(city='Oslo')</tool_call>"),
        ("hermes", "<tool_call>{'name': 'get_weather'}</tool_call>"),
        ("hermes", "<tool_call>"),
        ("hermes", "<tool_call>[1, 2]</tool_call>"),
        ("tool_calls", f"<tool_calls>{JSON}, {JSON}</tool_calls>"),
        ("granite", f"<|tool_call|>[{JSON}"),
        ("phi4", "<|tool_call|>none<|/tool_call|>"),
        ("mistral", "[TOOL_CALLS]"),
        ("mistral", f"[TOOL_CALLS][{JSON}] ]"),
        ("mistral", f"[TOOL_CALLS]get_weather{ARGS}}}"),
        ("phi4", f"functools[{JSON}]]"),
        ("apertus", f'<|tools_prefix|>[{{"get_weather": {ARGS}}}'),
        ("apertus", "<|tools_prefix|>get_weather<|tools_suffix|>"),
        ("internlm2", "<|action_start|><|plugin|>get_weather<|action_end|>"),
        ("inkling", "<|content_invoke_tool_json|>get_weather<|end_message|>"),
        ("function_call", "<function_call> get_weather"),
        ("mistral", "[TOOL_CALLS]get_weather[ARGS]city=Oslo"),
        ("command_r", "Action: ```json\n[{'tool_name': 'get_weather'}]```"),
        ("function_tag", "<function=get_weather>city: Oslo</function>"),
        ("function_tag", "<function=get_wea"),
        ("functionary", ">>>python\nprint(1)"),
        ("deepseek_r1", f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{ARGS}"),
        ("deepseek_r1", "<｜tool▁calls▁begin｜>"),
        ("deepseek_v3", f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{ARGS}\n```"),
        ("kimi_k2", "<|tool_calls_section_begin|>"),
        ("solar", "<|tool_call:begin|>a1<|tool_call:name|>get_weather"),
    ],
)
def test_what_cannot_be_read_behind_a_mark_is_an_attempt(name, text):
    assert read_calls(text, name) == ATTEMPT


def test_a_broken_call_does_not_hide_the_next():
    assert read_calls(f"<tool_call>{{bad}}</tool_call>\n<tool_call>{JSON}</tool_call>", "hermes").calls == (CALL,)


def test_marks_inside_an_argument_are_text():
    text = '<tool_call>{"name": "say", "arguments": {"text": "<tool_call>{}</tool_call>"}}</tool_call>'
    calls = read_calls(text, "hermes").calls
    assert calls == ({"name": "say", "arguments": {"text": "<tool_call>{}</tool_call>"}},)


@pytest.mark.parametrize(
    "call", [{"tool": "get_weather"}, {"name": "f"}, {"arguments": {}}, {"name": 1, "arguments": []}]
)
def test_an_object_that_is_no_whole_call_stays_as_it_is(call):
    assert read_calls(f"<tool_call>{json.dumps(call)}</tool_call>", "hermes").calls == (call,)


def test_arguments_in_a_text_that_is_no_object_stay_text():
    text = '<tool_call>{"name": "f", "arguments": "all of them"}</tool_call>'
    assert read_calls(text, "hermes").calls == ({"name": "f", "arguments": "all of them"},)


@pytest.mark.parametrize("name", ["directly_answer", "directly-answer"])
def test_the_tool_that_stands_for_none_is_no_call(name):
    text = f'Action: ```json\n[{{"tool_name": "{name}", "parameters": {{}}}}]\n```'
    assert read_calls(text, "command_r") == Calls((), attempted=False)


def test_granites_word_for_no_tool_is_no_call():
    text = '<function_call> {"name": "no_function", "arguments": {}}'
    assert read_calls(text, "function_call") == Calls((), attempted=False)


def test_code_for_internlms_interpreter_is_no_call():
    text = "<|action_start|><|interpreter|>\nprint({})<|action_end|>"
    assert read_calls(text, "internlm2") == Calls((), attempted=False)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mistral", "[TOOL_CALLS][{0}, {0}]"),
        ("mistral", "[TOOL_CALLS]get_weather{1}[TOOL_CALLS]get_weather[ARGS]{1}"),
        ("apertus", '<|tools_prefix|>[{"get_weather": {1}}, {"get_weather": {1}}]<|tools_suffix|>'),
        ("tool_calls", "<tool_calls>\n{0}\n{0}\n</tool_calls>"),
        ("phi4", "functools[{0}, {0}]"),
        ("function_call", "<function_call> {0}\n<function_call> {0}"),
    ],
)
def test_several_calls_are_all_read(name, text):
    assert read_calls(text.replace("{0}", JSON).replace("{1}", ARGS), name).calls == (CALL, CALL)


def test_the_user_is_no_tool():
    assert read_calls("all\nHello {there}", "functionary") == Calls((), attempted=False)


def test_an_empty_list_of_calls_is_no_call():
    assert read_calls("<|tool_call|>[]", "granite") == Calls((), attempted=False)
