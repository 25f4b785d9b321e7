"""What is read of an answer whose thinking does not end."""

import pytest

from loracheck.scoring.dialects import DIALECTS, Calls, read_calls

from .answers import ARGS, CALL, GOOD, JSON

MARKED = sorted(name for name, dialect in DIALECTS.items() if dialect.has_marks)
BARE = sorted(DIALECTS.keys() - set(MARKED))
OPEN = ["<think>So I write {}", "[THINK]So I write\n{}", "<|channel>thought\nSo I write\n{}"]


def test_what_may_be_written_without_marks_has_none():
    assert BARE == ["json", "llama3", "openai", "pythonic"]


@pytest.mark.parametrize("thought", OPEN)
@pytest.mark.parametrize("name", MARKED)
def test_marks_tell_a_call_even_in_thinking_that_never_ends(name, thought):
    assert read_calls(thought.format(GOOD[name]), name).calls == (CALL,)


@pytest.mark.parametrize("name", MARKED)
def test_marks_tell_a_call_in_thinking_that_the_prompt_opened(name):
    assert read_calls(f"So I write\n{GOOD[name]}", name, thinking=True).calls == (CALL,)


@pytest.mark.parametrize("thought", OPEN)
@pytest.mark.parametrize("name", BARE)
def test_without_marks_thinking_that_never_ends_holds_no_call_and_no_attempt(name, thought):
    assert read_calls(thought.format(GOOD[name]), name) == Calls((), attempted=False)
    assert read_calls(f"So I write {GOOD[name]}", name, thinking=True) == Calls((), attempted=False)


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_thinking_that_the_prompt_opened_and_the_answer_closes_is_not_read(name):
    thought = GOOD[name].replace("Oslo", "Rome")
    assert read_calls(f"I could say {thought}\n</think>\n\n{GOOD[name]}", name, thinking=True).calls == (CALL,)
    assert read_calls(f"I could say {thought}\n</think>\n\nNo.", name, thinking=True) == Calls((), attempted=False)


def test_the_answer_comes_ahead_of_the_thinking_behind_it():
    text = f"{GOOD['hermes']}<think>or {GOOD['hermes'].replace('Oslo', 'Rome')}"
    assert [call["arguments"]["city"] for call in read_calls(text, "hermes").calls] == ["Oslo", "Rome"]


@pytest.mark.parametrize(
    ("name", "with_marks"),
    [
        ("pythonic", '<|tool_call_start|>[get_weather(city="Oslo", days=3)]<|tool_call_end|>'),
        ("gemma", "```tool_code\nget_weather(city='Oslo', days=3)\n```"),
    ],
)
def test_where_marks_may_be_left_out_they_tell_a_call_all_the_same(name, with_marks):
    assert read_calls(f"<think>So I write {with_marks}", name).calls == (CALL,)


def test_fenced_json_in_thinking_that_never_ends_is_none_of_gemmas_marks():
    assert read_calls(f"<think>So I write\n```json\n{JSON}\n```", "gemma") == Calls((), attempted=False)


def test_a_message_to_itself_is_no_call_however_it_ends():
    assert read_calls(f" to=self<|message|>I could say {GOOD['muse']}", "muse").calls == ()
    text = f"<|channel|>analysis<|message|>I could say {ARGS}"
    assert read_calls(text, "harmony") == Calls((), attempted=False)
