from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from loracheck.cases.case import Case
from loracheck.scoring.several import ExpectedCall
from suite_factory import SEARCH, make_case


def wrapped(tool: Any) -> dict[str, Any]:
    return {"type": "function", "function": tool}


def test_tools_may_come_in_openais_wrapper() -> None:
    other = {"name": "now"}
    case = make_case(tool_spec=None, tools=[wrapped(SEARCH), other, wrapped({"name": "add"})], gold_tool_name="now")
    assert [tool.spec() for tool in case.surface] == [SEARCH, other, {"name": "add"}]
    assert make_case(tool_spec=wrapped(SEARCH)) == make_case()


def test_what_a_file_did_not_say_of_a_tool_or_a_message_is_not_written_out_as_null() -> None:
    told = {"messages": ({"role": "user", "content": "Find cats."},), "tool_spec": {"name": "now", "parameters": None}}
    case = make_case(prompt=None, gold_tool_name="now", **told)
    assert {key: case.model_dump()[key] for key in told} == told
    again = type(case).model_validate(case.model_dump(mode="json"))
    assert again.conversation == list(told["messages"])
    assert again.surface[0].spec() == told["tool_spec"]


@pytest.mark.parametrize("tool", [{"function": SEARCH}, {"type": "tool", "function": SEARCH}, wrapped("search")])
def test_what_only_looks_like_openais_wrapper_is_refused(tool: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        make_case(tool_spec=tool)


@pytest.mark.parametrize(
    "tool",
    [
        {"name": "now", "description": "d", "inputSchema": {"type": "object"}, "title": "Now", "annotations": {}},
        {"name": "now", "description": "d", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}},
        {"type": "custom", "name": "now", "description": "d", "input_schema": {"type": "object"}},
        {"type": "function", "name": "now", "description": "d", "parameters": {"type": "object"}, "strict": True},
    ],
    ids=["mcp", "anthropic", "anthropic with a type", "openai without a wrapper"],
)
def test_a_tool_may_be_as_mcp_anthropic_and_openai_have_it(tool: dict[str, Any]) -> None:
    (read,) = make_case(tool_spec=tool).surface
    assert read.spec() == {"name": "now", "description": "d", "parameters": {"type": "object"}}


