import pytest

from loracheck.scoring.dialects import Calls, read_calls

from .answers import ARGS, CALL


@pytest.mark.parametrize(
    "text",
    [
        f"<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{ARGS}",
        f"<|channel|>commentary to=functions.get_weather json<|message|>{ARGS}<|call|>",
        f" to=functions.get_weather<|channel|>commentary <|constrain|>json<|message|>{ARGS}<|call|>",
        f"<|channel|>analysis to=functions.get_weather code<|message|>{ARGS}<|call|>",
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
