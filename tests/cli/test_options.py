from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from loracheck.scoring.dialects import DIALECTS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["check", "s.yaml", "--dialect", "hermse"], "'--dialect': no dialect 'hermse'; did you mean 'hermes'?"),
        (["check", "s.yaml", "--dialect", "Auto"], "no dialect 'Auto'; did you mean 'auto'?"),
        (["demo", "--adapter", "renamr"], "'--adapter': no adapter 'renamr'; did you mean 'renamer'?"),
        (
            ["cases", "import", "in.jsonl", "-o", "out.jsonl", "--format", "opnai"],
            "'--format': no format 'opnai'; did you mean 'openai'?",
        ),
        # There are so few packs that all of them are named.
        (["cases", "show", "smoek"], "smoek: no such file, and no built-in pack; the packs are core, smoke, demo"),
        (["check", "--base", "b.gguf", "--adapter", "a.gguf", "--cases", "smok"], "the packs are core, smoke, demo"),
    ],
)
def test_a_misspelt_name_suggests_the_nearest_one(
    loracheck: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, args: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = loracheck(*args)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_a_name_like_none_that_there_is_brings_all_of_them(loracheck: Any) -> None:
    done = loracheck("check", "s.yaml", "--dialect", "sindarin")
    assert (done.code, done.out) == (2, "")
    assert f"no dialect 'sindarin'; give one of auto, {', '.join(DIALECTS)}" in done.err


def test_the_help_lists_what_can_be_chosen(loracheck: Any) -> None:
    out = " ".join(loracheck("demo", "--help").out.split())
    assert "[smollm2|qwen]" in out
    assert "[toolcaller|renamer|chatty|qwen-terse|qwen-renamer|qwen-pythonic]" in out
