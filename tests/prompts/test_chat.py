from __future__ import annotations

import json

import pytest

from loracheck.errors import ModelError
from loracheck.models.model import ChatTemplate
from loracheck.prompts.chat import describe_tools, render_chat
from suite_factory import CHAT_TEMPLATE, SEARCH

ASK = [{"role": "user", "content": "Find cats."}]
TURNS = "{% for message in messages %}<{{ message.role }}>{{ message.content }}\n{% endfor %}<assistant>"


def render(source: str, messages: list[dict[str, str]] = ASK) -> str:
    return render_chat(ChatTemplate(source, "<s>", "</s>"), messages, [SEARCH])


def test_a_template_that_knows_tools_gets_them_in_openais_format() -> None:
    offered = json.dumps([{"type": "function", "function": SEARCH}])
    assert render(CHAT_TEMPLATE) == f"<s><tools>{offered}</tools><user>Find cats.<assistant>"


def test_a_template_that_does_not_show_tools_gets_them_in_a_system_message() -> None:
    assert render(TURNS) == f"<system>{describe_tools([SEARCH])}\n<user>Find cats.\n<assistant>"


def test_the_system_text_asks_for_a_name_and_arguments_and_holds_every_tool_as_json() -> None:
    said = describe_tools([SEARCH, {"name": "größe"}])
    assert '{"name": "<tool name>", "arguments": {' in said
    assert said.splitlines()[-2:] == [json.dumps(SEARCH), '{"name": "größe"}']


def test_tools_join_a_system_message_that_is_there_already() -> None:
    said = render(TURNS, [{"role": "system", "content": "Be kind."}, *ASK])
    assert said == f"<system>{describe_tools([SEARCH])}\n\nBe kind.\n<user>Find cats.\n<assistant>"


@pytest.mark.parametrize(
    "on_system",
    ["{{ raise_exception('System role not supported') }}", "{% continue %}", "{{ none + 1 }}"],
    ids=["refuses", "drops", "breaks on"],
)
def test_a_template_that_cannot_show_a_system_message_gets_the_tools_in_the_first_turn(on_system: str) -> None:
    source = TURNS.replace("<{{", "{% if message.role == 'system' %}" + on_system + "{% endif %}<{{")
    assert render(source) == f"<user>{describe_tools([SEARCH])}\n\nFind cats.\n<assistant>"


def test_a_template_that_cannot_do_without_tools_counts_as_one_that_shows_them() -> None:
    assert render("{{ tools | length }} on offer") == "1 on offer"


def test_a_template_that_only_notices_tools_does_not_show_them() -> None:
    assert render("{% if tools %}You may call tools.\n{% endif %}" + TURNS) == render(TURNS)


def test_a_tool_with_a_name_that_the_template_has_anyway_is_no_tool_that_it_shows() -> None:
    said = render("{# search_web #}Never call search_web.\n" + TURNS)
    assert describe_tools([SEARCH]) in said


def test_what_is_known_of_a_template_is_not_found_out_again() -> None:
    template = ChatTemplate("{{ tools | length }}")
    assert render_chat(template, ASK, [SEARCH], True) == "1"
    with pytest.raises(ModelError, match="chat template failed"):
        render_chat(template, ASK, [SEARCH], False)


def test_a_template_that_fails_only_with_tools_says_so() -> None:
    failing = "{% if tools %}{{ raise_exception('no tools please') }}{% endif %}" + TURNS
    with pytest.raises(
        ModelError, match=r"^the model's chat template fails when it is given tools: no tools please; use"
    ):
        render(failing)
    with pytest.raises(ModelError, match=r"^the model's chat template failed: never; use"):
        render("{{ raise_exception('never') }}")


def test_arguments_are_variables_of_the_template() -> None:
    template = ChatTemplate("{{ tools[0].function.name }} {{ source }} {{ mood.kind }}", arguments={
        "source": "a", "mood": {"kind": [1, None]},
    })  # fmt: skip
    assert render_chat(template, ASK, [SEARCH]) == "search_web a [1, None]"


