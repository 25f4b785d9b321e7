"""What prompts ask for, and what they are written with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loracheck.cases.suite import Defaults
from loracheck.errors import ModelError
from loracheck.models.model import ChatTemplate
from loracheck.prompts.chat import describe_tools
from loracheck.prompts.format import PromptFormat, look_at, write_prompts
from loracheck.store import Store
from suite_factory import CHAT_TEMPLATE, SEARCH, make_case

MODEL = Path("m.gguf")
HERMES_MARKS = '{# <tool_call>{"name" #}'
HIDES_TOOLS = CHAT_TEMPLATE.replace("<tools>{{ tools | tojson }}</tools>", "") + HERMES_MARKS
THINKS = CHAT_TEMPLATE + "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}"


def written(source: str | None, **defaults: Any) -> tuple[PromptFormat, str]:
    template = None if source is None else ChatTemplate(source)
    used, (text,) = write_prompts(template, [make_case()], Defaults(**defaults), MODEL, Store())
    return used, text


def test_a_template_that_shows_tools_asks_for_its_own_dialect() -> None:
    used, text = written(CHAT_TEMPLATE + HERMES_MARKS)
    assert (used.asked.name, used.asked.why) == ("hermes", "the chat template writes <tool_call>")
    assert "You call tools." not in text


def test_where_we_add_the_tools_plain_json_is_asked_for_whatever_marks_the_template_has() -> None:
    used, text = written(HIDES_TOOLS)
    assert describe_tools([SEARCH]) in text
    assert used.asked.name == "json"
    assert used.asked.why == "the chat template does not show tools, so they are added to its text"


@pytest.mark.parametrize(("source", "prompt"), [(CHAT_TEMPLATE + HERMES_MARKS, "raw"), (None, None), (None, "raw")])
def test_bare_text_asks_for_plain_json(source: str | None, prompt: str | None) -> None:
    used, text = written(source, prompt=prompt)
    assert (used.asked.name, used.asked.why) == ("json", "prompts are sent as bare text")
    assert text == "Search for 1."
    assert (used.template, used.thinks) == (None, False)


def test_arguments_reach_the_template() -> None:
    assert written(THINKS)[1].endswith("<assistant>")
    assert written(THINKS, template_args={"enable_thinking": False})[1].endswith("<assistant><think></think>")
    assert written(THINKS, thinking=False)[1].endswith("<assistant><think></think>")


def test_a_model_thinks_until_that_is_switched_off() -> None:
    assert not written(CHAT_TEMPLATE)[0].thinks
    assert written(THINKS)[0].thinks
    assert not written(THINKS, thinking=False)[0].thinks


@pytest.mark.parametrize(
    ("source", "defaults", "complaint"),
    [
        (CHAT_TEMPLATE, {"template_args": {"enable_thinking": False}}, "m.gguf: the model's chat template never reads"),
        (CHAT_TEMPLATE, {"template_args": {"tools": []}}, "m.gguf: the template argument tools is set by loracheck"),
        (CHAT_TEMPLATE, {"thinking": False}, "m.gguf: thinking cannot be switched off"),
        (
            "{% if tools %}{{ 1 / 0 }}{% endif %}",
            {},
            "m.gguf: the model's chat template fails when it is given tools: ",
        ),
        (None, {"thinking": False}, "m.gguf: no chat template is used, .*; leave out --no-thinking"),
        (THINKS, {"prompt": "raw", "template_args": {"a": 1}}, "m.gguf: .*bare text; leave out template arguments"),
    ],
)
def test_what_the_template_cannot_do_is_an_error_that_names_the_model(
    source: str | None, defaults: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ModelError, match=f"^{complaint}") as refused:
        written(source, **defaults)
    assert "\n" not in str(refused.value)


DOUBLED = """{{ 'Write {{"name": 1}}' }}"""


def test_defects_that_show_in_the_prompts_are_warnings() -> None:
    used, _ = written(DOUBLED + CHAT_TEMPLATE)
    assert used.warnings == (
        'm.gguf: about its chat template: it shows calls with doubled braces, {{"…"}}, which is not JSON',
    )
    assert used.template is not None
    assert used.template.defects == ("doubled_braces", "drops_calls")


def test_a_look_at_a_template_names_every_defect() -> None:
    seen = look_at(ChatTemplate(DOUBLED + CHAT_TEMPLATE + HERMES_MARKS))
    assert seen.asked.name == "hermes"
    assert seen.warnings == (
        'it shows calls with doubled braces, {{"…"}}, which is not JSON',
        "it leaves out the calls of earlier turns",
    )


def test_a_look_at_a_template_that_fails_is_an_error() -> None:
    with pytest.raises(ModelError, match="chat template failed: not today"):
        look_at(ChatTemplate("{{ raise_exception('not today') }}"))
