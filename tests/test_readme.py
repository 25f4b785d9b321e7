"""Every command and code block of the README works as it stands there."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from adapters.peft_factory import lora, write_peft
from loracheck.cli.main import cli, run
from real import BASE, TOOLCALLER, needs_base

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


def test_every_command_is_listed() -> None:
    for name in cli.commands:
        assert f"\n| `{name}` |" in README


@pytest.mark.engine
@needs_base
def test_the_commands_and_the_python_run_in_the_order_of_the_page(
    tmp_path: Path, shared_cache: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LORACHECK_CACHE", str(shared_cache))
    Path("model.gguf").symlink_to(BASE)
    shutil.copy(TOOLCALLER, "mine.gguf")
    Path("my.jsonl").write_text(blocks("json")[0], encoding="utf-8")
    Path("tools.yaml").write_text(blocks("yaml")[0], encoding="utf-8")
    Path("recorded.jsonl").write_text(RECORDED, encoding="utf-8")
    Path("held-out.jsonl").write_text(HELD_OUT, encoding="utf-8")
    write_peft(Path("peft-folder"), lora("model.layers.0.self_attn.q_proj", (576, 576)))
    for command in commands("loracheck"):
        if "candidate.json" in command:
            shutil.copy("out.json", "candidate.json")
        # A verdict of FAIL is an answer too: two questions are too few for most adapters.
        code = run(shlex.split(command)[1:])
        assert code in (0, 1), (command, capfd.readouterr().err)
        assert capfd.readouterr().out, command
    exec(blocks("python")[0], {})
    assert capfd.readouterr().out.split()[0] in ("pass", "fail")
