from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

import pytest

from loracheck.errors import CasesError
from loracheck.suite.load import DEFAULT_PACK, PACKS, find_cases, load_pack, pack_names
from suite_factory import make_case

if TYPE_CHECKING:
    from pathlib import Path


def test_every_pack_has_a_description_and_the_default_one_is_first() -> None:
    packs = files("loracheck.suite").joinpath("packs").iterdir()
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


def test_a_name_that_is_neither_is_refused_with_the_packs_there_are(tmp_path: Path) -> None:
    with pytest.raises(CasesError, match="coer: no such file, and no built-in pack; the packs are core, smoke, demo"):
        find_cases("coer")
    with pytest.raises(CasesError, match=r"none\.jsonl: no such file$"):
        find_cases(tmp_path / "none.jsonl")
    with pytest.raises(CasesError, match="a folder, not a file"):
        find_cases(tmp_path)
