"""Which ways of writing a call count: the asked one and the one that the base speaks."""

from __future__ import annotations

import json

import pytest

from loracheck.scoring import Answer, Expectation
from loracheck.scoring.dialects import DIALECTS
from loracheck.scoring.spoken import Reader, spoken_in, written_in

WEATHER = {
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
EXPECTED = Expectation(WEATHER, "get_weather", (WEATHER,))
ROME = json.dumps({"name": "get_weather", "arguments": {"city": "Rome"}})
HERMES = f"<tool_call>\n{ROME}\n</tool_call>"
FENCED = f"```json\n{ROME}\n```"
PYTHON = '[get_weather(city="Rome")]'


def outcome(text: str, reader: Reader, *, truncated: bool = False) -> str:
    return reader.read(EXPECTED, Answer(text, truncated), None).outcome


def test_an_answer_is_written_in_the_asked_dialect_when_that_reads_a_call() -> None:
    assert written_in(Answer(HERMES), "hermes") == "hermes"
    # Plain JSON would read it too.
    assert written_in(Answer(ROME), "llama3") == "llama3"


def test_an_answer_is_written_in_the_asked_dialect_when_its_marks_show_in_it() -> None:
    assert written_in(Answer('<tool_call>{"name": "get_weather", "argum'), "hermes") == "hermes"


def test_an_answer_is_else_written_in_the_first_dialect_that_reads_a_call() -> None:
    assert written_in(Answer(FENCED), "hermes") == "json"
    assert written_in(Answer(PYTHON), "hermes") == "pythonic"


@pytest.mark.parametrize("text", ["", "It is sunny in Rome.", "{}", '{"city": "Rome"}'])
def test_an_answer_without_a_call_is_written_in_none(text: str) -> None:
    assert written_in(Answer(text), "json") is None
    assert written_in(Answer(text), "hermes") is None


def test_an_open_thought_is_read_only_by_dialects_with_marks_of_their_own() -> None:
    assert written_in(Answer(f"<think>Maybe {ROME}"), "json") is None
    assert written_in(Answer(f"Maybe {ROME}", thinking=True), "json") is None
    assert written_in(Answer(f"<think>So {HERMES}"), "json") == "hermes"
    assert written_in(Answer(f"So {HERMES}", thinking=True), "hermes") == "hermes"
    assert written_in(Answer(f"Hm.</think>{ROME}", thinking=True), "json") == "json"


def test_a_call_in_a_closed_thought_is_no_call() -> None:
    assert written_in(Answer(f"<think>{HERMES}</think>It is sunny."), "hermes") is None


def test_the_spoken_dialect_is_the_commonest_one() -> None:
    answers = [Answer(FENCED), Answer(FENCED), Answer(HERMES), Answer("Sunny.")]
    assert spoken_in(answers, "hermes") == "json"
    assert spoken_in(answers[1:], "hermes") == "hermes", "a tie goes to the asked one"


def test_one_call_suffices_to_tell_what_is_spoken() -> None:
    assert spoken_in([Answer("Sunny."), Answer(FENCED)], "hermes") == "json"


def test_without_any_call_the_asked_dialect_is_spoken() -> None:
    assert spoken_in([], "hermes") == "hermes"
    assert spoken_in([Answer("Sunny.")], "mistral") == "mistral"


def test_a_tie_between_others_goes_by_the_registered_order() -> None:
    first = next(name for name in DIALECTS if name in ("json", "pythonic"))
    for answers in ([FENCED, PYTHON], [PYTHON, FENCED]):
        assert spoken_in(map(Answer, answers), "hermes") == first


def test_the_asked_and_the_spoken_dialect_count() -> None:
    reader = Reader("hermes", spoken="json")
    assert outcome(HERMES, reader) == outcome(FENCED, reader) == "valid"
    assert outcome(PYTHON, reader) == "malformed"


def test_an_adapter_that_gives_up_the_format_its_base_keeps_is_caught() -> None:
    assert outcome(FENCED, Reader("hermes", spoken="hermes")) == "malformed"


def test_a_call_in_a_dialect_that_does_not_count_is_malformed_where_none_is_expected_too() -> None:
    quiet = Expectation(None, None, (WEATHER,))
    reading = Reader("hermes", spoken="hermes").read(quiet, Answer(PYTHON), None)
    assert (reading.outcome, reading.dialect, reading.call, reading.valid) == ("malformed", "pythonic", None, False)


def test_a_call_cut_off_in_another_dialect_is_malformed_and_not_truncated() -> None:
    assert outcome(PYTHON, Reader("hermes", spoken="hermes"), truncated=True) == "malformed"
    assert outcome("I will now", Reader("hermes", spoken="hermes"), truncated=True) == "truncated"


def test_a_call_that_went_wrong_shows_by_the_marks_of_the_spoken_dialect_too() -> None:
    assert outcome("<tool_call>get_weather Rome</tool_call>", Reader("json", spoken="hermes")) == "malformed"


def test_what_is_written_and_what_does_not_count_are_kept() -> None:
    reader = Reader("hermes", spoken="json")
    readings = [reader.read(EXPECTED, Answer(text), None) for text in (HERMES, FENCED, PYTHON, "Sunny.")]
    assert [reading.written_in for reading in readings] == ["hermes", "json", "pythonic", None]
    assert [reading.dialect for reading in readings] == [None, None, "pythonic", None]


def test_a_dialect_that_was_named_is_the_only_one_read() -> None:
    reader = Reader("hermes", spoken="json", read_as="pythonic")
    assert outcome(PYTHON, reader) == "valid"
    reading = reader.read(EXPECTED, Answer(HERMES), None)
    assert (reading.outcome, reading.dialect, reading.written_in) == ("malformed", "hermes", "hermes")
    assert reader.reads_a_call(Answer(PYTHON))
    assert not reader.reads_a_call(Answer(HERMES))


def test_a_wrong_name_and_bad_arguments_are_told_in_the_spoken_dialect() -> None:
    reader = Reader("hermes", spoken="json")
    assert outcome('{"name": "weather_get", "arguments": {"city": "Rome"}}', reader) == "wrong_tool"
    assert outcome('{"name": "get_weather", "arguments": {"city": 7}}', reader) == "bad_arguments"


def test_an_answer_cut_off_while_thinking_is_known_as_such() -> None:
    reader = Reader("hermes", spoken="hermes")
    cut = reader.read(EXPECTED, Answer("<think>Let me see", truncated=True), None)
    assert (cut.outcome, cut.cut_off_in_thinking) == ("truncated", True)
    assert not reader.read(EXPECTED, Answer("<think>Hm.</think>Let me", truncated=True), None).cut_off_in_thinking
