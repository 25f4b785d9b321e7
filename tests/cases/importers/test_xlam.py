from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from loracheck.cases.importers.xlam import read_xlam

from .factory import WEATHER, reason, the_case, write_lines

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.cases.case import Case

FLAT = {
    "name": "races",
    "description": "Find races.",
    "parameters": {
        "near": {"description": "A city.", "type": "str"},
        "km": {"description": "How long.", "type": "List[int], optional"},
        "kind": {"description": "Which.", "type": "str", "default": "marathon"},
    },
}
ANSWER = {"name": "races", "arguments": {"near": "Rome", "km": [10, 21]}}


def record(**changes: Any) -> dict[str, Any]:
    return {"id": 7, "query": "Races in Rome?", "tools": [FLAT], "answers": [ANSWER]} | changes


@pytest.fixture
def take(tmp_path: Path) -> Any:
    def take(**changes: Any) -> Case:
        return the_case(read_xlam(write_lines(tmp_path / "data.jsonl", record(**changes))))

    return take


def test_parameters_listed_by_name_become_json_schema(take: Any) -> None:
    case = take()
    assert (case.id, case.prompt) == ("7", "Races in Rome?")
    assert case.tool_spec.parameters == {
        "type": "object",
        "properties": {
            "near": {"type": "string", "description": "A city."},
            "km": {"type": "array", "items": {"type": "integer"}, "description": "How long."},
            "kind": {"type": "string", "description": "Which.", "default": "marathon"},
        },
        "required": ["near"],
    }
    assert (case.gold_tool_name, case.gold_arguments) == ("races", {"near": "Rome", "km": [10, 21]})


def test_tools_and_answers_may_be_text(take: Any) -> None:
    assert take(tools=json.dumps([FLAT]), answers=json.dumps([ANSWER])) == take()


def test_json_schema_and_openais_wrapper_stay_what_they_are(take: Any) -> None:
    answer = {"name": "get_weather", "arguments": {"city": "Rome"}}
    case = take(tools=[{"type": "function", "function": WEATHER}], answers=[answer])
    assert case.tool_spec.spec() == WEATHER


@pytest.mark.parametrize(
    ("written", "schema", "required"),
    [
        ("int", {"type": "integer"}, True),
        ("float, optional", {"type": "number"}, False),
        ("Optional[bool]", {"type": "boolean"}, False),
        ("List[List[float]]", {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}, True),
        ("List[Union[int, float]]", {"type": "array"}, True),
        ("Tuple[int, str]", {"type": "array"}, True),
        ("Dict[str, Any]", {"type": "object"}, True),
        ("list", {"type": "array"}, True),
        ("Union[str, int]", {}, True),
        ("Any", {}, True),
        ("Callable[[float], float]", {}, True),
        ("", {}, True),
        (["int"], {}, True),
    ],
)
def test_types_are_read_as_python_writes_them(take: Any, written: Any, schema: Any, required: bool) -> None:
    tool = {"name": "races", "parameters": {"x": {"type": written}}}
    parameters = take(tools=[tool], answers=[]).tool_spec.parameters
    assert parameters["properties"]["x"] == schema
    assert parameters["required"] == (["x"] if required else [])


def test_no_answers_expect_no_call(take: Any) -> None:
    assert take(answers="[]").expect == "no_call"


def test_answers_at_once_are_all_expected(take: Any) -> None:
    (one,) = take().expected_calls
    assert take(answers=[ANSWER, ANSWER]).expected_calls == (one, one)


@pytest.mark.parametrize(
    ("changes", "expected_reason"),
    [
        ({"query": ""}, "no request before the answer"),
        ({"query": 3}, "a message that is no text"),
        ({"answers": "none"}, "text that should be JSON and is not"),
        ({"answers": 3}, "answers that are no list"),
        ({"answers": [3]}, "a call without a name"),
        ({"tools": ""}, "no tools on offer"),
        ({"tools": ["races"]}, "a tool without a name"),
    ],
)
def test_what_cannot_be_used_has_a_reason(tmp_path: Path, changes: Any, expected_reason: str) -> None:
    assert reason(read_xlam, tmp_path / "data.jsonl", record(**changes)) == expected_reason


def test_a_record_without_answers_has_a_reason(tmp_path: Path) -> None:
    assert reason(read_xlam, tmp_path / "data.jsonl", {"query": "a", "tools": [FLAT]}) == "no answers"
