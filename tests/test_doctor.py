from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from loracheck import base_model
from loracheck.cli.main import run
from loracheck.doctor import examine

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def findings() -> dict[str, Any]:
    return {finding.what: finding for finding in examine()}


def test_a_working_installation_has_versions_devices_and_nothing_fatal(cache_folder: Path) -> None:
    found = findings()
    assert found["llama.cpp"].found.startswith("llama-cpp-python 0.")
    assert {"loracheck", "python", "device", "CPU features", "GPU offload", "demo model"} <= set(found)
    assert found["cache folder"].found == str(cache_folder)
    assert not any(finding.fatal for finding in found.values())


def test_a_missing_demo_model_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_model, "find", lambda: None)
    model = findings()["demo model"]
    assert (model.found, model.fix) == ("not fetched yet", "python -m loracheck.base_model")


def test_without_llama_cpp_the_fix_is_told_and_the_end_is_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "loracheck.engine.devices", None)
    assert run(["doctor"]) == 3
    out = capsys.readouterr().out
    assert "cannot be loaded: " in out
    assert "fix: pip install --force-reinstall --no-cache-dir llama-cpp-python" in out


def test_the_doctor_ends_with_0_when_all_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor"]) == 0
    assert capsys.readouterr().err == ""
