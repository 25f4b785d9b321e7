"""A run on the real model that is stopped halfway goes on where it was, and ends with the same report."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from loracheck.store import Store
from real import BASE, TOOLCALLER, needs_model

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_model

CASES = 5


def short_cases(folder: Path, count: int) -> Path:
    """Which are read and answered in no time."""
    cases = folder / "cases.jsonl"
    prompts = (f"Tell me a word of {number} letters." for number in range(count))
    cases.write_text("".join(json.dumps({"prompt": prompt, "tool_spec": {"name": "say"}}) + "\n" for prompt in prompts))
    return cases


def command(folder: Path, report: str, *options: str) -> list[str]:
    cases = short_cases(folder, CASES)
    files = ["--base", str(BASE), "--adapter", str(TOOLCALLER), "--cases", str(cases), "--json", str(folder / report)]
    return [sys.executable, "-m", "loracheck", "check", *files, "--no-null", "--max-new-tokens", "16", *options]


def stop_halfway(arguments: list[str], cache: Path, how: signal.Signals) -> tuple[int, str]:
    """Stop the run once the store has some answers but not all; exit code and last words."""
    with subprocess.Popen(
        arguments,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # Where the tests run in the background, the shell has told them, and so this process, to ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as run:
        while run.poll() is None and kept(cache) < 3:
            time.sleep(0.05)
        assert run.returncode is None, "it was over before it could be stopped"
        run.send_signal(how)
        _, said = run.communicate(timeout=60)
        return run.returncode, said


def kept(cache: Path) -> int:
    path = cache / "answers.sqlite"
    if not path.is_file():
        return 0
    with Store(path) as store:
        return store.count("answer")


def findings(path: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(path.read_text())
    return {key: value for key, value in report.items() if key != "timing"}


@pytest.fixture(scope="module")
def in_one_go(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("in-one-go")
    assert subprocess.run(command(folder, "fresh.json", "--no-cache"), capture_output=True).returncode in (0, 1)
    return findings(folder / "fresh.json")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_goes_on_and_ends_as_if_it_had_never_been_stopped(
    tmp_path: Path, cache_folder: Path, in_one_go: dict[str, Any], how: signal.Signals
) -> None:
    code, said = stop_halfway(command(tmp_path, "never.json"), cache_folder, how)
    if how == signal.SIGINT:
        assert code == 130
        assert "answers are kept in the store; run the same command again to go on." in said
    else:
        assert code == -signal.SIGKILL
    assert not (tmp_path / "never.json").exists()
    assert not list(tmp_path.glob(".*.part"))

    answered = kept(cache_folder)
    assert 3 <= answered < 2 * CASES
    assert subprocess.run(command(tmp_path, "resumed.json"), capture_output=True).returncode in (0, 1)
    assert findings(tmp_path / "resumed.json") == in_one_go
    assert json.loads((tmp_path / "resumed.json").read_text())["timing"]["answers_from_store"] == answered
