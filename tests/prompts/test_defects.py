from __future__ import annotations

from typing import Any

import pytest

from loracheck.models.model import ChatTemplate
from loracheck.prompts.chat import Asked
from loracheck.prompts.defects import DEFECTS
from loracheck.prompts.facts import examine

TOOLS = "{% if tools %}{{ tools | tojson }}{% endif %}"
TURNS = (
    "{% for message in messages %}<{{ message.role }}>{{ message.content }}"
    "{% for call in message.tool_calls or [] %}{{ call.function | tojson }}{% endfor %}{% endfor %}<assistant>"
)
SOUND = TOOLS + TURNS


def defects(source: str) -> list[str]:
    return list(examine(ChatTemplate(source))[1].defects)


def test_a_sound_template_has_none() -> None:
    assert defects(SOUND) == []


@pytest.mark.parametrize(
    ("source", "defect"),
    [
        ("""{{ 'Write {{"name": <name>, "arguments": <arguments>}}' }}""" + SOUND, "doubled_braces"),
        ("{{ 'As [{{ \"name\": 1 }}]' }}" + SOUND, "doubled_braces"),
        ("{{ tools }}" + TURNS, "python_tools"),
        ("{% for tool in tools or [] %}{{ tool }}{% endfor %}" + TURNS, "python_tools"),
        ("{{ tools | length }}{% if messages[0].role == 'system' %}" + TOOLS + "{% endif %}" + TURNS, "hidden_tools"),
        (
            "{% for tool in tools or [] %}{{ tool.function.name }}({{ tool.function.parameters.properties | join }})"
            "{% endfor %}" + TURNS,
            "hidden_choices",
        ),
        ("{% for m in messages %}{{ 'x' + (m.tool_calls or ['']) | first }}{% endfor %}" + SOUND, "fails_on_calls"),
        (SOUND.replace("{{ call.function | tojson }}", ""), "drops_calls"),
        (SOUND.replace("{{ message.content }}", "{% if message.role != 'tool' %}{{ message.content }}{% endif %}"),
         "drops_results"),
    ],
)  # fmt: skip
def test_a_defect_is_found_in_what_the_template_writes(source: str, defect: str) -> None:
    assert defects(source) == [defect]


def test_a_template_that_does_not_show_tools_is_not_looked_at_for_what_it_makes_of_them() -> None:
    assert defects(SOUND.removeprefix(TOOLS).replace("{{ call.function | tojson }}", "")) == []


USER: dict[str, Any] = {"role": "user", "content": "Hello"}
CALLING: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f"}}]}
RESULT: dict[str, Any] = {"role": "tool", "content": "1"}
CHOICE = {"name": "f", "parameters": {"properties": {"unit": {"enum": ["C", "F"]}}}}


@pytest.mark.parametrize(
    ("asked", "concerned"),
    [
        (Asked([USER], [{"name": "f"}]), {"doubled_braces", "python_tools", "hidden_tools"}),
        (Asked([{"role": "system", "content": ""}, USER], [{"name": "f"}]), {"doubled_braces", "python_tools"}),
        (Asked([USER], [CHOICE]), {"doubled_braces", "python_tools", "hidden_tools", "hidden_choices"}),
        (Asked([USER, CALLING, RESULT], [{"name": "f"}]),
         {"doubled_braces", "python_tools", "hidden_tools", "drops_calls", "drops_results"}),
    ],
)  # fmt: skip
def test_a_defect_concerns_only_prompts_that_it_shows_in(asked: Asked, concerned: set[str]) -> None:
    assert {name for name, defect in DEFECTS.items() if defect.concerns(asked)} == concerned
