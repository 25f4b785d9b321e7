from __future__ import annotations

import copy
import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loracheck.cases.case import Tool
from loracheck.cases.importers import FORMATS, detect_format, import_cases, write_cases
from loracheck.cases.importers.draft import Taken
from loracheck.cases.load import load_cases
from loracheck.errors import CasesError, InputError

from .factory import WEATHER, write_lines

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.cases.read import TextFile

MESSAGES = [{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": "Where?"}]
TURNS = [{"from": "human", "value": "Weather?"}, {"from": "gpt", "value": "Where?"}]


def xlam(query: str = "Weather in Rome?", **changes: Any) -> dict[str, Any]:
    answer = {"name": "get_weather", "arguments": {"city": "Rome", "days": ["today"]}}
    return {"query": query, "tools": [WEATHER], "answers": [answer]} | changes


@pytest.fixture
def hundred(tmp_path: Path) -> TextFile:
    return write_lines(tmp_path / "data.jsonl", *(xlam(f"Question {number}?") for number in range(100)))


@pytest.mark.parametrize(
    ("record", "format_name"),
    [
        ({"messages": MESSAGES, "tools": [WEATHER]}, "openai"),
        ({"id": "irrelevance_1", "question": [MESSAGES[:1]], "function": [WEATHER]}, "bfcl"),
        ({"conversations": TURNS, "tools": [WEATHER]}, "sharegpt"),
        (xlam(answers=[]), "xlam"),
    ],
)
def test_the_format_is_detected_from_the_records(tmp_path: Path, record: dict[str, Any], format_name: str) -> None:
    file = write_lines(tmp_path / "data.jsonl", "rubbish", {"other": 1}, record)
    assert detect_format(file) == format_name
    imported = import_cases(file)
    assert [(case.id, case.expect) for case in imported.cases] == [(str(record.get("id", 3)), "no_call")]
    assert [skipped.line for skipped in imported.skipped] == [1, 2]


def test_every_format_is_listed_under_its_own_name_and_key() -> None:
    assert [each.name for each in FORMATS.values()] == list(FORMATS)
    assert len({each.telling_key for each in FORMATS.values()}) == len(FORMATS)


def test_an_unknown_format_is_refused_with_the_keys_that_were_seen(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "data.jsonl", {"text": "a", "label": 1})
    with pytest.raises(CasesError, match=r"no known format: its first record has the keys text, label; a record needs"):
        import_cases(file)
    with pytest.raises(CasesError, match="it has no records"):
        import_cases(write_lines(tmp_path / "data.jsonl"))


def test_what_is_written_loads_as_the_same_cases(tmp_path: Path, hundred: TextFile) -> None:
    imported = import_cases(hundred)
    write_cases(tmp_path / "cases.jsonl", imported.cases)
    assert load_cases(tmp_path / "cases.jsonl") == imported.cases
    assert len(imported.cases) == 100


def test_letters_of_all_scripts_are_written_as_they_are(tmp_path: Path) -> None:
    imported = import_cases(write_lines(tmp_path / "data.jsonl", xlam("天气\u2028?")))
    write_cases(tmp_path / "cases.jsonl", imported.cases)
    assert "天气\u2028?" in (tmp_path / "cases.jsonl").read_text(encoding="utf-8")
    assert load_cases(tmp_path / "cases.jsonl") == imported.cases


def test_cases_of_one_id_are_told_apart_by_their_lines(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "data.jsonl", xlam(id="a"), xlam(id="a"), xlam(id=4), xlam(), xlam(id="a@2"))
    imported = import_cases(file)
    assert [case.id for case in imported.cases] == ["a", "a@2", "4", "4@4", "a@2@5"]
    write_cases(tmp_path / "cases.jsonl", imported.cases)
    assert load_cases(tmp_path / "cases.jsonl") == imported.cases


def test_a_limit_takes_the_first_usable_ones(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "data.jsonl", xlam(), {"query": "?"}, xlam(), xlam(), {"query": "?"})
    imported = import_cases(file, limit=2)
    assert [case.id for case in imported.cases] == ["1", "3"]
    assert [skipped.line for skipped in imported.skipped] == [2]
    assert len(import_cases(file, limit=9).cases) == 3


def test_a_sample_is_the_same_for_a_seed_and_in_the_order_of_the_file(hundred: TextFile) -> None:
    one = [int(case.id) for case in import_cases(hundred, sample=10, seed=1).cases]
    assert one == sorted(one)
    assert len(set(one)) == 10
    assert one == [int(case.id) for case in import_cases(hundred, sample=10, seed=1).cases]
    assert one != [int(case.id) for case in import_cases(hundred, sample=10, seed=2).cases]
    # Pinned: a sample must not change with the version of Python.
    assert one == [10, 14, 20, 21, 27, 36, 57, 72, 73, 92]
    assert len(import_cases(hundred, sample=1000).cases) == 100


def test_every_case_is_as_likely_to_be_in_a_sample(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "data.jsonl", *(xlam() for _ in range(10)))
    drawn = Counter(case.id for seed in range(400) for case in import_cases(file, sample=3, seed=seed).cases)
    # 120 expected of each; four standard deviations are 37.
    assert len(drawn) == 10
    assert all(abs(count - 120) < 37 for count in drawn.values())


def test_notes_are_of_the_cases_that_were_taken(tmp_path: Path) -> None:
    misfit = xlam(answers=[*xlam()["answers"], {"name": "get_weather", "arguments": {"city": 3}}])
    imported = import_cases(write_lines(tmp_path / "data.jsonl", misfit, xlam(), misfit), limit=2)
    assert imported.notes == ((1, "its own call does not fit the tool's schema"),)


def test_records_that_list_no_tools_get_those_that_go_with_the_file(tmp_path: Path) -> None:
    time = {"name": "get_time"}
    given = (Tool.model_validate(WEATHER), Tool.model_validate(time))
    without, own = xlam(tools=[]), xlam(tools=[WEATHER])
    file = replace(write_lines(tmp_path / "data.jsonl", without, own), tools=given)
    first, second = import_cases(file).cases
    assert [tool.spec() for tool in first.surface] == [WEATHER, time]
    assert [tool.name for tool in second.surface] == ["get_weather"]
    assert [skipped.reason for skipped in import_cases(replace(file, tools=())).skipped] == ["no tools on offer"]


def test_tools_may_be_mcps_or_anthropics(tmp_path: Path) -> None:
    plain = {key: WEATHER[key] for key in ("name", "description")}
    shapes = [
        plain | {"inputSchema": WEATHER["parameters"], "annotations": {"readOnlyHint": True}},
        plain | {"input_schema": WEATHER["parameters"], "cache_control": {"type": "ephemeral"}},
        {"type": "function", **WEATHER},
    ]
    record = {"messages": [MESSAGES[0], {"role": "assistant", "tool_calls": [CALL]}]}
    file = write_lines(tmp_path / "data.jsonl", *(record | {"tools": [tool]} for tool in shapes))
    assert [case.surface[0].spec() for case in import_cases(file).cases] == [WEATHER] * 3


def test_a_file_of_answers_is_only_for_the_format_that_has_one(hundred: TextFile) -> None:
    with pytest.raises(InputError, match="the format xlam has its answers in"):
        import_cases(hundred, answers=hundred.path)


def test_a_place_that_cannot_be_written_to_says_so(tmp_path: Path, hundred: TextFile) -> None:
    with pytest.raises(InputError, match="cannot write the file"):
        write_cases(tmp_path / "none" / "cases.jsonl", import_cases(hundred).cases)


WORDS = st.sampled_from(
    [
        "user",
        "assistant",
        "gpt",
        "",
        "[]",
        "{'name': 'get_weather'}",
        "<tools>[{'name': 'get_weather'}]</tools>",
        "<tool_call>{'name': 'get_weather'}",
        "List[int], optional",
        "irrelevance",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(st.characters(), max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
CALL = {"name": "get_weather", "arguments": {"city": "Rome"}}
GOOD = [
    {"messages": [*MESSAGES, MESSAGES[0], {"role": "assistant", "tool_calls": [CALL]}], "tools": [WEATHER]},
    {
        "id": "a",
        "question": [MESSAGES[:1]],
        "function": [WEATHER],
        "ground_truth": [{"get_weather": {"city": ["Rome"]}}],
    },
    {"conversations": [*TURNS, TURNS[0], {"from": "function_call", "value": json.dumps(CALL)}], "tools": [WEATHER]},
    xlam(id="a"),
]


@st.composite
def almost_good(draw: st.DrawFn) -> Any:
    """A record with some value in it, however deep, put in place of another."""
    record = copy.deepcopy(draw(st.sampled_from(GOOD)))
    place: Any = record
    while True:
        key = draw(st.sampled_from(list(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or not place[key] or draw(st.booleans()):
            place[key] = draw(VALUES)
            return record
        place = place[key]


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(almost_good(), min_size=1, max_size=4))
def test_no_record_stops_an_import_and_what_is_taken_loads(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    file = write_lines(tmp_path / "data.jsonl", *records)
    write_lines(tmp_path / "possible_answer_data.jsonl", *records)
    for name, known in FORMATS.items():
        each_record = list(known.read(file))
        assert len(each_record) == len(records)
        imported = import_cases(file, name)
        assert len(imported.cases) == sum(isinstance(each, Taken) for each in each_record)
        if imported.cases:
            write_cases(tmp_path / "cases.jsonl", imported.cases)
            assert load_cases(tmp_path / "cases.jsonl") == imported.cases
