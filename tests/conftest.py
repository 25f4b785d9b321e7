"""Every test has a cache folder of its own, and toy model files when it asks for them.

A test marked `qwen` runs where that model is, and is skipped where it is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import real
from suite_factory import Files, write_files

if TYPE_CHECKING:
    from pathlib import Path


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("qwen") and not real.QWEN.is_file():
        pytest.skip(real.NO_QWEN)


@pytest.fixture(autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("LORACHECK_CACHE", str(folder))
    return folder


@pytest.fixture(autouse=True)
def _outside_github_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where these tests run must not show in what is tested."""
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For tests on the real model that may know each other's answers: the same noise is asked but once."""
    return tmp_path_factory.mktemp("shared-cache")


@pytest.fixture(scope="session")
def qwen_model() -> Path:
    """For tests marked `qwen`."""
    return real.QWEN


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return write_files(tmp_path)
