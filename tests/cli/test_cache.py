from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from loracheck.cli.main import run
from loracheck.files import only_here
from loracheck.store import Store, store_path
from suite_factory import Files, answering, call, make_case

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.engine import Prompt
    from loracheck.engine.fake import FakeEngine


@pytest.fixture
def check(files: Files, tmp_path: Path) -> list[str]:
    cases = tmp_path / "cases.jsonl"
    cases.write_text("\n".join(make_case(number).model_dump_json(exclude_none=True) for number in range(4)))
    return ["check", "--quiet", "--base", str(files.base), "--adapter", str(files.adapter), "--cases", str(cases)]


def keep_an_answer() -> None:
    with Store(store_path()) as store:
        store.put("answer", {"prompt": "a"}, "b")


def test_info_tells_the_folder_and_what_is_in_it(cache_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep_an_answer()
    (cache_folder / "models").mkdir()
    (cache_folder / "models" / "small.gguf").write_bytes(b"x" * 1_500_000)
    assert run(["cache", "info"]) == 0
    size = sum(path.stat().st_size for path in cache_folder.glob("answers*")) // 1000
    told = capsys.readouterr()
    assert told.out.splitlines() == [
        f"folder   {cache_folder}",
        f"answers  1 answer, {size} kB",
        "model    small.gguf, 2 MB",
    ]
    assert told.err == ""


def test_looking_at_nothing_makes_nothing(cache_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cache", "info"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["answers  0 answers, 0 B", "models   none fetched"]
    assert list(cache_folder.iterdir()) == []


def test_clear_removes_the_answers_and_leaves_the_models(
    cache_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep_an_answer()
    (cache_folder / "models").mkdir()
    (cache_folder / "models" / "small.gguf").write_bytes(b"x")
    (cache_folder / "mine.txt").write_text("not yours")
    assert run(["cache", "clear"]) == 0
    assert capsys.readouterr().out == f"removed {cache_folder / 'answers.sqlite'}\n"
    assert sorted(path.name for path in cache_folder.iterdir()) == ["mine.txt", "models"]
    assert run(["cache", "clear", "--models"]) == 0
    assert not list((cache_folder / "models").iterdir())
    capsys.readouterr()
    assert run(["cache", "clear"]) == 0
    assert capsys.readouterr().out == "nothing to remove\n"


def test_a_model_whose_fetching_was_interrupted_is_told_apart_and_cleared_with_the_models(
    cache_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = cache_folder / "models" / "small.gguf.part"
    part.parent.mkdir()
    part.write_bytes(b"x" * 1_500_000)
    run(["cache", "info"])
    assert capsys.readouterr().out.splitlines()[2:] == [
        "part     small.gguf.part, 2 MB; the next fetch goes on from there",
        "models   none fetched",
    ]
    run(["cache", "clear"])
    assert capsys.readouterr().out == "nothing to remove\n"
    run(["cache", "clear", "--models"])
    assert capsys.readouterr().out == f"removed {part}\n"
    assert not part.exists()


def test_converted_adapters_are_counted_and_cleared(cache_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (cache_folder / "converted").mkdir()
    adapter = cache_folder / "converted" / "0123.gguf"
    adapter.write_bytes(bytes(2000))
    run(["cache", "info"])
    assert "adapters 1 converted adapter, 2 kB" in capsys.readouterr().out
    run(["cache", "clear"])
    assert capsys.readouterr().out == f"removed {adapter}\n"
    assert not adapter.exists()


def test_quantized_models_are_counted_and_cleared_but_for_one_that_is_being_made(
    cache_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder := cache_folder / "quantized").mkdir()
    for name, size in (("a.gguf", 1_500_000), ("b.gguf", 2_000_000), (".c.gguf.loracheck-part", 1000)):
        (folder / name).write_bytes(bytes(size))
    with only_here(folder / ".d.gguf.loracheck-part", lambda _: None):
        run(["cache", "info"])
        being = "being quantized, or left by a process that was killed"
        assert capsys.readouterr().out.splitlines()[2:5] == [
            "quants   2 quantized models, 4 MB",
            f"part     .c.gguf.loracheck-part, 1 kB; {being}",
            f"part     .d.gguf.loracheck-part, 0 B; {being}",
        ]
        run(["cache", "clear"])
        removed = [folder / name for name in ("a.gguf", "b.gguf", ".c.gguf.loracheck-part")]
        assert capsys.readouterr().out.splitlines() == [f"removed {path}" for path in removed]
        assert [path.name for path in folder.iterdir()] == [".d.gguf.loracheck-part"]


def test_clear_also_removes_a_damaged_store_that_was_set_aside(cache_folder: Path) -> None:
    store_path().write_bytes(b"rubbish " * 999)
    with Store(store_path()) as store:
        assert store.warnings
    assert len(list(cache_folder.iterdir())) == 2
    assert run(["cache", "clear"]) == 0
    assert list(cache_folder.iterdir()) == []


@pytest.mark.parametrize("command", ["info", "clear"])
def test_help_shows_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cache", command, "--help"]) == 0
    assert f"loracheck cache {command}" in capsys.readouterr().out.split("Example")[1]


def test_check_uses_the_store_of_the_user(check: list[str]) -> None:
    first, second = answering(name="canned"), answering(name="canned")
    assert run(check, first) == 0
    assert first.asked
    assert run(check, second) == 0
    assert second.asked == []


def test_a_check_from_the_store_imports_no_llama_cpp(check: list[str], in_place_of_llama_cpp: FakeEngine) -> None:
    assert run(check, in_place_of_llama_cpp) == 0
    # The toy model is none that llama.cpp could load: only the store can have answered.
    lines = (
        "import sys",
        "from loracheck.cli.main import run",
        "print(run(sys.argv[1:]), {'llama_cpp', 'gguf'} & {*sys.modules})",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(lines), *check], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "0 set()", done.stderr


def test_no_cache_neither_reads_nor_writes(check: list[str], cache_folder: Path) -> None:
    engine = answering()
    assert run([*check, "--no-cache"], engine) == 0
    assert list(cache_folder.iterdir()) == []
    run(check, engine)
    engine.asked.clear()
    assert run([*check, "--no-cache"], engine) == 0
    assert engine.asked


def test_a_store_that_fails_is_told_and_does_not_change_the_exit_code(
    check: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    store_path().mkdir()
    assert run([*check, "-v"], answering()) == 0
    assert "Warning: " in (out := " ".join(capsys.readouterr().out.split()))
    assert "the store is off for this run" in out


def interrupting() -> FakeEngine:
    """Gives nine answers: four of the base, four of the adapter and one of a null adapter."""

    def stop(prompt: Prompt) -> str:
        if len(engine.asked) == 10:
            raise KeyboardInterrupt
        return call()

    engine = answering(nulls=stop)
    return engine


def test_an_interrupt_says_what_is_kept(check: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(check, interrupting()) == 130
    assert capsys.readouterr().err.strip() == (
        "Interrupted. 9 answers are kept in the store; run the same command again to go on."
    )
    with Store(store_path()) as store:
        assert store.count("answer") == 9


def test_an_interrupt_without_a_store_promises_nothing(check: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*check, "--no-cache"], interrupting()) == 130
    assert capsys.readouterr().err.strip() == "Interrupted."
