import pytest

from linear_time import takes_linear_time
from loracheck.scoring.dialects import cut_off_in_thinking, opens_thinking
from loracheck.scoring.dialects.thinking import split_thinking

TAGS = ["think", "thinking", "seed:think", "mm:think", "longcat_think", "think:opensource"]
IN_FRONT = [
    *((f"<{tag}>", f"</{tag}>") for tag in TAGS),
    ("[THINK]", "[/THINK]"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    ("<|channel>thought", "<channel|>"),
]
# What ends these messages ends any other too.
AS_MESSAGES = [
    ("<|channel|>analysis<|message|>", "<|end|>"),
    ("<|think|>", "<|end|>"),
    ("<|content_thinking|>", "<|end_message|>"),
    ("to=self<|message|>", "<|eom|>"),
]


@pytest.mark.parametrize(("opening", "closing"), [*IN_FRONT, *AS_MESSAGES])
def test_closed_thinking_is_no_part_of_the_answer(opening, closing):
    text = f"a{opening}so{closing} b {opening}and so{closing}c"
    assert split_thinking(text) == ("a b c", None)
    assert not cut_off_in_thinking(text)


@pytest.mark.parametrize(("opening", "closing"), [*IN_FRONT, *AS_MESSAGES])
def test_thinking_that_is_never_closed_is_told_apart(opening, closing):
    text = f"a{opening}so{closing}b{opening}and so on"
    assert split_thinking(text) == ("ab", f"{opening}and so on")
    assert cut_off_in_thinking(text)


@pytest.mark.parametrize(("opening", "closing"), [*IN_FRONT, ("", "[BEGIN FINAL RESPONSE]")])
def test_thinking_that_the_prompt_opened_ends_where_the_answer_closes_it(opening, closing):
    for thinking in (False, True):
        assert split_thinking(f"so{closing}b", thinking=thinking) == ("b", None)
        assert split_thinking(f"{opening}so{closing}b", thinking=thinking) == ("b", None)


@pytest.mark.parametrize("closing", ["<|end|>", "<|end_message|>", "<|eom|>"])
def test_the_end_of_a_message_ends_no_thinking_that_was_not_seen_to_begin(closing):
    assert split_thinking(f"a{closing}b") == (f"a{closing}b", None)


@pytest.mark.parametrize("text", ["", "so", "so <tool_call>", "<think>so", "so<|end|>"])
def test_an_answer_that_leaves_open_what_the_prompt_opened_is_all_thinking(text):
    assert split_thinking(text, thinking=True) == ("", text)
    assert cut_off_in_thinking(text, thinking=True)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("plain", "plain"),
        (" b ", "b"),
        ("<think>a<think>b</think>c", "c"),
        ("<think>a</think>b</think>c", "b</think>c"),
        ("<think>a[/THINK]b</think>c", "c"),
    ],
)
def test_only_the_answer_is_left(text, answer):
    assert split_thinking(text) == (answer, None)


@pytest.mark.parametrize("to", ["to=functions.f", "to=f ", "to=a.b-c"])
def test_what_goes_to_a_tool_is_not_thought_on_any_channel(to):
    text = f"{to}<|channel|>analysis<|message|>{{}}"
    assert split_thinking(text) == (text, None)


def test_what_the_assistant_says_to_itself_is_thought():
    text = "to=assistant<|channel|>analysis<|message|>so<|end|>b"
    assert split_thinking(text) == ("to=assistantb", None)


@pytest.mark.parametrize("opening", [opening for opening, _ in [*IN_FRONT, *AS_MESSAGES]])
@pytest.mark.parametrize("space", ["", "\n", " \n\n"])
def test_a_prompt_that_ends_with_an_opening_mark_opens_thinking(opening, space):
    assert opens_thinking(f"<|assistant|>{opening}{space}")


def test_a_prompt_that_ends_by_announcing_steps_opens_thinking():
    assert opens_thinking("<|begin_assistant|>\nHere are my reasoning steps:\n")


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "<|assistant|>\n",
        "<|assistant|><think>\n\n</think>\n\n",
        "Write <think> ahead of your thoughts.<|assistant|>\n",
        "<|assistant|><think:opensource></think:opensource>",
        "<|assistant|></mm:think>",
    ],
)
def test_other_prompts_open_none(prompt):
    assert not opens_thinking(prompt)


UNITS = [
    "<think>",
    "</think>",
    "<think></think>",
    "<think>\n",
    "to=",
    "to=a",
    "to=a ",
    "to=f<|channel|>analysis<|message|>",
    "<|channel|>analysis<|message|>",
    "<|channel|>analysis<|message|><|end|>",
    "<|open|>",
    "<think:a",
    "<",
    " ",
]


@pytest.mark.parametrize("unit", UNITS)
def test_four_times_the_text_takes_about_four_times_as_long(unit):
    text = unit * (30_000 // len(unit))
    for read in (split_thinking, opens_thinking, cut_off_in_thinking):
        assert takes_linear_time(lambda read=read: read(text), lambda read=read: read(text * 4)), read
