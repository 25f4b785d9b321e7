from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from loracheck import demo
from loracheck.cli.main import run
from loracheck.doctor import examine

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FIX = "fix: pip install --force-reinstall --no-cache-dir llama-cpp-python"


@pytest.fixture
def llama_cpp(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let this script run in the child that asks llama.cpp about itself."""

    def llama_cpp(script: str) -> None:
        monkeypatch.setattr("loracheck.doctor.serving", lambda *_: [sys.executable, "-c", script])

    return llama_cpp


def answering(gpu: bool = False) -> str:
    """A llama.cpp that works, and logs something before it answers."""
    backend = {"devices": ["CPU: a processor", "CUDA0: a card"], "gpu_offload": gpu, "features": "AVX2 = 1"}
    return f"import json; print('loading ...'); print(json.dumps({backend}))"


def findings() -> dict[str, Any]:
    return {finding.what: finding for finding in examine()}


@pytest.mark.engine
def test_a_working_installation_has_versions_devices_and_nothing_fatal(cache_folder: Path) -> None:
    found = findings()
    assert found["llama.cpp"].found.startswith("llama-cpp-python 0.")
    assert {"loracheck", "python", "device", "CPU features", "GPU offload", "demo model"} <= set(found)
    assert found["cache folder"].found == str(cache_folder)
    assert not any(finding.fatal for finding in found.values())


@pytest.mark.engine
def test_the_doctor_ends_with_0_when_all_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("gpu", [True, False])
def test_every_device_is_told_and_how_to_use_a_gpu(
    llama_cpp: Any, cache_folder: Path, capsys: pytest.CaptureFixture[str], gpu: bool
) -> None:
    llama_cpp(answering(gpu))
    assert run(["doctor"]) == 0
    told = capsys.readouterr()
    lines = [" ".join(line.split()) for line in told.out.splitlines()]
    assert {"device CPU: a processor", "device CUDA0: a card", "CPU features AVX2 = 1"} <= set(lines)
    assert f"cache folder {cache_folder}" in lines
    assert ("GPU offload yes; --gpu-layers -1 puts the whole model on it" in lines) is gpu
    assert any(line.startswith("fix: for a GPU: CMAKE_ARGS=") for line in lines) is not gpu
    assert told.err == ""


def test_every_demo_model_is_told_with_its_place_or_how_to_get_it(
    llama_cpp: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    llama_cpp(answering())

    def models() -> list[Any]:
        return [finding for finding in examine() if finding.what == "demo model"]

    monkeypatch.setattr(demo, "find_model", lambda name: None)
    assert [(model.found, model.fix, model.fatal) for model in models()] == [
        ("SmolLM2-135M-Instruct.Q4_1.gguf is not fetched yet (98 MB)", "python -m loracheck.demo smollm2", False),
        ("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf is not fetched yet (491 MB)", "python -m loracheck.demo qwen", False),
    ]
    monkeypatch.setattr(demo, "find_model", lambda name: tmp_path / name)
    assert [(model.found, model.fix) for model in models()] == [
        (str(tmp_path / "smollm2"), None),
        (str(tmp_path / "qwen"), None),
    ]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "it crashed (SIGSEGV)"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", "it crashed (SIGILL)"),
        ("import os; os.abort()", "it crashed (SIGABRT)"),
        ("import time; time.sleep(600)", "it did not answer within 0.5 s"),
        ("import no_such_llama", "ModuleNotFoundError: No module named 'no_such_llama'"),
        ("raise OSError('libllama.so: \\x1b[2J not found')", "OSError: libllama.so: \\x1b[2J not found"),
        ("", "it said nothing"),
        ("print('hello')", "it said nothing"),
        ("print(3)", "it said nothing"),
    ],
    ids=["segfault", "illegal instruction", "abort", "hangs", "no module", "no library", "silent", "no JSON", "other"],
)
def test_a_llama_cpp_that_cannot_be_used_is_told_with_the_fix_and_the_end_is_3(
    llama_cpp: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], script: str, said: str
) -> None:
    if "sleep" in script:
        monkeypatch.setattr("loracheck.doctor._SECONDS", 0.5)
    llama_cpp(script)
    assert run(["doctor"]) == 3
    told = capsys.readouterr()
    lines = [" ".join(line.split()) for line in told.out.splitlines()]
    assert lines[lines.index(FIX) - 1] == f"llama.cpp cannot be loaded: {said}"
    # What has nothing to do with llama.cpp is told all the same.
    assert any(line.startswith("cache folder ") for line in lines)
    assert told.err == ""
