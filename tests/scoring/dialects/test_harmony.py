import pytest

from loracheck.scoring.dialects import Calls, read_calls

from .answers import ARGS, CALL, GOOD


@pytest.mark.parametrize(
    "text",
    [
        f"<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{ARGS}",
        f"<|channel|>commentary to=functions.get_weather json<|message|>{ARGS}<|call|>",
        f" to=functions.get_weather<|channel|>commentary <|constrain|>json<|message|>{ARGS}<|call|>",
        f"<|channel|>analysis to=functions.get_weather code<|message|>{ARGS}<|call|>",
        f" to=functions.get_weather<|channel|>analysis<|message|>{ARGS}<|call|>",
        "<|channel|>analysis<|message|>So.<|end|><|start|>assistant"
        f" to=functions.get_weather<|channel|>analysis<|message|>{ARGS}",
        f" to=get_weather<|channel|>commentary json<|message|>{ARGS}<|call|>",
        f"<|channel|>commentary to=get_weather <|constrain|>json<|message|>{ARGS}<|call|>",
        "<|channel|>analysis<|message|>I write to=functions.other.<|end|><|start|>assistant"
        f"<|channel|>commentary to=functions.get_weather<|message|>{ARGS}<|call|>",
        "<|channel|>commentary<|message|>One moment.<|end|><|start|>assistant to=functions.get_weather"
        f"<|channel|>commentary json<|message|>{ARGS}",
    ],
)
def test_every_spelling_is_read(text):
    assert read_calls(text, "harmony") == Calls((CALL,), attempted=True)


@pytest.mark.parametrize(
    "text",
    [
        "<|channel|>commentary to=functions.get_weather",
        "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>",
        '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Os',
        '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>["Oslo"]<|call|>',
    ],
)
def test_a_recipient_without_arguments_is_an_attempt(text):
    assert read_calls(text, "harmony") == Calls((), attempted=True)


def test_the_final_message_is_no_call():
    text = f"<|channel|>final<|message|>Call to=functions.get_weather with {ARGS}.<|return|>"
    assert read_calls(text, "harmony") == Calls((), attempted=False)


@pytest.mark.parametrize(
    "text",
    [
        "Put to=get_weather in the header.",
        f"I would write to=get_weather<|message|>{ARGS}",
        f"<|channel|>commentary to=assistant<|channel|>final<|message|>{ARGS}",
        f"<|start|>functions.get_weather to=assistant<|channel|>commentary<|message|>{ARGS}<|end|>",
        f"<|channel|>analysis to=browser.search<|message|>{ARGS}<|call|>",
        f" to=python<|channel|>analysis<|message|>{ARGS}<|call|>",
    ],
)
def test_a_word_behind_to_is_a_tool_only_next_to_a_channel_and_if_it_is_not_built_in(text):
    assert read_calls(text, "harmony") == Calls((), attempted=False)


def test_several_harmony_calls_come_in_order():
    text = f" to=a.b<|channel|>commentary json<|message|>{ARGS}<|call|>"
    text += "<|start|>assistant to=c<|channel|>commentary<|message|>{}"
    assert [call["name"] for call in read_calls(text, "harmony").calls] == ["a.b", "c"]


INVOKE = GOOD["muse"].partition("<|message|>")[2].removesuffix("<|eom|>")


@pytest.mark.parametrize(
    "text",
    [
        f" to=get_weather<|message|>{INVOKE}",
        f" to=self<|message|>So I call.<|eom|><|start|>assistant to=get_weather<|message|>{INVOKE}<|eot|>",
        f"<|start|>assistant to=user<|message|>So.<|eom|>\n<|start|>assistant to=get_weather<|message|>{INVOKE}",
        f" to=get_weather<|message|>{INVOKE}<|eom|><|start|>assistant to=user<|message|>Here it is: {INVOKE}",
        f" to=get_weather.get_weather<|message|>{INVOKE}".replace('"get_weather"', '"get_weather.get_weather"'),
    ],
)
def test_a_message_to_a_tool_is_a_muse_call(text):
    assert read_calls(text, "muse") == Calls((CALL,), attempted=True)


def test_a_muse_tool_keeps_its_namespace():
    text = f" to=weather.get<|message|>{INVOKE}".replace('"get_weather"', '"weather.get"')
    assert read_calls(text, "muse").calls[0]["name"] == "weather.get"


@pytest.mark.parametrize(
    "text",
    [
        INVOKE,
        f"You write:\n{INVOKE}",
        f" to=user<|message|>You write:\n{INVOKE}<|eot|>",
        f" to=self<|message|>I could write {INVOKE}<|eom|><|start|>assistant to=user<|message|>No.",
        f" to=self<|message|>I could write {INVOKE}",
        f" to=user<|message|>You write:\n<|start|>assistant to=get_weather<|message|>{INVOKE}",
        "to=get_weather is how you write it.",
    ],
)
def test_what_is_shown_to_others_is_no_muse_call(text):
    assert read_calls(text, "muse") == Calls((), attempted=False)


def test_a_message_to_a_tool_without_a_call_is_an_attempt():
    assert read_calls(f" to=get_weather<|message|>{ARGS}<|eot|>", "muse") == Calls((), attempted=True)


def test_muses_calls_are_no_others():
    assert read_calls(INVOKE, "invoke") == Calls((), attempted=False)
