"""Every command and code block of the README works as it stands there."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from functools import partial
from pathlib import Path

import click
import pytest

from loracheck import api
from loracheck.cli.check import EXIT_CODES
from loracheck.cli.main import INTERRUPTED, cli, run
from loracheck.errors import InputError, NoEffectError
from loracheck.fetch import cached_models
from models.peft_factory import lora, write_peft
from real import BASE, TOOLCALLER, needs_base
from suite_factory import answering, write_files

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")

RECORDED = (
    '{"cases": [{"prompt": "p", "tool_spec": {"name": "t"}, "gold_tool_name": "t"}],'
    ' "base_outputs": ["{}"], "ft_outputs": ["no"]}\n'
)
HELD_OUT = (
    '{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}],'
    ' "tools": [{"type": "function", "function": {"name": "t"}}]}\n'
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def commands(program: str) -> list[str]:
    return [line for block in blocks("sh") for line in block.splitlines() if line.startswith(f"{program} ")]


@pytest.mark.parametrize("command", commands("make"))
def test_make_knows_the_target(command: str) -> None:
    assert subprocess.run([*shlex.split(command), "--dry-run"], cwd=ROOT, capture_output=True).returncode == 0


def test_the_question_is_the_first_line_and_the_picture_is_small() -> None:
    assert README.startswith("# Does this LoRA adapter still call tools the way its base does?\n")
    (picture,) = re.findall(r"!\[[^]]+\]\((\S+)\)", README)
    assert (ROOT / picture).read_bytes().startswith(b"\x89PNG")
    assert (ROOT / picture).stat().st_size < 200_000


def test_the_first_screen_shows_a_fail_in_15_lines() -> None:
    (shown,) = blocks("text")
    assert shown.startswith("FAIL  ")
    assert len(shown.splitlines()) <= 15
    assert README.index(shown) < README.index("\n## ")


def test_every_command_is_listed() -> None:
    for name in cli.commands:
        assert f"\n| `{name}` |" in README


@pytest.mark.parametrize("command", commands("loracheck"))
def test_the_command_line_knows_every_option(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("recorded.jsonl").touch()
    _, *words = shlex.split(command)
    called: click.Command = cli
    while isinstance(called, click.Group):
        called = called.commands[words.pop(0)]
    with called.make_context(called.name, words):
        pass


def test_the_table_of_exit_codes_has_every_code() -> None:
    table = README.partition("\n## Exit codes\n")[2].partition("\n## ")[0]
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)}
    assert listed == {*EXIT_CODES.values(), InputError.exit_code, NoEffectError.exit_code, INTERRUPTED}


def test_the_python_runs_without_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    files = write_files(tmp_path)
    files.base.rename("model.gguf")
    files.adapter.rename("mine.gguf")
    Path("tools.yaml").write_text(blocks("yaml")[0].replace("prompt: chat", "prompt: raw"), encoding="utf-8")
    monkeypatch.setattr(api, "check", partial(api.check, engine=answering()))
    exec(code, {})
    assert capsys.readouterr().out.split()[0] in ("pass", "fail")
    assert Path("out.html").is_file()


@pytest.fixture
def demo_cache(shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With the model in it, so that the demo finds it, and the answers that other tests got."""
    monkeypatch.setenv("LORACHECK_CACHE", str(shared_cache))
    model = cached_models() / BASE.name
    model.parent.mkdir(exist_ok=True)
    if not model.is_file():
        model.symlink_to(BASE)
    return shared_cache


def masked(text: str) -> str:
    """With one figure as wide as another: other machines round differently."""
    lines = (re.sub(r"[+-]?\d+(?:[.,]\d+)*", "0", line) for line in text.splitlines())
    return "\n".join(" ".join(line.split()) for line in lines)


@pytest.mark.engine
@needs_base
@pytest.mark.usefixtures("demo_cache")
@pytest.mark.parametrize(
    "adapters", [pytest.param(("toolcaller", "renamer", "chatty"), marks=pytest.mark.slow, id="all"), ("renamer",)]
)
def test_the_recorded_run_is_what_the_demo_prints(adapters: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> None:
    (recorded,) = re.findall(r"```text\n(.*?)```", (ROOT / "docs" / "demo.md").read_text("utf-8"), re.DOTALL)
    # A part for each adapter, and the words at the end.
    parts = re.split(r"\n\n(?=\w+: |Now on)", recorded)
    expected = [part for part in parts if part.startswith((*adapters, "Now on"))]
    assert len(expected) == len(adapters) + 1
    chosen = [] if len(adapters) > 1 else ["--adapter", *adapters]
    assert run(["demo", *chosen, "--quiet"]) == 0
    assert masked(capfd.readouterr().out) == masked("\n\n".join(expected))


@pytest.mark.engine
@needs_base
@pytest.mark.usefixtures("demo_cache", "brief_answers", "small_packs")
def test_the_commands_and_the_python_run_in_the_order_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.gguf").symlink_to(BASE)
    shutil.copy(TOOLCALLER, "mine.gguf")
    Path("my.jsonl").write_text(blocks("json")[0], encoding="utf-8")
    Path("tools.yaml").write_text(blocks("yaml")[0], encoding="utf-8")
    Path("recorded.jsonl").write_text(RECORDED, encoding="utf-8")
    Path("held-out.jsonl").write_text(HELD_OUT, encoding="utf-8")
    write_peft(Path("peft-folder"), lora("model.layers.0.self_attn.q_proj", (576, 576)))
    # The demo is run by the test above.
    for command in [each for each in commands("loracheck") if each != "loracheck demo"]:
        if "candidate.json" in command:
            shutil.copy("out.json", "candidate.json")
        # A verdict of FAIL is an answer too: two questions are too few for most adapters.
        code = run(shlex.split(command)[1:])
        assert code in (0, 1), (command, capfd.readouterr().err)
        assert capfd.readouterr().out, command
    exec(blocks("python")[0], {})
    assert capfd.readouterr().out.split()[0] in ("pass", "fail")
