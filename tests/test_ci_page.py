"""What docs/ci.md offers to copy works, as far as that can be told without GitHub."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from loracheck.cases.load import load_pack
from loracheck.cli.check import EXIT_CODES
from loracheck.cli.main import INTERRUPTED, cli, run
from loracheck.errors import LoracheckError
from suite_factory import answering, call, failing_from, write_files
from test_pytest_plugin import CONFTEST, ENGINES, QUICK, never, write_suite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loracheck.engine import Prompt

pytest_plugins = "pytester"

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


WORKFLOW, *CONFIGS = map(yaml.safe_load, blocks("yaml"))
STEPS: list[dict[str, Any]] = WORKFLOW["jobs"]["check"]["steps"]
COMMANDS = [step["run"] for step in STEPS if step.get("run", "").startswith("loracheck ")]


def hook_commands() -> Iterator[str]:
    for config in CONFIGS:
        for repo in config["repos"]:
            for said in repo["hooks"]:
                hook = said if repo["repo"] == "local" else HOOKS[said["id"]] | said
                assert hook["pass_filenames"] is False
                yield shlex.join([*shlex.split(hook["entry"]), *hook.get("args", ())])


@pytest.fixture(autouse=True)
def no_llama_cpp(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here may start llama.cpp, whatever goes wrong."""
    monkeypatch.setattr("loracheck.engine.child._Child", never)


@pytest.mark.parametrize("command", [*COMMANDS, *hook_commands()])
def test_the_command_line_knows_every_option(command: str) -> None:
    program, name, *args = shlex.split(command.replace("$(nproc)", "2"))
    assert program == "loracheck"
    cli.commands[name].make_context(name, args)


@pytest.mark.parametrize("step", [step for step in STEPS if "run" in step], ids=lambda step: step["name"])
def test_bash_can_read_the_step(step: dict[str, Any]) -> None:
    assert subprocess.run(["bash", "-n", "-c", step["run"]]).returncode == 0


def test_the_check_of_the_workflow_leaves_what_the_next_steps_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    monkeypatch.setenv("LORACHECK_CACHE", WORKFLOW["env"]["LORACHECK_CACHE"].replace("${{ github.workspace }}", "."))
    write_suite(tmp_path)
    (command,) = COMMANDS
    engine = answering(adapter=failing_from(4))
    assert run(shlex.split(command.replace("$(nproc)", "2"))[1:], engine) == 1
    said = capsys.readouterr().out
    assert "::error " in said
    assert "loracheck FAIL" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    (upload,) = (step for step in STEPS if "upload-artifact" in step.get("uses", ""))
    assert {file.suffix for file in tmp_path.glob(upload["with"]["path"])} == {".json", ".html", ".xml", ".md"}
    (answers,) = (step for step in STEPS if step.get("id") == "answers")
    assert list((tmp_path / answers["with"]["path"]).glob("*.sqlite"))


def test_what_the_workflow_restores_is_what_it_saves() -> None:
    restored = {step["id"]: step for step in STEPS if "cache/restore" in step.get("uses", "")}
    saved = [step["with"] for step in STEPS if "cache/save" in step.get("uses", "")]
    keys = [f"${{{{ steps.{name}.outputs.cache-primary-key }}}}" for name in restored]
    assert [step["key"] for step in saved] == keys
    assert [step["path"] for step in saved] == [step["with"]["path"] for step in restored.values()]


def test_what_may_fail_does_not_keep_the_answers_from_being_saved() -> None:
    last = STEPS[[step.get("run") in COMMANDS for step in STEPS].index(True) + 1 :]
    assert last
    assert all(step["if"] == "always()" for step in last)


@pytest.mark.parametrize("name", ["mine.gguf", "out/adapter_model.safetensors", "my.jsonl", "tools.yaml", "tools.yml"])
def test_the_hook_runs_for_what_may_change_the_verdict(name: str) -> None:
    (local,) = (hook for config in CONFIGS for repo in config["repos"] for hook in repo["hooks"] if "entry" in hook)
    assert local["files"] == HOOKS["loracheck"]["files"]
    assert re.search(local["files"], name)
    assert not re.search(local["files"], "README.md")


def right(prompt: Prompt) -> str:
    """What a case of the pack or of the small suite wants to hear."""
    case = next((case for case in load_pack("smoke") if case.id == prompt.id), None)
    if case is None:
        return call()
    return "None of them." if case.gold is None else json.dumps({"name": case.gold, "arguments": case.gold_arguments})


@pytest.mark.parametrize(("code", "tests"), [*zip(blocks("python"), (5, 13), strict=True)], ids=["suite", "options"])
def test_the_marked_tests_run(pytester: pytest.Pytester, code: str, tests: int) -> None:
    write_suite(pytester.path)
    files = write_files(pytester.path)
    files.base.with_name("model.gguf").symlink_to(files.base)
    files.base.with_name("mine.gguf").symlink_to(files.adapter)
    ENGINES.append(answering(right, right))
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(code)
    outcomes = pytester.runpytest_inprocess(*QUICK).parseoutcomes()
    # Where gold arguments are a choice, our answer is none of the right ones.
    assert outcomes.get("passed", 0) + outcomes.get("skipped", 0) == tests


def test_the_exit_codes_are_those_of_the_code() -> None:
    def below(error: type[LoracheckError]) -> Iterator[int]:
        for child in error.__subclasses__():
            yield child.exit_code
            yield from below(child)

    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    assert listed == {*EXIT_CODES.values(), *below(LoracheckError), INTERRUPTED}


def test_everything_that_can_be_failed_on_is_explained() -> None:
    (option,) = (param for param in cli.commands["check"].params if param.name == "fail_on")
    for choice in option.type.names:
        assert f"`--fail-on {choice}`" in PAGE
