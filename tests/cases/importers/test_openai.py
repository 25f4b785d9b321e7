from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from loracheck.cases.importers.draft import Taken
from loracheck.cases.importers.openai import read_openai
from loracheck.cases.read import read_text_file
from loracheck.scoring.several import ExpectedCall

from .factory import TIME, WEATHER, reason, the_case, write_lines

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.cases.case import Case

ASK = {"role": "user", "content": "Weather in Rome?"}


def wrapped(*tools: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "function", "function": tool} for tool in tools]


def calling(*calls: tuple[str, Any], **more: Any) -> dict[str, Any]:
    """An assistant's message that calls."""
    listed = [
        {"id": f"call_{name}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for name, arguments in calls
    ]
    return {"role": "assistant", "tool_calls": listed, **more}


def legacy(arguments: str) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "function_call": {"name": "get_weather", "arguments": arguments}}


def record(*messages: Any, **changes: Any) -> dict[str, Any]:
    return {"messages": [*messages], "tools": wrapped(WEATHER), "parallel_tool_calls": False} | changes


@pytest.fixture
def take(tmp_path: Path) -> Any:
    def take(*messages: Any, **changes: Any) -> Case:
        return the_case(read_openai(write_lines(tmp_path / "train.jsonl", record(*messages, **changes))))

    return take


@pytest.fixture
def refuse(tmp_path: Path) -> Any:
    def refuse(*messages: Any, **changes: Any) -> str:
        return reason(read_openai, tmp_path / "train.jsonl", record(*messages, **changes))

    return refuse


ROME = calling(("get_weather", {"city": "Rome"}))


def test_one_question_and_its_call_make_a_prompt_with_one_tool(take: Any) -> None:
    case = take(ASK, ROME)
    assert (case.id, case.prompt, case.messages, case.expect) == ("1", "Weather in Rome?", None, "call")
    assert case.tool_spec.spec() == WEATHER
    assert (case.gold_tool_name, case.gold_arguments) == ("get_weather", {"city": "Rome"})


def test_functions_and_function_call_are_read_as_they_used_to_be(take: Any) -> None:
    rome = legacy('{"city": "Rome"}')
    assert take(ASK, rome, tools=None, functions=[WEATHER]) == take(ASK, ROME)
    result = {"role": "function", "name": "get_weather", "content": "sunny"}
    again = {"role": "user", "content": "And in Bonn?"}
    case = take(ASK, rome, result, again, rome, tools=None, functions=[WEATHER])
    assert [message.role for message in case.messages] == ["user", "assistant", "tool", "user"]
    assert case.messages[2].name == "get_weather"


def test_all_that_was_said_before_the_call_is_the_question(take: Any) -> None:
    system = {"role": "system", "content": [{"type": "text", "text": "Be"}, {"type": "text", "text": "brief."}]}
    result = {"role": "tool", "tool_call_id": "call_get_weather", "content": "sunny"}
    thanks = {"role": "assistant", "content": "Sunny.", "weight": 0}
    case = take(system, ASK, ROME, result, thanks, ASK, ROME, result, thanks, tools=wrapped(WEATHER, TIME))
    assert case.conversation == [
        {"role": "system", "content": "Be\nbrief."},
        ASK,
        {
            "role": "assistant",
            "content": "",
            "tool_calls": (
                {
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": {"city": "Rome"}},
                    "id": "call_get_weather",
                },
            ),
        },
        result,
        {"role": "assistant", "content": "Sunny."},
        ASK,
    ]
    assert [tool.name for tool in case.tools] == ["get_weather", "get_time"]
    assert case.gold_tool_name == "get_weather"


def test_of_several_calls_in_a_turn_the_last_is_expected(take: Any) -> None:
    result = {"role": "tool", "content": "sunny"}
    second = calling(("get_weather", {"city": "Bonn"}))
    case = take(ASK, ROME, result, second, result, {"role": "assistant", "content": "Both sunny."})
    assert case.gold_arguments == {"city": "Bonn"}
    assert [message.role for message in case.messages] == ["user", "assistant", "tool"]


def test_calls_at_once_are_all_expected(take: Any) -> None:
    both = calling(("note", {"any": ["a"]}), ("get_weather", {"city": "Rome", "days": ["today"]}))
    case = take(ASK, both, tools=wrapped(WEATHER, {"name": "note"}))
    # A list where the schema asks for none would read as a choice.
    assert case.expected_calls == (
        ExpectedCall("note", {"any": [["a"]]}),
        ExpectedCall("get_weather", {"city": "Rome", "days": ["today"]}),
    )
    assert (case.order, case.gold_tool_name) == ("any", None)


