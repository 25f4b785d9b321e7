import pytest

from loracheck.scoring.dialects import Calls, read_calls

from .answers import ARGS, CALL, GOOD


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("qwen3_coder", "<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>3</parameter>"),
        (
            "qwen3_coder",
            "<seed:tool_call>\n<function=get_weather>\n<parameter=city>Oslo</parameter>\n<parameter=days>3</parameter>\n"
            "</function>\n</seed:tool_call>",
        ),
        (
            "glm",
            "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value><arg_key>days</arg_key>"
            "<arg_value>3</arg_value></tool_call>",
        ),
        (
            "invoke",
            '<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n'
            '<｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>\n'
            '<｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>\n'
            "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        ),
        (
            "invoke",
            '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="get_weather">\n'
            '<steptml:parameter name="city">Oslo</steptml:parameter>\n'
            '<steptml:parameter name="days">3</steptml:parameter>\n'
            "</steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
        ),
        (
            "invoke",
            f'<｜DSML｜tool_calls><｜DSML｜invoke name="get_weather">\n {ARGS}\n</｜DSML｜invoke></｜DSML｜tool_calls>',
        ),
        ("glm", GOOD["glm"].replace("<", "<longcat_").replace("<longcat_/", "</longcat_")),
        (
            "glm",
            "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value><arg_key>days</arg_key><arg_value>3</arg_value>",
        ),
        ("hy3", GOOD["hy3"].replace(">", ":opensource>")),
        ("hy3", "<think:opensource></think:opensource>" + GOOD["hy3"].replace("\n", "").replace(">", ":opensource>")),
        ("kimi_k3", f"<|open|>response<|sep|>I look.<|close|>response<|sep|>{GOOD['kimi_k3']}<|close|>message<|sep|>"),
        ("kimi_k3", GOOD["kimi_k3"].replace(' type="number"', "").removesuffix("<|close|>tools<|sep|>")),
        (
            "minicpm",
            '<function name="get_weather"><param name="city"><![CDATA[Oslo]]></param>'
            '<param name="days">3</param></function>',
        ),
    ],
)
def test_every_spelling_is_read(name, text):
    assert read_calls(text, name).calls == (CALL,)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("qwen3_coder", f"<function=get_weather>{ARGS}</function>"),
        ("qwen3_coder", "<function=get_weather><parameter=city>Oslo</parameter> and more"),
        ("qwen3_coder", "<function=get_weather><parameter=city>Oslo"),
        ("glm", f"<tool_call>{ARGS}</tool_call>"),
        ("glm", "<tool_call>get_weather<arg_key>city</arg_key>Oslo"),
        ("invoke", "<invoke>get_weather</invoke>"),
        (
            "invoke",
            '<invoke name="get_weather"><parameter>Oslo</parameter><parameter name="days">3</parameter></invoke>',
        ),
        ("invoke", '<invoke name="get_weather">[1]</invoke>'),
        ("minicpm", '<function name="get_weather">city: Oslo</function>'),
        ("minicpm", '<function name="get_weather"><param name="city"><![CDATA[Oslo</param></function>'),
        ("hy3", f"<tool_call>{ARGS}</tool_call>"),
        ("kimi_k3", '<|open|>tools<|sep|>get_weather(city="Oslo")<|close|>tools<|sep|>'),
    ],
)
def test_what_is_not_between_its_tags_is_an_attempt(name, text):
    read = read_calls(text, name)
    assert read.attempted
    assert CALL not in read.calls


def test_a_call_without_arguments_has_none():
    text = "<tool_call>\n<function=now>\n</function>\n</tool_call>"
    assert read_calls(text, "qwen3_coder").calls == ({"name": "now", "arguments": {}},)
    assert read_calls("<tool_call>now</tool_call>", "glm").calls == ({"name": "now", "arguments": {}},)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("minicpm", '<function name="get_weather"><param>Oslo</param><param name="days">3</param></function>'),
        ("invoke", '<invoke name="get_weather"><parameter key="city">Oslo</parameter></invoke>'),
        ("qwen3_coder", "<function=get_weather><parameter=days>3</parameter><parameter>Oslo</parameter></function>"),
        ("glm", "<tool_call>get_weather<arg_value>Oslo</arg_value></tool_call>"),
        ("kimi_k3", '<|open|>call tool="f"<|sep|><|open|>argument<|sep|>1<|close|>argument<|sep|><|close|>call<|sep|>'),
    ],
)
def test_an_argument_without_a_name_leaves_no_call(name, text):
    assert read_calls(text, name) == Calls((), attempted=True)


@pytest.mark.parametrize("name", ["qwen3_coder", "glm", "hy3", "invoke", "minicpm", "kimi_k3", "muse"])
def test_a_call_cut_off_anywhere_ahead_of_its_last_value_is_none(name):
    text = GOOD[name]
    for length in range(text.index("get_weather"), text.rindex("3") + 1):
        cut = text[:length].rstrip()
        # With its first value closed and nothing behind it, a call may as well be whole.
        seems_whole = cut.count(">") > text.count(">", 0, text.index("Oslo")) and cut.endswith(">")
        assert not read_calls(cut, name).calls or seems_whole, cut


