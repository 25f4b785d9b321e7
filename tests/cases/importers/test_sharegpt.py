from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from loracheck.cases.importers.sharegpt import read_sharegpt

from .factory import TIME, WEATHER, reason, the_case, write_lines

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.cases.case import Case

ASK = {"from": "human", "value": "Weather in Rome?"}
CALL = {"name": "get_weather", "arguments": {"city": "Rome"}}
ROME = {"from": "gpt", "value": f"<tool_call>\n{json.dumps(CALL)}\n</tool_call>"}


def system(text: str) -> dict[str, str]:
    return {
        "from": "system",
        "value": f"Signatures are within <tools></tools> tags: <tools>\n{text}\n</tools> Call with <tool_call> tags.",
    }


OFFER = system(json.dumps([{"type": "function", "function": WEATHER}]))


@pytest.fixture
def take(tmp_path: Path) -> Any:
    def take(*turns: Any, **more: Any) -> Case:
        return the_case(read_sharegpt(write_lines(tmp_path / "data.jsonl", {"conversations": [*turns], **more})))

    return take


def test_tools_in_the_system_text_are_offered_and_the_text_is_left_out(take: Any) -> None:
    case = take(OFFER, ASK, ROME, id="abc")
    assert (case.id, case.prompt, case.messages) == ("abc", "Weather in Rome?", None)
    assert case.tool_spec.spec() == WEATHER
    assert (case.gold_tool_name, case.gold_arguments) == ("get_weather", {"city": "Rome"})


@pytest.mark.parametrize(
    "text", [str([{"type": "function", "function": WEATHER}]), json.dumps(WEATHER), f"{json.dumps(WEATHER)}\n"]
)
def test_the_tools_may_be_a_list_an_object_a_line_or_python(take: Any, text: str) -> None:
    assert take(system(text), ASK, ROME) == take(OFFER, ASK, ROME)


def test_several_tools_may_stand_on_lines_of_their_own(take: Any) -> None:
    case = take(system(f"{json.dumps(WEATHER)}\n{json.dumps(TIME)}"), ASK, ROME)
    assert [tool.name for tool in case.tools] == ["get_weather", "get_time"]


def test_calls_may_be_python_and_unclosed(take: Any) -> None:
    python = {"from": "gpt", "value": f"<think>\n</think><tool_call>\n{CALL}\n"}
    assert take(OFFER, ASK, python) == take(OFFER, ASK, ROME)


def test_the_tools_key_wins_over_the_system_text(take: Any) -> None:
    case = take(OFFER, ASK, ROME, tools=json.dumps([WEATHER, TIME]))
    assert [tool.name for tool in case.tools] == ["get_weather", "get_time"]
    assert case.prompt == "Weather in Rome?"


def test_a_system_text_without_tools_stays(take: Any) -> None:
    case = take({"from": "system", "value": "Be brief."}, ASK, ROME, tools=[WEATHER])
    assert [(message.role, message.content) for message in case.messages] == [
        ("system", "Be brief."),
        ("user", "Weather in Rome?"),
    ]
    assert take(ASK, ROME, tools=[WEATHER], system="Be brief.").messages == case.messages


def test_calls_and_results_as_turns_of_their_own(take: Any) -> None:
    called = {"from": "function_call", "value": json.dumps(CALL)}
    result = {"from": "observation", "value": "sunny"}
    case = take(ASK, called, result, {"from": "gpt", "value": "Sunny."}, ASK, called, tools=json.dumps([WEATHER]))
    assert [message.role for message in case.messages] == ["user", "assistant", "tool", "assistant", "user"]
    assert case.messages[1].tool_calls == ({"type": "function", "function": CALL},)
    assert case.gold_arguments == {"city": "Rome"}


def test_results_lose_their_tags_and_are_one_message_each(take: Any) -> None:
    results = {"from": "tool", "value": "<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response>\n"}
    case = take(OFFER, ASK, ROME, results, ROME, results, {"from": "gpt", "value": "Done."})
    assert [(message.role, message.content) for message in case.messages] == [
        ("user", "Weather in Rome?"),
        ("assistant", ""),
        ("tool", "1"),
        ("tool", "2"),
    ]


def test_an_answer_without_a_call_expects_none(take: Any) -> None:
    assert take(OFFER, ASK, {"from": "gpt", "value": "I would have to guess."}).expect == "no_call"


def test_roles_and_contents_may_have_openais_names(take: Any) -> None:
    turns = [{"role": "user", "content": ASK["value"]}, {"role": "assistant", "content": ROME["value"]}]
    assert take(*turns, tools=[WEATHER]) == take(OFFER, ASK, ROME)


def test_calls_at_once_are_all_expected(take: Any) -> None:
    both = {"from": "gpt", "value": ROME["value"] + ROME["value"].replace("Rome", "Bonn")}
    rome, bonn = take(OFFER, ASK, both).expected_calls
    assert [(call.name, call.arguments) for call in (rome, bonn)] == [
        ("get_weather", {"city": "Rome"}),
        ("get_weather", {"city": "Bonn"}),
    ]
    listed = [{"name": call.name, "arguments": call.arguments} for call in (rome, bonn)]
    own_turn = {"from": "function_call", "value": json.dumps(listed)}
    assert take(OFFER, ASK, own_turn).expected_calls == (rome, bonn)


@pytest.mark.parametrize(
    ("turns", "expected_reason"),
    [
        (None, "no list of conversations"),
        ([ASK, ROME], "no tools on offer"),
        ([system("none today"), ASK, ROME], "text that should be JSON and is not"),
        ([system("{1, 2}"), ASK, ROME], "text that should be JSON and is not"),
        (
            [OFFER, ASK, {"from": "gpt", "value": "<tool_call>get_weather(Rome)</tool_call>"}],
            "text that should be JSON and is not",
        ),
        ([OFFER, {"from": "ghost", "value": "boo"}], "a turn without a known speaker"),
        ([OFFER, {"from": {}, "value": "boo"}], "a turn without a known speaker"),
        ([OFFER, 3], "a turn without a known speaker"),
        ([OFFER, ASK], "no answer of the assistant"),
        ([OFFER, ROME], "no request before the answer"),
    ],
)
def test_what_cannot_be_used_has_a_reason(tmp_path: Path, turns: Any, expected_reason: str) -> None:
    assert reason(read_sharegpt, tmp_path / "data.jsonl", {"conversations": turns}) == expected_reason
