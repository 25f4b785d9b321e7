from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loracheck.cases.read import Record, read_records, read_text_file
from loracheck.errors import CasesError

if TYPE_CHECKING:
    from pathlib import Path


def read(path: Path, text: str) -> list[tuple[int, object]]:
    path.write_text(text, encoding="utf-8", newline="")
    return [(record.line, record.value) for record in read_records(read_text_file(path))]


def test_json_lines_have_their_numbers_and_blank_lines_count(tmp_path: Path) -> None:
    assert read(tmp_path / "x", '{"a": 1}\n\n{"a": 2}\r\n') == [(1, {"a": 1}), (3, {"a": 2})]


def test_the_records_of_an_array_have_the_line_they_begin_on(tmp_path: Path) -> None:
    text = '\n[\n  {\n    "a": 1\n  },\n  {"a": 2}, {"a": 3}\n,\n{"a": "\\n"}]\n'
    assert read(tmp_path / "x", text) == [(3, {"a": 1}), (6, {"a": 2}), (6, {"a": 3}), (8, {"a": "\n"})]
    assert read(tmp_path / "x", "[ ]") == []


@pytest.mark.parametrize("line", ["{", '{"a": NaN}', '{"a": ' + "9" * 5000 + "}", '{"a":' * 100_000])
def test_a_line_that_is_no_json_is_one_record_and_the_others_are_read(tmp_path: Path, line: str) -> None:
    assert read(tmp_path / "x", f"{line}\n{{}}") == [(1, Record.unreadable), (2, {})]


@pytest.mark.parametrize("text", ["[{}\n", "[{},\n", "[{}\n{}]", "[{},\n{]", "[{},\nNaN]", "[{},\n" + "[" * 100_000])
def test_a_broken_array_is_refused_with_its_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    with pytest.raises(CasesError, match=r"x\.json:2: not "):
        read(path, text)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(CasesError, match="none: no such file"):
        read_text_file(tmp_path / "none")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(st.text(), st.integers() | st.text())), st.sampled_from([None, 0, 2]))
def test_an_array_gives_what_json_gives(tmp_path: Path, values: list[object], indent: int | None) -> None:
    assert [value for _, value in read(tmp_path / "x", json.dumps(values, indent=indent))] == values