def test_without_tools_the_template_is_rendered_as_it_is() -> None:
    assert render_chat(ChatTemplate(TURNS), ASK, []) == "<user>Find cats.\n<assistant>"


def test_the_answer_is_asked_for() -> None:
    assert render("{{ tools | length }}{% if add_generation_prompt %}<assistant>{% endif %}") == "1<assistant>"


def test_the_tokens_that_templates_spell_out_are_given() -> None:
    assert render("{{ bos_token }}{{ tools | length }}{{ eos_token }}") == "<s>1</s>"


def test_json_is_written_as_models_read_it_and_not_escaped_for_html() -> None:
    source = "{{ tools | length }}{{ {'b': '<a & \\'é\\'>', 'a': 1} | tojson%s }}"
    assert render(source % "") == "1" + json.dumps({"b": "<a & 'é'>", "a": 1}, ensure_ascii=False)
    assert render(source % "(indent=1, sort_keys=true)") == '1{\n "a": 1,\n "b": "<a & \'é\'>"\n}'
    assert render(source % "(separators=(',', ':'), ensure_ascii=true)") == '1{"b":"<a & \'\\u00e9\'>","a":1}'


def test_a_list_that_a_filter_makes_can_be_written_as_json_as_in_llama_cpp() -> None:
    source = "{{ tools | map(attribute='function') | map(attribute='name') | tojson }}"
    assert render(source) == '["search_web"]'


def test_the_date_of_a_template_is_always_the_same() -> None:
    assert render("{{ tools | length }} {{ strftime_now('%d %b %Y') }}") == "1 01 Jan 2025"


def test_block_tags_leave_no_blank_lines_as_in_transformers() -> None:
    source = "{% if tools %}\n  {% for t in tools %}\n{{ t.function.name }}\n  {% endfor %}\n{% endif %}\n"
    assert render(source) == "search_web\n"


def test_what_a_template_marks_for_training_is_written_like_the_rest() -> None:
    marked = "{% generation %}\n{{ m.content }}{{ tools | length }}\n{% endgeneration %}\n"
    assert render("{% for m in messages %}\n" + marked + "{% endfor %}") == "Find cats.1\n"


def test_what_is_set_inside_a_mark_for_training_stays_inside() -> None:
    marked = "{% generation %}{% set a = 2 %}{{ a }}{% endgeneration %}"
    assert render("{% set a = tools | length %}" + marked + "{{ a }}") == "21"


def test_a_template_that_writes_without_end_is_stopped() -> None:
    with pytest.raises(ModelError, match="it writes more than 4,000,000 characters; use --prompt raw"):
        render("{% for i in range(99999) %}{{ '%05d' % i * 2000 }}{% endfor %}")


def test_a_template_that_complains_at_length_is_cut_short() -> None:
    with pytest.raises(ModelError) as refused:
        render("{{ raise_exception('x' * 10**6) }}")
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.__class__.__init__.__globals__ }}",
        "{{ raise_exception.__globals__['json'] }}",
        "{{ ''|attr('__class__') }}{{ (''|attr('__class__')).__mro__ }}",
        "{% set _ = messages.append(1) %}",
        "{{ '{0.__class__.__mro__}'.format('') }}",
        "{% for i in range(10**9) %}{% endfor %}",
    ],
)
def test_the_sandbox_keeps_templates_from_pythons_internals(source: str) -> None:
    with pytest.raises(ModelError, match="the model's chat template failed: "):
        render(source)


@pytest.mark.parametrize(
    "source",
    [
        "{% if %}",
        "{{ messages[0].content",
        "{% unknown %}",
        "{{ raise_exception('only one turn') }}",
        "{{ missing.inner }}",
        "{{ 1 / 0 }}",
        "{{ 1 | dictsort }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{{ " + "(" * 3000,
        "{{ tools | tojson(nonsense=1) }}",
        "{% include 'other' %}",
    ],
)
def test_a_broken_template_names_the_way_out(source: str) -> None:
    with pytest.raises(ModelError, match=r"chat template failed: .+; use --prompt raw"):
        render(source)