def test_a_closing_tag_that_was_forgotten_does_not_run_two_values_into_one():
    text = "<function=get_weather>\n<parameter=city>\nOslo\n<parameter=days>\n3\n</parameter>\n</function>"
    assert read_calls(text, "qwen3_coder").calls == (CALL,)


@pytest.mark.parametrize("end", ["</function>\n</tool_call>", "</function></seed:tool_call>", "</function>\n"])
def test_a_last_value_that_was_not_closed_ends_with_its_call(end):
    text = f"<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n{end}"
    assert read_calls(text, "qwen3_coder").calls == (CALL,)


def test_tags_inside_a_value_are_text():
    value = "a <parameter=x> b </function> c"
    text = f"<function=write>\n<parameter=text>\n{value}\n</parameter>\n</function>\n</tool_call>"
    assert read_calls(text, "qwen3_coder").calls[0]["arguments"] == {"text": value}


def test_a_closing_tag_inside_a_cdata_block_is_text():
    text = '<function name="write"><param name="text"><![CDATA[<b>a</b>\n</param> ]] >]]></param></function>'
    assert read_calls(text, "minicpm").calls[0]["arguments"] == {"text": "<b>a</b>\n</param> ]] >"}


def test_a_key_without_a_value_is_no_argument():
    text = "<tool_call>get_weather<arg_key>unit</arg_key><arg_key>city</arg_key><arg_value>Oslo</arg_value>\n"
    text += "<arg_key>days</arg_key>\n<arg_value>3</arg_value><arg_key>lang</arg_key></tool_call>"
    assert read_calls(text, "glm").calls == (CALL,)
    assert read_calls("<tool_call>now<arg_key>zone</arg_key></tool_call>", "glm").calls[0]["arguments"] == {}


@pytest.mark.parametrize("slash", ["/", " /"])
def test_a_tag_that_closes_itself_is_a_call_without_arguments(slash):
    call = f'<｜DSML｜invoke name="now"{slash}>\n'
    assert (
        read_calls(f"<｜DSML｜tool_calls>\n{call}{call}</｜DSML｜tool_calls>", "invoke").calls
        == ({"name": "now", "arguments": {}},) * 2
    )


def test_an_empty_object_is_a_call_without_arguments():
    assert read_calls('<invoke name="now">{}</invoke>', "invoke").calls == ({"name": "now", "arguments": {}},)


def test_attributes_are_unescaped_and_values_are_not():
    text = '<|open|>call tool="a&amp;b" index="1"<|sep|><|open|>argument key="&quot;c&quot;" type="string"<|sep|>&amp;'
    text += "<|close|>argument<|sep|><|close|>call<|sep|>"
    assert read_calls(text, "kimi_k3").calls == ({"name": "a&b", "arguments": {'"c"': "&amp;"}},)


def test_the_call_of_a_relative_is_not_taken_for_one_without_arguments():
    assert read_calls(GOOD["hy3"], "glm") == Calls((), attempted=True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("qwen3_coder", "<seed:tool_call>\n<function=f>\n<parameter=a>{}</parameter>\n</function>\n</seed:tool_call>"),
        ("glm", "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>{}</arg_value>\n</tool_call>"),
        ("hy3", "<tool_call>f<tool_sep>\n<arg_key>a</arg_key>\n<arg_value>{}</arg_value>\n</tool_call>"),
        ("invoke", '<invoke name="f">\n<parameter name="a">{}</parameter>\n</invoke>'),
        ("minicpm", '<function name="f"><param name="a"><![CDATA[{}]]></param></function>'),
        (
            "kimi_k3",
            '<|open|>call tool="f"<|sep|><|open|>argument key="a"<|sep|>{}<|close|>argument<|sep|><|close|>call',
        ),
        ("muse", 'to=f<|message|><atem:invoke name="f">\n<atem:parameter name="a">{}</atem:parameter>\n</atem:invoke>'),
    ],
)
def test_line_breaks_at_the_end_of_a_value_belong_to_it(name, text):
    value = "if a:\n    b()\n"
    assert read_calls(text.replace("{}", value), name).calls[0]["arguments"] == {"a": value}


def test_only_the_line_breaks_next_to_qwens_tags_are_dropped():
    text = "<function=write><parameter=text>\n\n  a\nb \n\n</parameter></function>"
    assert read_calls(text, "qwen3_coder").calls[0]["arguments"] == {"text": "\n  a\nb \n"}


def test_a_value_said_to_be_a_string_is_one():
    text = (
        '<invoke name="f"><parameter name="a" string="true">42</parameter><parameter name="b">42</parameter></invoke>'
    )
    assert read_calls(text, "invoke").calls[0]["arguments"] == {"a": "42", "b": 42}


def test_the_tools_type_the_values():
    tools = [{"name": "get_weather", "parameters": {"properties": {"days": {"type": "string"}}}}]
    assert read_calls(GOOD["glm"], "glm", tools) == Calls(
        ({"name": "get_weather", "arguments": {"city": "Oslo", "days": "3"}},), attempted=True
    )