@pytest.mark.parametrize(
    "tool",
    [
        {"name": "now", "parameters": {}, "inputSchema": {}},
        {"name": "now", "inputSchema": 3},
        {"inputSchema": {}},
        {"name": "now", "input_shema": {}},
        {"type": "web_search_20250305", "name": "web_search"},
    ],
)
def test_a_tool_that_is_in_none_of_these_shapes_is_refused(tool: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        make_case(tool_spec=tool)


TOOLS = {"tool_spec": None, "tools": [SEARCH, {"name": "get_weather"}, {"name": "now"}]}
TWO_CALLS = [{"name": "search_web", "arguments": {"query": ["cats", "a cat"]}}, {"name": "now"}]


def test_what_one_call_should_be_is_the_only_one_of_the_expected_calls() -> None:
    case = make_case(gold_arguments={"query": "cats"})
    assert case.expected_calls == (ExpectedCall("search_web", {"query": "cats"}),)
    assert (case.accepted_names, case.expects_call) == (("search_web",), True)


def test_several_calls_may_begin_with_any_of_them_unless_their_order_is_strict() -> None:
    case = make_case(**TOOLS, gold_calls=[*TWO_CALLS, TWO_CALLS[0]])
    search, now = ExpectedCall("search_web", {"query": ["cats", "a cat"]}), ExpectedCall("now")
    assert case.expected_calls == (search, now, search)
    assert case.accepted_names == ("search_web", "now")
    assert make_case(**TOOLS, gold_calls=TWO_CALLS, order="strict").accepted_names == ("search_web",)


def test_to_those_who_look_at_one_call_it_is_the_first_of_several() -> None:
    case = make_case(**TOOLS, gold_calls=TWO_CALLS)
    assert (case.gold, case.expected_calls[0].arguments) == ("search_web", {"query": ["cats", "a cat"]})
    assert case.gold_arguments is None, "what is expected is said in one way"


@pytest.mark.parametrize(
    "gold",
    [{"gold_calls": TWO_CALLS}, {"gold_calls": TWO_CALLS, "order": "strict"}, {"expect": "any_call"}],
    ids=["in any order", "in their order", "any call"],
)
def test_what_is_expected_survives_being_written_and_read(gold: dict[str, Any]) -> None:
    case = make_case(**TOOLS, **gold)
    for written in (case.model_dump(mode="json"), case.model_dump(mode="json", exclude_unset=True)):
        again = Case.model_validate(written)
        assert again == case
        assert (again.expected_calls, again.order) == (case.expected_calls, case.order)
    assert Case.model_validate_json(case.model_dump_json()) == case
    assert case.model_dump(exclude_unset=True).keys() == {"id", "prompt", "tool_spec", "tools", *gold}
    assert case.model_copy(update={"id": "other"}).gold_arguments == case.gold_arguments


def test_any_call_takes_every_tool_on_offer_and_means_none_in_particular() -> None:
    case = make_case(**TOOLS, expect="any_call")
    assert case.accepted_names == ("search_web", "get_weather", "now")
    assert (case.gold, case.gold_arguments, case.expected_calls, case.expects_call) == (None, None, (), True)
    assert make_case(expect="any_call").gold is None
    quiet = make_case(**TOOLS, expect="no_call")
    assert (quiet.accepted_names, quiet.expected_calls, quiet.expects_call) == ((), (), False)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"gold_calls": []}, "gold_calls: empty; list the calls, or say expect: no_call if there should be none"),
        (
            {"gold_calls": [*TWO_CALLS, {"name": "get_wether"}]},
            "case 'case1': gold_calls[2].name: no tool 'get_wether' on offer; did you mean 'get_weather'?",
        ),
        (
            {"gold_calls": [{"name": "fly"}]},
            "case 'case1': gold_calls[0].name: no tool 'fly' on offer; give one of search_web, get_weather, now",
        ),
        ({"gold_calls": TWO_CALLS, "gold_tool_name": "now"}, "give either gold_calls or gold_tool_name and gold_argu"),
        (
            {"gold_calls": TWO_CALLS, "gold_arguments": {}},
            "give either gold_calls or gold_tool_name and gold_arguments",
        ),
        ({"gold_calls": TWO_CALLS, "expect": "no_call"}, "expect: no_call has no gold_calls; take them out"),
        ({"gold_calls": TWO_CALLS, "expect": "any_call"}, "expect: any_call has no gold_calls; take them out"),
        ({"gold_tool_name": "now", "expect": "any_call"}, "expect: any_call has no gold_tool_name or gold_arguments; "),
        ({"gold_tool_name": "now", "order": "strict"}, "order: strict is for gold_calls; give them, or take it out"),
        ({"gold_tool_name": "nwo"}, "gold_tool_name: no tool 'nwo' on offer; did you mean 'now'?"),
        (
            {"gold_tool_name": "fly"},
            "gold_tool_name: 3 tools on offer, 'fly' is none of them; give one of search_web, ",
        ),
        ({}, "gold_tool_name: 3 tools on offer, which of them should be called; give one of search_web, get_weather, "),
    ],
)
def test_what_cannot_be_expected_says_why(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError) as refused:
        make_case(**TOOLS, **changes)
    assert refused.value.errors()[0]["msg"].removeprefix("Value error, ").startswith(complaint)


def test_a_call_of_the_one_tool_on_offer_must_name_it_too() -> None:
    with pytest.raises(
        ValidationError, match=r"gold_calls\[0\]\.name: no tool 'search' on offer; did you mean 'search_w"
    ):
        make_case(gold_calls=[{"name": "search"}])
