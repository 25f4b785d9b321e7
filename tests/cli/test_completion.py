"""Completion through the mechanism that shells use."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import loracheck
from loracheck import check
from loracheck.cases import PACKS
from loracheck.demo import ADAPTERS, MODELS
from loracheck.file_types import MAKEABLE
from loracheck.report import FORMS
from loracheck.scoring.dialects import DIALECTS
from models.peft_factory import write_peft
from suite_factory import Files, answering, make_case

if TYPE_CHECKING:
    from collections.abc import Callable

SUITE = "version: 1\nmodels: {base: {gguf: base.gguf}, ft: {adapters: [{gguf: adapter.gguf}]}}\nsuite: []\n"
TOLD = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))"
PROGRAM = "from loracheck.cli.main import main; main()"


@pytest.fixture
def folder(files: Files, tmp_path: Path) -> Path:
    """One of everything, and things that are none of it."""
    report = check(base=files.base, adapter=files.adapter, cases=[make_case()], null=False, engine=answering())
    (tmp_path / "report.json").write_text(FORMS["json"].render(report), encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (tmp_path / "cases.jsonl").write_text('{"prompt": "Hi."}\n', encoding="utf-8")
    write_peft(tmp_path / "peft")
    (tmp_path / "trained").mkdir()
    shutil.copy(files.adapter, tmp_path / "trained" / "mine.gguf")
    (tmp_path / "notes.gguf").write_text("my notes", encoding="utf-8")
    (tmp_path / "package.json").write_text("{}", encoding="utf-8")
    (tmp_path / "compose.yaml").write_text("services: {}\n", encoding="utf-8")
    shutil.copy(files.adapter, tmp_path / ".hidden.gguf")
    return tmp_path


def completed(
    folder: Path, *words: str, shell: str = "bash", program: str = PROGRAM
) -> subprocess.CompletedProcess[str]:
    """What the shell is told when the tab key is pressed behind the last of the words."""
    line = " ".join(("loracheck", *words))
    # Fish gives the word itself where the others give its number.
    place = words[-1] if shell == "fish" else str(len(words))
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, "_LORACHECK_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": place},
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.fixture
def offers(folder: Path, monkeypatch: pytest.MonkeyPatch, loracheck: Any) -> Callable[..., list[str]]:
    """The same in this process."""

    def offers(*words: str) -> list[str]:
        monkeypatch.chdir(folder)
        monkeypatch.setenv("_LORACHECK_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", " ".join(("loracheck", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        done = loracheck()
        assert (done.code, done.err) == (0, "")
        return [line.removeprefix("plain,") for line in done.out.splitlines()]

    return offers


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ch"], ["check"]),
        (["cases", "sh"], ["show"]),
        (["check", "--base", ""], ["base.gguf"]),
        (["check", "--candidate", "b"], ["base.gguf"]),
        (["check", "--adapter", ""], ["adapter.gguf", "peft", "trained/mine.gguf"]),
        (["check", "--base-adapter", "trained/"], ["trained/mine.gguf"]),
        (["check", "--adapter", "tr"], ["trained/mine.gguf"]),
        (["check", "--adapter", ".h"], [".hidden.gguf"]),
        (["check", ""], ["suite.yaml"]),
        (["check", "--like", ""], ["report.json"]),
        (["check", "--cases", "c"], ["core", "cases.jsonl", "compose.yaml"]),
        (["check", "--quantize", "q4_k"], ["Q4_K_M", "Q4_K_S"]),
        (["check", "--prompt", ""], ["chat", "raw"]),
        (["sweep", "--adapter", "p"], ["peft"]),
        (["locate", "--adapter", "a"], ["adapter.gguf"]),
        (["convert", ""], ["peft"]),
        (["inspect", ""], ["adapter.gguf", "base.gguf", "trained/mine.gguf"]),
        (["null", "--like", "a"], ["adapter.gguf"]),
        (["quantize", ""], ["base.gguf"]),
        (["report", ""], ["report.json"]),
        (["report", "report.json", "--format", "ht"], ["html"]),
        (["diff", "report.json", "r"], ["report.json"]),
        # Not what fits, so the shell goes on by itself.
        (["check", "--base", "there/"], ["file,there/"]),
        (["check", "--adapter", "no"], ["file,no"]),
    ],
    ids=" ".join,
)
def test_what_fits_is_offered_and_nothing_else(offers: Any, words: list[str], offered: list[str]) -> None:
    assert offers(*words) == offered


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["cases", "show", ""], PACKS),
        (["check", "--cases", ""], PACKS),
        (["demo", "--model", ""], MODELS),
        (["demo", "--adapter", ""], ADAPTERS),
        (["check", "--dialect", ""], ("auto", *DIALECTS)),
        (["sweep", "--dialect", ""], ("auto", *DIALECTS)),
        (["quantize", "base.gguf", "--to", ""], MAKEABLE),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_names_are_offered_from_where_they_are_kept(offers: Any, words: list[str], names: Any) -> None:
    found = offers(*words)
    assert found[: len(names)] == list(names)


def test_every_shell_is_told_in_its_own_way(folder: Path) -> None:
    words = ("check", "--adapter", "a")
    assert completed(folder, *words, shell="bash").stdout == "plain,adapter.gguf\n"
    assert completed(folder, *words, shell="zsh").stdout == "plain\nadapter.gguf\n_\n"
    assert completed(folder, *words, shell="fish").stdout == "plain,adapter.gguf\n"


@pytest.mark.parametrize("words", [("check", "--adapter", ""), ("check", "--cases", ""), ("ch",), ("report", "")])
def test_completing_a_file_waits_for_nothing_heavy(folder: Path, words: tuple[str, ...]) -> None:
    loaded = completed(folder, *words, program=f"{TOLD}; {PROGRAM}").stderr.split()
    assert not {"numpy", "llama_cpp", "gguf", "pydantic", "rich", "jinja2", "yaml", "sqlite3"} & {*loaded}


def test_completing_a_dialect_loads_neither_numpy_nor_llama_cpp(folder: Path) -> None:
    loaded = completed(folder, "check", "--dialect", "", program=f"{TOLD}; {PROGRAM}").stderr.split()
    assert not {"numpy", "llama_cpp", "gguf"} & {*loaded}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_help_tells_how_to_switch_it_on(loracheck: Any, shell: str) -> None:
    assert f"_LORACHECK_COMPLETE={shell}_source loracheck" in loracheck("--help").out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_ends_well(tmp_path: Path, shell: str) -> None:
    env = {**os.environ, "_LORACHECK_COMPLETE": f"{shell}_source"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
    assert f"_LORACHECK_COMPLETE={shell}_complete" in done.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here")
def test_bash_itself_completes_once_it_has_read_the_script(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    programs = tmp_path_factory.mktemp("bin")
    program = programs / "loracheck"
    program.write_text(f"#!{sys.executable}\n{PROGRAM}\n", encoding="utf-8")
    program.chmod(0o755)
    # What the tab key does: the words, the number of the last, the function that was registered.
    script = """
eval "$(_LORACHECK_COMPLETE=bash_source loracheck)"
complete -p loracheck
COMP_WORDS=(loracheck check --adapter p) COMP_CWORD=3
_loracheck_completion loracheck
echo "${COMPREPLY[@]}"
"""
    source = str(Path(loracheck.__file__).parents[1])
    env = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": source}
    done = subprocess.run(
        ["bash", "--norc", "-c", script], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    registered, offered = done.stdout.splitlines()
    assert registered.endswith("-F _loracheck_completion loracheck")
    assert (offered, done.stderr) == ("peft", "")
