"""Thinking, told by templates in our own words that work as those of the families do."""

from __future__ import annotations

from typing import Any

import pytest

from loracheck.errors import ModelError
from loracheck.models.model import ChatTemplate
from loracheck.prompts.facts import examine
from loracheck.prompts.thinking import Thinking

TOOLS = "{% if tools %}{{ tools | tojson }}{% endif %}"
TURNS = TOOLS + "{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}<assistant>"

QWEN3 = TURNS + "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}"
ALWAYS_OPEN = TURNS + "<think>\n"
ALWAYS_CLOSED = TURNS + "<think></think>\n\n"
OFF_BY_DEFAULT = TURNS + "{% if thinking %}<think>{% else %}</think>{% endif %}"
ONLY_TOLD = "{% if enable_thinking %}Think inside <think> tags.{% endif %}" + TURNS
ONLY_WITHOUT_TOOLS = "{% if not tools and thinking %}Think inside <think> tags.{% endif %}" + TURNS
TAKES_IT_OUT = TURNS.replace("message.content", "message.content.split('</think>')[-1]")
BUDGET = TURNS + "{% if thinking_budget is defined and thinking_budget == 0 %}<seed:think></seed:think>{% endif %}"
GPT_OSS = "Reasoning: {{ reasoning_effort or 'medium' }}" + TURNS + "{# <|channel|>analysis #}"
LEAST_CLOSES = (
    "{% if reasoning_effort is defined and reasoning_effort not in ['no_think', 'high'] %}"
    "{{ raise_exception('no such effort') }}{% endif %}"
    + TURNS
    + "{% if reasoning_effort == 'high' %}<think:x>{% else %}<think:x></think:x>{% endif %}"
)
SOLAR = TURNS.replace("<assistant>", "") + (
    "{% if reasoning_effort in ['low', 'minimal'] %}<|begin|>assistant<|think|><|end|>{% endif %}<|begin|>assistant"
)
ONE_SETS_THE_OTHER = "{% if thinking is not defined %}{% set thinking = enable_thinking %}{% endif %}" + OFF_BY_DEFAULT


def thinking(source: str, *, no_thinking: bool = False, **arguments: Any) -> Thinking | None:
    return examine(ChatTemplate(source, arguments=arguments), no_thinking=no_thinking)[1].thinking


@pytest.mark.parametrize(
    ("source", "on", "switch"),
    [
        (QWEN3, True, "enable_thinking=false"),
        (ALWAYS_OPEN, True, None),
        (ALWAYS_CLOSED, False, None),
        (OFF_BY_DEFAULT, False, "thinking=false"),
        (ONLY_TOLD, False, "enable_thinking=false"),
        (ONLY_WITHOUT_TOOLS, False, "thinking=false"),
        (TAKES_IT_OUT, True, None),
        (BUDGET, True, "thinking_budget=0"),
        (GPT_OSS, True, 'reasoning_effort="low"'),
        (LEAST_CLOSES, False, 'reasoning_effort="no_think"'),
        (SOLAR, True, 'reasoning_effort="minimal"'),
        (ONE_SETS_THE_OTHER, False, "enable_thinking=false"),
    ],
)
def test_whether_a_model_may_think_and_what_stops_it_is_told_by_its_template(
    source: str, on: bool, switch: str | None
) -> None:
    known = thinking(source)
    assert known is not None
    assert (known.on, known.switch) == (on, switch)


def test_a_template_that_knows_no_thinking_has_none() -> None:
    assert thinking(TURNS) is None
    # A variable of that name which changes nothing is something else.
    sets_it = (
        "{% for message in messages %}{% if message.role == 'tool' %}{% set reasoning = 1 %}{% endif %}{% endfor %}"
    )
    assert thinking(sets_it + TURNS + "{% if reasoning is defined %}{% endif %}") is None


@pytest.mark.parametrize("end", [
    "</think>", "<think>\n\n</think>\n\n", "</seed:think>", "</think:tag>", "</thinking>", "[/THINK]",
    "<|START_THINKING|><|END_THINKING|>", "<|channel>thought\n<channel|>",
])  # fmt: skip
def test_thinking_that_the_prompt_closes_is_off(end: str) -> None:
    known = thinking(TURNS + end + "{# <think> #}")
    assert known == Thinking(on=False)


@pytest.mark.parametrize("source", [QWEN3, OFF_BY_DEFAULT, ONLY_TOLD, ONLY_WITHOUT_TOOLS, BUDGET, LEAST_CLOSES, SOLAR])
def test_thinking_can_be_switched_off(source: str) -> None:
    off = thinking(source, no_thinking=True)
    assert off is not None
    assert (off.on, off.stops) == (False, True)


def test_what_can_only_think_less_still_thinks() -> None:
    less = thinking(GPT_OSS, no_thinking=True)
    assert less == Thinking(on=True, variable="reasoning_effort", off="low", stops=False)
    template, _ = examine(ChatTemplate(GPT_OSS), no_thinking=True)
    assert template.arguments == {"reasoning_effort": "low"}


def test_only_what_the_template_reads_is_set_and_what_the_user_set_stays() -> None:
    dated = QWEN3 + "{{ date_string }}"
    template, _ = examine(ChatTemplate(dated, arguments={"date_string": "1 May"}), no_thinking=True)
    assert template.arguments == {"date_string": "1 May", "enable_thinking": False}


@pytest.mark.parametrize(
    ("source", "arguments", "on"),
    [
        (QWEN3, {"enable_thinking": False}, False),
        (QWEN3, {"enable_thinking": True}, True),
        (ONLY_TOLD, {"enable_thinking": True}, True),
        (ONLY_WITHOUT_TOOLS, {"thinking": False}, False),
        (ONE_SETS_THE_OTHER, {"enable_thinking": True}, True),
        (ONE_SETS_THE_OTHER, {"thinking": True}, True),
        (GPT_OSS, {"reasoning_effort": "low"}, True),
    ],
)
def test_arguments_of_the_user_count(source: str, arguments: dict[str, Any], on: bool) -> None:
    known = thinking(source, **arguments)
    assert known is not None
    assert known.on is on


@pytest.mark.parametrize("source", [TURNS, ALWAYS_OPEN, TAKES_IT_OUT])
def test_thinking_that_cannot_be_switched_off_is_an_error(source: str) -> None:
    with pytest.raises(ModelError, match=r"^thinking cannot be switched off: .*; leave out --no-thinking, or name"):
        thinking(source, no_thinking=True)


def test_two_settings_that_say_the_opposite_are_an_error() -> None:
    complaint = "^--no-thinking sets enable_thinking=false, and the template argument enable_thinking says otherwise"
    with pytest.raises(ModelError, match=complaint):
        thinking(QWEN3, no_thinking=True, enable_thinking=True)
    assert thinking(QWEN3, no_thinking=True, enable_thinking=False) == thinking(QWEN3, no_thinking=True)
    with pytest.raises(ModelError, match="the template argument thinking says otherwise"):
        thinking(ONE_SETS_THE_OTHER, no_thinking=True, thinking=True)
