from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from loracheck.cases.load import DEFAULT_PACK, load_cases, load_pack
from loracheck.errors import CasesError
from suite_factory import SEARCH

if TYPE_CHECKING:
    from pathlib import Path


def line(**changes: Any) -> str:
    return json.dumps({"prompt": "Find cats.", "tool_spec": SEARCH} | changes)


def refusal(path: Path) -> str:
    with pytest.raises(CasesError) as refused:
        load_cases(path)
    return str(refused.value).replace(str(path), path.name)


def refused_lines(tmp_path: Path, *lines: str) -> str:
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return refusal(path)


def test_json_lines_and_a_yaml_list_give_the_same_cases(tmp_path: Path) -> None:
    lines, listed = tmp_path / "cases.jsonl", tmp_path / "cases.YAML"
    lines.write_text(f"{line(id='a')}\n\n{line(gold_arguments={'query': 'cats'}, max_new_tokens=9)}\n", "utf-8")
    listed.write_text(
        "- {id: a, prompt: Find cats., tool_spec: &tool {name: search_web, parameters: {type: object, "
        "properties: {query: {type: string}}, required: [query]}}}\n"
        "- {prompt: Find cats., tool_spec: *tool, gold_arguments: {query: cats}, max_new_tokens: 9}\n",
        "utf-8",
    )
    cases = load_cases(str(lines))
    assert cases == load_cases(listed)
    assert [(case.id, case.gold, case.max_new_tokens) for case in cases] == [
        ("a", "search_web", None),
        ("2", "search_web", 9),
    ]


def test_openais_wrapper_is_taken_off(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(line(tool_spec={"type": "function", "function": {**SEARCH, "strict": True}}), "utf-8")
    (case,) = load_cases(path)
    assert case.tool_spec.spec() == SEARCH


def test_a_tool_is_handed_on_with_nothing_that_the_file_did_not_say(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(line(tool_spec={"name": "now", "parameters": None}), "utf-8")
    (case,) = load_cases(path)
    assert case.tool_spec.spec() == {"name": "now", "parameters": None}


def test_line_separators_inside_a_string_do_not_cut_the_line(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(
        b"\xef\xbb\xbf" + json.dumps(json.loads(line(prompt="a\u2028b\x85c")), ensure_ascii=False).encode()
    )
    assert load_cases(path)[0].prompt == "a\u2028b\x85c"


def test_ids_may_be_numbers(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(line(id=7), "utf-8")
    assert load_cases(path)[0].id == "7"


def test_every_mistake_of_a_line_is_named_with_its_number(tmp_path: Path) -> None:
    complaint = refused_lines(tmp_path, line(), "", line(promt="x", tool_spec=3))
    assert complaint.startswith(
        "cases.jsonl:3: tool_spec: should be a mapping, key: value; promt: unknown key; did you mean"
    )


@pytest.mark.parametrize("bad", ["{", "not json", "[" * 100_000, '{"a": ' + "9" * 5000 + "}"])
def test_a_line_that_is_no_json_is_named_with_its_number(tmp_path: Path, bad: str) -> None:
    assert refused_lines(tmp_path, line(), bad).startswith("cases.jsonl:2: not a line of JSON: ")


def test_a_json_value_that_is_no_object_is_no_case(tmp_path: Path) -> None:
    assert refused_lines(tmp_path, "[1]") == "cases.jsonl:1: should be a mapping, key: value"


def test_two_cases_with_one_id_are_refused(tmp_path: Path) -> None:
    complaint = "cases.jsonl: two cases have the id '2'; ids must differ"
    assert refused_lines(tmp_path, line(id="2"), line(id="2")) == complaint
    assert refused_lines(tmp_path, line(id="2"), line()) == complaint


def test_a_mistake_in_a_yaml_list_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "cases.yml"
    path.write_text("- prompt: a\n  tool_spec: {name: f}\n- prompt: b\n  tool_spc: {name: f}\n", "utf-8")
    assert refusal(path).splitlines() == [
        "cases.yml:4: [1].tool_spc: unknown key; did you mean 'tool_spec'?",
    ]


def test_a_yaml_file_that_is_no_list_and_files_without_cases_say_so(tmp_path: Path) -> None:
    path = tmp_path / "cases.yaml"
    path.write_text("prompt: a\n", "utf-8")
    assert refusal(path) == "cases.yaml: not a list of cases; begin each with a dash: - prompt: …"
    path.write_text("[]\n", "utf-8")
    assert refusal(path) == "cases.yaml: no cases in it; write some, or name another file"
    assert refused_lines(tmp_path, "", "  ") == "cases.jsonl: no cases in it; write some, or name another file"


def test_missing_files_folders_and_other_encodings_say_so(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.jsonl") == "none.jsonl: no such file; check the path"
    assert refusal(tmp_path).endswith(": this is a folder; name a file in it")
    path = tmp_path / "utf16.jsonl"
    path.write_bytes(line().encode("utf-16"))
    assert refusal(path) == "utf16.jsonl: not UTF-8 text (byte 0); save it as UTF-8"


def test_the_built_in_pack_is_there() -> None:
    assert len(load_pack(DEFAULT_PACK)) >= 24
