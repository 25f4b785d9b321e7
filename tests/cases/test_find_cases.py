from __future__ import annotations

import json
import os
from importlib.resources import files
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from loracheck.cases import PACKS
from loracheck.cases.load import DEFAULT_PACK, find_cases, load_pack, pack_names
from loracheck.errors import CasesError
from suite_factory import SEARCH, make_case

if TYPE_CHECKING:
    from pathlib import Path


def test_every_pack_has_a_description_and_the_default_one_is_first() -> None:
    packs = files("loracheck.cases").joinpath("packs").iterdir()
    assert sorted(PACKS) == sorted(pack.name.removesuffix(".jsonl") for pack in packs if pack.is_file())
    assert pack_names() == tuple(PACKS)
    assert pack_names()[0] == DEFAULT_PACK


def test_a_pack_is_found_by_its_name_and_a_file_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(make_case().model_dump_json(exclude_unset=True), encoding="utf-8")
    assert find_cases(path) == find_cases(str(path)) == (make_case(),)
    assert find_cases("core") == load_pack("core")


def test_a_file_named_like_a_pack_wins_and_a_folder_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "core").write_text(make_case().model_dump_json(exclude_unset=True), encoding="utf-8")
    (tmp_path / "smoke").mkdir()
    assert find_cases("core") == (make_case(),)
    assert find_cases("smoke") == load_pack("smoke")


def test_a_name_that_is_neither_is_refused_with_the_packs_there_are_and_the_nearest(tmp_path: Path) -> None:
    complaint = r"coer: no such file, and no built-in pack; the packs are core, smoke, demo; did you mean 'core'\?"
    with pytest.raises(CasesError, match=complaint):
        find_cases("coer")
    with pytest.raises(CasesError, match=r"the packs are core, smoke, demo$"):
        find_cases("riddles")
    with pytest.raises(CasesError, match=r"none\.jsonl: no such file; check the path$"):
        find_cases(tmp_path / "none.jsonl")
    with pytest.raises(CasesError, match="this is a folder; name a file in it"):
        find_cases(tmp_path)


OPENAI = {
    "messages": [
        {"role": "user", "content": "Find cats."},
        {"role": "assistant", "tool_calls": [{"function": {"name": "search_web", "arguments": '{"query": "cats"}'}}]},
    ],
    "tools": [{"type": "function", "function": SEARCH}],
}


def test_a_file_in_a_format_of_others_is_imported_and_told_of(tmp_path: Path) -> None:
    path = tmp_path / "held-out.jsonl"
    path.write_text(f"{json.dumps(OPENAI)}\n{json.dumps({'messages': []})}\n", encoding="utf-8")
    told: list[str] = []
    (case,) = find_cases(path, told.append)
    assert (case.gold, case.gold_arguments) == ("search_web", {"query": "cats"})
    assert told == [f"{path}: read as openai, 1 case; 1 record not used (`loracheck cases import` says why)"]


def test_a_conversation_that_waits_for_its_answer_is_a_case_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    case = make_case(prompt=None, messages=[{"role": "user", "content": "Find cats."}])
    path.write_text(case.model_dump_json(exclude_none=True), encoding="utf-8")
    assert find_cases(path, lambda _: pytest.fail("told of")) == (case,)


def test_a_key_misspelt_in_a_case_of_ours_is_not_taken_for_a_format_of_others(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text('{"prompt": "p", "tool_spc": {"name": "f"}}', encoding="utf-8")
    with pytest.raises(CasesError, match="did you mean 'tool_spec'"):
        find_cases(path)


def test_a_file_of_others_without_a_usable_record_says_so(tmp_path: Path) -> None:
    path = tmp_path / "held-out.jsonl"
    path.write_text('{"conversations": []}', encoding="utf-8")
    with pytest.raises(CasesError, match="read as sharegpt, and no record could be used"):
        find_cases(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize(
    ("line", "gold_arguments", "told_of"),
    [(make_case().model_dump_json(exclude_unset=True), None, 0), (json.dumps(OPENAI), {"query": "cats"}, 1)],
    ids=["ours", "of others"],
)
def test_cases_may_come_out_of_a_pipe(tmp_path: Path, line: str, gold_arguments: object, told_of: int) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_text, args=(line, "utf-8"), daemon=True)
    writer.start()
    told: list[str] = []
    (case,) = find_cases(pipe, told.append)
    writer.join(5)
    assert (case.gold, case.gold_arguments, len(told)) == ("search_web", gold_arguments, told_of)


def test_a_file_of_others_may_be_larger_than_one_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loracheck.cases.read.MAX_JSON_LINES", 2**20)
    path = tmp_path / "large.jsonl"
    # Two bytes a letter: the bound is one of bytes.
    request = "ä" * 2**19
    path.write_text(json.dumps({"query": request, "tools": [SEARCH], "answers": []}, ensure_ascii=False), "utf-8")
    assert len(find_cases(path)) == 1
    path.write_text(make_case(prompt=request).model_dump_json(exclude_unset=True), "utf-8")
    with pytest.raises(CasesError, match=r"large\.jsonl: larger than 1 MB, the most that is read of such a file; give"):
        find_cases(path)
