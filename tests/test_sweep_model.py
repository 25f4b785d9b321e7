"""Sweeps on the real model: harm that grows with the scale, a poisoned adapter, a kill and what is left of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

import loracheck
from loracheck.cases.load import load_pack
from loracheck.demo import adapter_file
from loracheck.engine import AdapterUse, NullAdapter, Settings, View
from real import BASE, TOOLCALLER, demo_prompts, needs_model
from test_interrupted import kept, short_cases, stop_halfway

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.sweeping.results import Sweep

pytestmark = needs_model

RENAMER = adapter_file("renamer")
CASES = load_pack("demo")[::4]
ASKED = 4


def sweep(**axes: Any) -> Sweep:
    given = {"base": BASE, "base_adapter": TOOLCALLER, "adapter": RENAMER, "cases": CASES, "null": False}
    return loracheck.sweep(**{**given, "max_new_tokens": 48, **axes})


@pytest.mark.slow
def test_renamer_on_toolcaller_does_more_harm_the_larger_its_scale() -> None:
    found = sweep(scale=[0, 0.25, 0.5, 0.75, 1.0])
    wrong = [cell.figures.wrong_names for cell in found.cells]
    assert [cell.verdict for cell in found.cells][:2] == ["skip", "pass"]
    assert wrong[:2] == [0, 0]
    assert wrong == sorted(wrong)  # type: ignore[type-var]
    assert wrong[-1] == 1
    assert found.cells[-1].verdict == "fail"
    (curve,) = found.curves
    assert curve.shape == "falls"
    drift = [cell.figures.drift_format for cell in found.cells]
    assert drift == sorted(drift)  # type: ignore[type-var]


def poisoned(path: Path) -> Path:
    """The renamer with a few numbers that are none, in whatever type they are stored."""
    content = bytearray(RENAMER.read_bytes())
    content[-64:] = b"\xff" * 64
    path.write_bytes(content)
    return path


def test_a_poisoned_adapter_is_one_error_cell(tmp_path: Path) -> None:
    found = sweep(
        adapter=[RENAMER, poisoned(tmp_path / "poisoned.gguf")], scale=0.25, cases=CASES[:1], max_new_tokens=8
    )
    assert [cell.verdict == "error" for cell in found.cells] == [False, True]
    assert "the adapter view computes numbers that are not finite; NaN or infinity in blk." in str(
        found.cells[1].reason
    )


def command(folder: Path, output: str, *options: str) -> list[str]:
    files = ["--base", str(BASE), "--adapter", str(RENAMER), "--cases", str(short_cases(folder, ASKED))]
    axes = ["--scale", "0.5", "--scale", "1", "--json", str(folder / output)]
    return [sys.executable, "-m", "loracheck", "sweep", *files, *axes, "--no-null", "--max-new-tokens", "8", *options]


def without_timing(path: Path) -> dict[str, Any]:
    saved: dict[str, Any] = json.loads(path.read_text())
    for part in (saved, *(cell["report"] for cell in saved["cells"])):
        del part["timing"]
    return saved


@pytest.fixture(scope="module")
def in_one_go(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("in-one-go")
    assert subprocess.run(command(folder, "fresh.json", "--no-cache"), capture_output=True).returncode in (0, 1)
    return without_timing(folder / "fresh.json")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_sweep_goes_on_and_asks_nothing_twice(
    tmp_path: Path, cache_folder: Path, in_one_go: dict[str, Any], how: signal.Signals
) -> None:
    code, _ = stop_halfway(command(tmp_path, "never.json"), cache_folder, how)
    assert code == (130 if how == signal.SIGINT else -signal.SIGKILL)
    assert not (tmp_path / "never.json").exists()
    answered = kept(cache_folder)
    assert subprocess.run(command(tmp_path, "resumed.json"), capture_output=True).returncode in (0, 1)
    assert without_timing(tmp_path / "resumed.json") == in_one_go
    computed = json.loads((tmp_path / "resumed.json").read_text())["timing"]["answers_computed"]
    # All cases for the base and for each of the two scales.
    assert computed == 3 * ASKED - answered


def test_adapters_that_made_room_are_loaded_again_and_compute_the_same() -> None:
    from loracheck.engine.llama import LlamaEngine

    use = AdapterUse(RENAMER)
    prompts = demo_prompts(1, 8)
    with LlamaEngine(Settings(threads=2)) as engine:
        first = list(engine.answer(View("adapter", BASE, (use,)), prompts))
        for seed in range(17):
            null = AdapterUse(NullAdapter(RENAMER, seed=seed))
            engine.fingerprint(View("null", BASE, (null,)), "Hello.")
        assert list(engine.answer(View("adapter", BASE, (use,)), prompts)) == first


# On a cluster


def two_cells(folder: Path, name: str, *options: str) -> list[str]:
    """One for each worker, with one thread, so that one worker computes what this process would."""
    # On toolcaller the null adapters, too, make a call and are done.
    models = ["--base", str(BASE), "--base-adapter", str(TOOLCALLER), "--adapter", str(RENAMER)]
    axes = ["--scale", "0.5", "--scale", "1", "--cases", str(short_cases(folder, 2))]
    settings = ["--null-runs", "1", "--max-new-tokens", "16", "--threads", "1", "--no-cache"]
    out = ["--json", str(folder / name)]
    return [sys.executable, "-m", "loracheck", "sweep", *models, *axes, *settings, *out, *options]


def without_machines(path: Path) -> dict[str, Any]:
    saved = without_timing(path)
    for cell in saved["cells"]:
        assert isinstance(cell["report"]["provenance"].pop("answered_by"), list)
    return saved


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The sweep as this machine alone does it."""
    folder = tmp_path_factory.mktemp("here")
    done = subprocess.run(two_cells(folder, "here.json"), capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return without_machines(folder / "here.json")


def child_processes(process: int) -> dict[int, list[str]]:
    """Everything below a process, with its command."""
    psutil = pytest.importorskip("psutil")
    return {child.pid: child.cmdline() for child in psutil.Process(process).children(recursive=True)}


@pytest.mark.slow
def test_two_workers_give_the_same_report_but_for_timing(here: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    done = subprocess.run(two_cells(tmp_path, "there.json", "--workers", "2"), capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    assert "2 workers on " in done.stderr
    assert without_machines(tmp_path / "there.json") == here


@pytest.mark.slow
def test_a_worker_that_is_killed_in_the_middle_changes_nothing(here: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    command = two_cells(tmp_path, "killed.json", "--workers", "2")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
        killed = None
        while run.poll() is None and killed is None:
            time.sleep(0.2)
            below = child_processes(run.pid)
            # llama.cpp runs in a child of a worker: the worker is its parent.
            engines = [pid for pid, words in below.items() if any("loracheck.engine" in word for word in words)]
            if engines:
                time.sleep(1)
                killed = pytest.importorskip("psutil").Process(engines[0]).ppid()
                os.kill(killed, signal.SIGKILL)
        _, said = run.communicate(timeout=600)
    assert killed is not None
    assert run.returncode in (0, 1), said
    assert without_machines(tmp_path / "killed.json") == here
