"""What holds for every dialect."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linear_time import takes_linear_time
from loracheck.scoring import parse_tool_call
from loracheck.scoring.dialects import DIALECTS, MAX_CALLS, Calls, read_calls
from loracheck.scoring.dialects.thinking import split_thinking
from loracheck.scoring.parse import MAX_NESTING

from .answers import ARGS, CALL, GOOD

MARKED = sorted(GOOD.keys() - {"json"})
EVERY = sorted(DIALECTS)


def test_there_is_a_good_answer_for_each():
    assert sorted(GOOD) == EVERY


def test_each_goes_by_its_own_name_and_title():
    assert all(dialect.name == name and dialect.title for name, dialect in DIALECTS.items())
    assert len({dialect.title for dialect in DIALECTS.values()}) == len(DIALECTS)


@pytest.mark.parametrize("name", EVERY)
def test_a_good_answer_is_its_call(name):
    assert read_calls(GOOD[name], name) == Calls((CALL,), attempted=True)


@pytest.mark.parametrize("name", EVERY)
def test_prose_is_no_call_and_no_attempt(name):
    for text in ("", " \n", "It is sunny in Oslo, 3 degrees.", "See [the docs](https://example.com) <b>now</b>."):
        assert read_calls(text, name) == Calls((), attempted=False)


@pytest.mark.parametrize("name", sorted(set(MARKED) - {"functionary"}))
def test_prose_before_a_call_is_let_through(name):
    assert read_calls(f"I will look that up.\n{GOOD[name]}", name).calls == (CALL,)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(
    "thought",
    [
        "<think>I could say {other}</think>",
        "I could say {other}\n</think>\n\n",
        "[THINK]I could say {other}[/THINK]",
        "<seed:think>I could say {other}</seed:think>",
        "<|START_THINKING|>I could say {other}<|END_THINKING|>",
        "<|channel|>analysis<|message|>I could say {other}<|end|><|start|>assistant",
    ],
)
def test_a_call_the_model_only_thinks_about_is_none(name, thought):
    thought = thought.format(other=GOOD[name].replace("Oslo", "Rome"))
    assert read_calls(thought + GOOD[name], name).calls == (CALL,)


@pytest.mark.parametrize("name", MARKED)
def test_an_answer_cut_off_in_its_arguments_is_an_attempt_without_a_call(name):
    text = GOOD[name][: GOOD[name].index("Oslo") + 2]
    assert read_calls(text, name) == Calls((), attempted=True)


@pytest.mark.parametrize("name", sorted(set(MARKED) - {"llama3", "openai"}))
def test_several_calls_come_in_order(name):
    text = "\n".join(GOOD[name].replace("Oslo", city) for city in ("Rome", "Oslo"))
    calls = read_calls(text, name).calls
    expected = ["Rome"] if name == "pythonic" else ["Rome", "Oslo"]
    assert [call["arguments"]["city"] for call in calls] == expected


@pytest.mark.parametrize("name", sorted(set(MARKED) - {"llama3", "openai", "pythonic"}))
def test_an_answer_that_does_not_stop_calling_is_cut(name):
    assert len(read_calls(f"{GOOD[name]}\n" * (MAX_CALLS + 50), name).calls) == MAX_CALLS


@settings(max_examples=300)
@given(
    st.text(st.characters()) | st.lists(st.sampled_from([*'{}[]":,\\ \n', *GOOD.values()]), max_size=12).map("".join)
)
def test_the_first_call_of_plain_json_is_read_as_the_contract_says(text):
    answer, _ = split_thinking(text)
    call = parse_tool_call(answer)
    assert repr(read_calls(text, "json").calls[:1]) == repr(() if call is None else (call,))


def pieces(text):
    """An answer's marks, and what stands between them."""
    return [piece for piece in text.replace(">", ">\0").replace("<", "\0<").split("\0") if piece]


PIECES = sorted({piece for text in GOOD.values() for piece in pieces(text)})
TEXTS = st.lists(
    st.sampled_from([*PIECES, *"{}[]()\"'`:,;=\\ \n-", "<escape>", "```tool_code\n", "\ud800", "\0", "1e999", "é"]),
    max_size=30,
).map("".join)


@settings(max_examples=400)
@given(TEXTS | st.text(st.characters()))
def test_no_text_makes_a_reader_fail(text):
    for name in DIALECTS:
        read = read_calls(
            text, name, [{"name": "get_weather", "parameters": {"properties": {"days": {"type": "string"}}}}]
        )
        assert all(isinstance(call, dict) for call in read.calls)
        assert read.attempted or not read.calls


