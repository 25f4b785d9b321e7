from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from loracheck.cases.importers.bfcl import read_bfcl
from loracheck.cases.importers.draft import Taken
from loracheck.cases.load import find_bad_schema
from loracheck.cases.read import read_text_file
from loracheck.scoring.arguments import arguments_match

from .factory import the_case, write_lines

if TYPE_CHECKING:
    from loracheck.cases.read import TextFile

REAL = Path(__file__).parents[4] / "shared" / "data" / "bfcl" / "BFCL_v4_simple_python.json"

FUNCTION = {
    "name": "shop.find",
    "description": "Find things.",
    "parameters": {
        "type": "dict",
        "properties": {
            "type": {"type": "string"},
            "price": {"type": "float", "optional": True},
            "near": {"type": "tuple", "items": {"type": "float"}},
            "tags": {"type": "array", "items": {"type": "string"}},
            "extra": {"type": "any"},
            "rows": {"type": "array", "items": {"type": "dict", "properties": {"field": {"type": "string"}}}},
            "more": {"type": "dict", "properties": {"colour": {"type": "String"}}},
        },
        "required": ["type"],
    },
}
ANSWER = {
    "shop.find": {
        "type": ["shoe", "shoes"],
        "price": [9.5, ""],
        "near": [[1.5, 2.0]],
        "tags": [["a", ""], ["b"], "", "a"],
        "extra": ["x"],
        "rows": [[{"field": ["age", ""]}]],
        "more": [{"colour": ["red", ""]}, ""],
    }
}


def record(name: str = "simple_0", **changes: Any) -> dict[str, Any]:
    question = [[{"role": "user", "content": "Find shoes."}]]
    return {"id": name, "question": question, "function": [FUNCTION]} | changes


def answer(name: str = "simple_0", *calls: Any) -> dict[str, Any]:
    return {"id": name, "ground_truth": list(calls or [ANSWER])}


@pytest.fixture
def questions(tmp_path: Path) -> TextFile:
    write_lines(tmp_path / "possible_answer_q.json", answer())
    return write_lines(tmp_path / "q.json", record())


def test_types_become_those_of_json_schema(questions: TextFile) -> None:
    case = the_case(read_bfcl(questions))
    assert case.tool_spec.parameters == {
        "type": "object",
        "properties": {
            "type": {"type": "string"},
            "price": {"type": "number", "optional": True},
            "near": {"type": "array", "items": {"type": "number"}},
            "tags": {"type": "array", "items": {"type": "string"}},
            "extra": {},
            "rows": {"type": "array", "items": {"type": "object", "properties": {"field": {"type": "string"}}}},
            "more": {"type": "object", "properties": {"colour": {}}},
        },
        "required": ["type"],
    }
    assert find_bad_schema([case]) is None


def test_accepted_answers_become_choices(questions: TextFile) -> None:
    case = the_case(read_bfcl(questions))
    assert (case.id, case.prompt, case.gold_tool_name) == ("simple_0", "Find shoes.", "shop.find")
    assert case.gold_arguments == {
        "type": ["shoe", "shoes"],
        "price": [9.5, None],
        "near": [[1.5, 2.0]],
        "tags": [["a", ""], ["b"], None],
        "extra": ["x"],
        "rows": [[{"field": ["age", None]}]],
        "more": [{"colour": ["red", None]}, None],
    }


def test_what_is_accepted_matches_and_nothing_else_does(questions: TextFile) -> None:
    case = the_case(read_bfcl(questions))
    least = {"type": "shoe", "near": [1.5, 2], "extra": "x", "rows": [{}]}
    for more, match in [
        ({}, True),
        ({"price": 9.5}, True),
        ({"price": 9}, False),
        ({"tags": ["a", ""]}, True),
        ({"tags": ["c"]}, False),
        ({"more": {"colour": "red"}}, True),
        ({"more": {"colour": "blue"}}, False),
        ({"rows": [{"field": "age"}]}, True),
        ({"size": 3}, False),
    ]:
        assert arguments_match(case.gold_arguments or {}, least | more, case.tool_spec.parameters) is match


def test_the_answers_may_be_in_a_folder_of_their_own_or_given(tmp_path: Path, questions: TextFile) -> None:
    beside = tmp_path / "possible_answer_q.json"
    expected = the_case(read_bfcl(questions))
    given = beside.rename(tmp_path / "elsewhere.json")
    assert the_case(read_bfcl(questions, answers=given)) == expected
    (tmp_path / "possible_answer").mkdir()
    given.rename(tmp_path / "possible_answer" / "q.json")
    assert the_case(read_bfcl(questions)) == expected


def test_a_question_where_no_function_fits_expects_no_call_and_needs_no_answer(tmp_path: Path) -> None:
    case = the_case(read_bfcl(write_lines(tmp_path / "q.json", record("live_irrelevance_3-1"))))
    assert (case.expect, case.gold_arguments) == ("no_call", None)