@pytest.mark.parametrize("before", [[], [("get_weather", {"city": "Rome"})]])
def test_a_call_that_breaks_its_own_schema_is_noted(tmp_path: Path, before: list[Any]) -> None:
    (taken,) = read_openai(write_lines(tmp_path / "train.jsonl", record(ASK, calling(*before, ("get_weather", {})))))
    assert isinstance(taken, Taken)
    assert taken.note == "its own call does not fit the tool's schema"


@pytest.mark.parametrize("earlier", [[], [ASK, ROME, {"role": "tool", "content": "sunny"}]])
def test_a_last_turn_without_a_call_expects_none(take: Any, earlier: list[Any]) -> None:
    case = take(*earlier, {"role": "user", "content": "Thanks!"}, {"role": "assistant", "content": "Welcome."})
    assert (case.expect, case.gold, case.gold_arguments) == ("no_call", None, None)
    assert case.question == "Thanks!"


def test_what_the_user_says_after_the_last_answer_is_left_out(take: Any) -> None:
    assert take(ASK, ROME, {"role": "user", "content": "Hm."}) == take(ASK, ROME)


def test_a_list_that_would_read_as_a_choice_is_accepted_as_it_is(take: Any) -> None:
    tool = {"name": "f", "parameters": {"type": "object", "properties": {"any": {}, "list": {"type": "array"}}}}
    case = take(ASK, calling(("f", {"any": [1, 2], "list": [1, 2]})), tools=wrapped(tool))
    assert case.gold_arguments == {"any": [[1, 2]], "list": [1, 2]}


def test_tools_may_be_text_and_twice_the_same(take: Any) -> None:
    assert take(ASK, ROME, tools=json.dumps(wrapped(WEATHER, WEATHER))) == take(ASK, ROME)


def test_openais_wrapper_may_lack_its_type_or_be_missing(take: Any) -> None:
    call = {"name": "get_weather", "arguments": {"city": "Rome"}}
    for tool, made in [({"function": WEATHER}, {"function": call}), (WEATHER, call)]:
        assert take(ASK, {"role": "assistant", "tool_calls": [made]}, tools=[tool]) == take(ASK, ROME)


@pytest.mark.parametrize(
    ("messages", "changes", "expected_reason"),
    [
        ([ASK, ROME], {"tools": []}, "no tools on offer"),
        ([ASK, ROME], {"messages": "hello"}, "no list of messages"),
        ([ASK], {}, "no answer of the assistant"),
        ([ROME], {}, "no request before the answer"),
        ([{"role": "user", "content": ""}, ROME], {}, "no request before the answer"),
        (
            [ASK, calling(("get_weather", {"city": "Rome"}), ("fly", {}))],
            {},
            "the call names a tool that is not on offer",
        ),
        ([ASK, calling(("fly", {}))], {}, "the call names a tool that is not on offer"),
        ([ASK, legacy("Rome")], {}, "text that should be JSON and is not"),
        ([ASK, calling(("get_weather", [1]))], {}, "a call whose arguments are no JSON object"),
        ([ASK, {"role": "assistant", "tool_calls": [{}]}], {}, "a call without a name"),
        ([ASK, {"role": "assistant", "tool_calls": {"a": 1}}], {}, "tool_calls that are no list"),
        ([{"role": "user", "content": [{"type": "image_url"}]}, ROME], {}, "a message that is more than text"),
        ([{"role": "user", "content": 3}, ROME], {}, "a message that is no text"),
        ([{"role": ["user"]}, ROME], {}, "a message without a known role"),
        ([3, ROME], {}, "a message without a known role"),
        ([ASK, ROME], {"tools": [{"type": "function"}]}, "a tool without a name"),
        ([ASK, ROME], {"tools": [{"name": "f", "parameters": []}]}, "a tool whose parameters are no JSON Schema"),
        (
            [ASK, ROME],
            {"tools": wrapped(WEATHER, WEATHER | {"description": "Other."})},
            "two tools are named 'get_weather'; names must differ",
        ),
        ([{"role": "user", "content": "\ud800"}, ROME], {}, "half of a surrogate pair in its text"),
        ([ASK, calling(("get_weather", {"city": "\ud800"}))], {}, "half of a surrogate pair in its text"),
    ],
)
def test_what_cannot_be_used_has_a_reason(refuse: Any, messages: list[Any], changes: Any, expected_reason: str) -> None:
    assert refuse(*messages, **changes) == expected_reason


def test_lines_that_are_no_records_have_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    deep = '{"messages": ' + "[" * 700 + "]" * 700 + "}"
    huge = json.dumps(record(ASK, ROME)).replace('\\"Rome\\"', "1e999")
    path.write_text(f"{{\n[1]\n\n{huge}\n{deep}\n", encoding="utf-8")
    imported = read_openai(read_text_file(path))
    skipped = [(each.line, each.reason) for each in imported if not isinstance(each, Taken)]
    assert skipped[:3] == [(1, "not JSON"), (2, "not a JSON object"), (4, "a number that is no JSON")]
    assert skipped[3][0] == 5