@pytest.mark.parametrize("name", [name for name, text in GOOD.items() if ARGS in text])
def test_arguments_nested_too_deep_are_no_call(name):
    deep = '{"a":' * (MAX_NESTING + 1) + "1" + "}" * (MAX_NESTING + 1)
    assert read_calls(GOOD[name].replace(ARGS, deep), name).calls == ()


QUARTER = 30_000
HOSTILE = [
    *"{}[]()\"'`<>:,;=\\ -1",
    '{"a":',
    '{"a":"',
    '["',
    "[1,",
    "{};",
    "[f(",
    "f(a=1),",
    "a.",
    "a:",
    "<escape>",
    "<think>",
    "```json",
    "```tool_code\n",
    "<start_function_call>call:f{",
    "<start_function_call>call:f{a:<escape>",
    "<|tool_call_start|>[f(",
    '<tool_call>{"a": "',
    '<tool_call>[1, "',
    "[TOOL_CALLS]f[ARGS]{",
    "<function=f><parameter=a>",
    "<tool_call>f<arg_key>a</arg_key><arg_value>",
    "Action:```json",
    "to=functions.f<|message|>{",
    "to=f<|channel|>",
    "to=f<|message|>",
    'to=f<|message|><atem:invoke name="f">',
    "[{",
    "[{}",
    "]]>",
    "<function=f><parameter=a>\n<parameter=a>",
    "</function>",
    "</function> ",
    '<function name="f"><param name="a"><![CDATA[]]>',
    '<invoke name="f">{',
    '<invoke name="f"/>',
    "<arg_key>a</arg_key>",
    "<tool_call>f<arg_key>a</arg_key> ",
    "<tool_call>f<tool_sep><arg_key>a</arg_key>",
    '<|open|>call tool="f"<|sep|>',
    '<|open|>argument key="a"<|sep|>',
    "]<]minimax[>[<a>",
    "]<]minimax[>[<a>]<]minimax[>[</a>",
    ']<]minimax[>[<invoke name="f">',
    "<function_calls>f()\n",
    "<|tools_prefix|>[{",
    "<|content_invoke_tool_json|>{",
]
# A call that begins well, and then goes on without end.
LED_ASTRAY = {
    "qwen3_coder": [("<function=f>", "<parameter=a>\n1\n"), ("<function=f><parameter=a>", "</function>")],
    "glm": [("<tool_call>f", "<arg_key>a</arg_key>"), ("<tool_call>f<arg_key>a</arg_key>", " ")],
    "hy3": [("<tool_call>f<tool_sep>", "<arg_key>a</arg_key>\n")],
    "minicpm": [('<function name="f"><param name="a"><![CDATA[', "]]> ")],
    "invoke": [('<invoke name="f">', '<parameter name="a">1</parameter>'), ('<invoke name="f">{"a":', "[")],
    "kimi_k3": [('<|open|>call tool="f"<|sep|>', '<|open|>argument key="a"<|sep|>1<|close|>argument<|sep|>')],
    "minimax_m3": [
        (']<]minimax[>[<invoke name="f">' * 20, "]<]minimax[>[<a>]<]minimax[>[</a>"),
        (']<]minimax[>[<invoke name="f">' * 20, "]<]minimax[>[<a>"),
    ],
    "muse": [('to=f<|message|><atem:invoke name="f">', '<atem:parameter name="a">1</atem:parameter>')],
    "json": [('[{"name": "f", "arguments": {}}', ', {"name": "f"}'), ("{}", "[{")],
    "olmo3": [("<function_calls>", "f(a=1)\n")],
    "apertus": [("<|tools_prefix|>[{}", ', {"f": {}}')],
}


@pytest.mark.parametrize("name", EVERY)
def test_four_times_the_text_takes_about_four_times_as_long(name):
    """Quadratic time would take a minute on the longest answers."""
    for start, unit in [*(("", unit) for unit in [*HOSTILE, *pieces(GOOD[name])]), *LED_ASTRAY.get(name, ())]:
        text = start + unit * (QUARTER // len(unit))
        longer = start + unit * (4 * QUARTER // len(unit))
        assert takes_linear_time(
            lambda text=text: read_calls(text, name), lambda longer=longer: read_calls(longer, name)
        ), unit
