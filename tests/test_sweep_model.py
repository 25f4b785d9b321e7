"""Sweeps on the real model: harm that grows with the scale, a poisoned adapter, a kill and what is left of it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import loracheck
from loracheck.cases.load import load_pack
from loracheck.demo import adapter_file
from loracheck.engine import AdapterUse, NullAdapter, Settings, View
from loracheck.engine.llama import LlamaEngine
from real import BASE, TOOLCALLER, demo_prompts, needs_model
from test_interrupted import kept, stop_halfway

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.sweeping.results import Sweep

pytestmark = needs_model

RENAMER = adapter_file("renamer")
CASES = load_pack("demo")[::4]


def sweep(**axes: Any) -> Sweep:
    given = {"base": BASE, "base_adapter": TOOLCALLER, "adapter": RENAMER, "cases": CASES, "null": False}
    return loracheck.sweep(**{**given, "max_new_tokens": 48, **axes})


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
    found = sweep(adapter=[RENAMER, poisoned(tmp_path / "poisoned.gguf")], scale=0.25, cases=CASES[:2])
    assert [cell.verdict == "error" for cell in found.cells] == [False, True]
    assert "the adapter view computes numbers that are not finite; NaN or infinity in blk." in str(
        found.cells[1].reason
    )


def command(folder: Path, output: str, *options: str) -> list[str]:
    cases = folder / "cases.jsonl"
    cases.write_text(
        "".join(
            json.dumps({"prompt": f"Tell me a word of {n} letters.", "tool_spec": {"name": "say"}}) + "\n"
            for n in range(5)
        )
    )
    files = ["--base", str(BASE), "--adapter", str(RENAMER), "--cases", str(cases), "--json", str(folder / output)]
    axes = ["--scale", "0.5", "--scale", "1"]
    return [sys.executable, "-m", "loracheck", "sweep", *files, *axes, "--no-null", "--max-new-tokens", "16", *options]


def without_timing(path: Path) -> dict[str, Any]:
    saved: dict[str, Any] = json.loads(path.read_text())
    for part in (saved, *(cell["report"] for cell in saved["cells"])):
        del part["timing"]
    return saved


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_sweep_goes_on_and_asks_nothing_twice(
    tmp_path: Path, cache_folder: Path, how: signal.Signals
) -> None:
    code, _ = stop_halfway(command(tmp_path, "never.json"), cache_folder, how)
    assert code == (130 if how == signal.SIGINT else -signal.SIGKILL)
    assert not (tmp_path / "never.json").exists()
    answered = kept(cache_folder)
    for name, options in (("resumed.json", ()), ("fresh.json", ("--no-cache",))):
        assert subprocess.run(command(tmp_path, name, *options), capture_output=True).returncode in (0, 1)
    assert without_timing(tmp_path / "resumed.json") == without_timing(tmp_path / "fresh.json")
    computed = json.loads((tmp_path / "resumed.json").read_text())["timing"]["answers_computed"]
    # Five cases for the base and for each of the two scales.
    assert computed == 15 - answered


def test_adapters_that_made_room_are_loaded_again_and_compute_the_same() -> None:
    use = AdapterUse(RENAMER)
    prompts = demo_prompts(1, 8)
    with LlamaEngine(Settings(threads=2)) as engine:
        first = list(engine.answer(View("adapter", BASE, (use,)), prompts))
        for seed in range(17):
            null = AdapterUse(NullAdapter(RENAMER, seed=seed))
            engine.fingerprint(View("null", BASE, (null,)), "Hello.")
        assert list(engine.answer(View("adapter", BASE, (use,)), prompts)) == first
