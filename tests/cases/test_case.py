from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

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