def test_system_texts_and_several_functions_are_kept(tmp_path: Path) -> None:
    write_lines(tmp_path / "possible_answer_q.json", answer())
    turn = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Find shoes."}]
    other = {"name": "other", "description": None}
    case = the_case(read_bfcl(write_lines(tmp_path / "q.json", record(question=[turn], function=[other, FUNCTION]))))
    assert case.conversation == turn
    assert [tool.name for tool in case.surface] == ["other", "shop.find"]
    assert case.gold == "shop.find"


def test_parallel_answers_are_all_expected_in_any_order(tmp_path: Path) -> None:
    second = {"other": {"x": ["", 1]}}
    write_lines(tmp_path / "possible_answer_q.json", answer("parallel_multiple_0", ANSWER, second))
    questions = write_lines(tmp_path / "q.json", record("parallel_multiple_0", function=[{"name": "other"}, FUNCTION]))
    case = the_case(read_bfcl(questions))
    assert [call.name for call in case.expected_calls] == ["shop.find", "other"]
    assert case.expected_calls[0].arguments == the_gold(tmp_path)
    assert case.expected_calls[1].arguments == {"x": [None, 1]}
    assert (case.order, case.accepted_names, case.gold_tool_name) == ("any", ("shop.find", "other"), None)


def the_gold(folder: Path) -> dict[str, Any] | None:
    """The gold arguments of the one call in ANSWER."""
    write_lines(folder / "possible_answer_one.json", answer())
    return the_case(read_bfcl(write_lines(folder / "one.json", record()))).gold_arguments


def test_a_question_that_some_function_fits_takes_any_call_and_needs_no_answer(tmp_path: Path) -> None:
    case = the_case(read_bfcl(write_lines(tmp_path / "q.json", record("live_relevance_3-3-0"))))
    assert (case.expect, case.accepted_names, case.gold) == ("any_call", ("shop.find",), None)
    write_lines(tmp_path / "possible_answer_q.json", answer("live_relevance_3-3-0"))
    answered = the_case(read_bfcl(write_lines(tmp_path / "q.json", record("live_relevance_3-3-0"))))
    assert (answered.expect, answered.gold) == ("call", "shop.find")


@pytest.mark.parametrize("question", ["Find shoes.", [{"role": "user", "content": "Find shoes."}]])
def test_older_shapes_of_a_question_are_read(questions: TextFile, question: Any) -> None:
    older = write_lines(questions.path, record(question=question, function=FUNCTION))
    assert the_case(read_bfcl(older)).prompt == "Find shoes."


@pytest.mark.parametrize(
    ("changes", "expected_reason"),
    [
        ({"id": "simple_1"}, "no accepted answer; --answers FILE names where they are"),
        ({"function": []}, "no tools on offer"),
        ({"question": None}, "no question"),
        ({"question": []}, "no request before the answer"),
        ({"question": [[{"role": "ghost"}]]}, "a question that is no list of messages"),
        ({"question": [[], []]}, "several turns, without the answers between them"),
        ({"function": [{"name": "other"}]}, "the call names a tool that is not on offer"),
    ],
)
def test_what_cannot_be_used_has_a_reason(questions: TextFile, changes: Any, expected_reason: str) -> None:
    (skipped,) = read_bfcl(write_lines(questions.path, record(**changes)))
    assert not isinstance(skipped, Taken)
    assert skipped.reason == expected_reason


@pytest.mark.parametrize("truth", ["f(x=1)", [], ["f(x=1)"], [["f(x=1)"]], [{}], [{"shop.find": [1]}]])
def test_an_answer_that_is_no_call_has_a_reason(tmp_path: Path, truth: Any) -> None:
    write_lines(tmp_path / "possible_answer_q.json", {"id": "simple_0", "ground_truth": truth})
    (skipped,) = read_bfcl(write_lines(tmp_path / "q.json", record()))
    assert not isinstance(skipped, Taken)
    assert skipped.reason == "an accepted answer that is no call"


def test_an_accepted_answer_that_its_own_function_does_not_take_has_a_reason(tmp_path: Path) -> None:
    """A variable's name where an array should be: without it, an empty array would be what is expected."""
    write_lines(tmp_path / "possible_answer_q.json", answer("simple_0", {"fit": {"x": ["data['sales']"]}}))
    fit = {"name": "fit", "parameters": {"type": "dict", "properties": {"x": {"type": "array"}}, "required": ["x"]}}
    (skipped,) = read_bfcl(write_lines(tmp_path / "q.json", record(function=[fit])))
    assert not isinstance(skipped, Taken)
    assert skipped.reason == "an accepted answer that its own function does not take"


@pytest.mark.skipif(not REAL.is_file(), reason="the leaderboard's own lines are not here")
def test_every_line_of_the_leaderboards_sample_is_used() -> None:
    imported = list(read_bfcl(read_text_file(REAL)))
    cases = [each.case for each in imported if isinstance(each, Taken)]
    assert len(cases) == len(imported) == 400
    assert find_bad_schema(cases) is None
