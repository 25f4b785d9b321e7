from __future__ import annotations

from typing import Any

import pytest

from loracheck.errors import ModelError
from loracheck.models.model import ChatTemplate
from loracheck.prompts import templates
from loracheck.prompts.facts import examine

TEMPLATE = (
    "{% if tools %}{{ tools | tojson }}{% endif %}{{ bos_token }}{% if date_string is defined %}{{ date_string }}"
    "{% endif %}{% set mood = 'good' %}{{ mood }}{% for i in range(2) %}{{ strftime_now('%Y') }}{% endfor %}"
)


def test_variables_that_a_template_sets_itself_or_that_all_have_are_not_the_users() -> None:
    assert templates.variables(TEMPLATE) == {"tools", "bos_token", "date_string"}


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("date_strin", "never reads date_strin; did you mean 'date_string'?"),
        ("unlike", "never reads unlike; it reads date_string"),
        ("mood", "never reads mood; it reads date_string"),
        ("range", "never reads range"),
        ("raise_exception", "never reads raise_exception"),
        ("messages", "the template argument messages is set by loracheck itself; take it out"),
        ("tools", "the template argument tools is set by loracheck itself; take it out"),
        ("add_generation_prompt", "set by loracheck itself"),
        ("bos_token", "set by loracheck itself"),
        ("eos_token", "set by loracheck itself"),
    ],
)
def test_an_argument_that_is_never_read_or_not_the_users_is_an_error(name: str, complaint: str) -> None:
    arguments: dict[str, Any] = {name: 1}
    with pytest.raises(ModelError) as refused:
        examine(ChatTemplate(TEMPLATE, arguments=arguments))
    assert complaint in str(refused.value)


def test_a_template_without_variables_says_so() -> None:
    with pytest.raises(ModelError, match="never reads thinking; it reads no variables of the user's"):
        examine(ChatTemplate("{{ tools }}", arguments={"thinking": True}))


def test_an_argument_that_is_read_is_used() -> None:
    template, facts = examine(ChatTemplate(TEMPLATE, arguments={"date_string": "1 May"}))
    assert template.arguments == {"date_string": "1 May"}
    assert facts.shows_tools
