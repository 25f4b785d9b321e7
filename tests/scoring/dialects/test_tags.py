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
        ("minicpm", '<function name="get_weather">city: Oslo</function>'),
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


def test_only_the_line_breaks_next_to_the_tags_are_dropped():
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
