"""Every test has a cache folder of its own, and toy model files when it asks for them.

A test marked `qwen` runs where that model is, and is skipped where it is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import hypothesis
import pytest

import real
from loracheck.cases import load
from loracheck.cases.suite import Defaults
from loracheck.engine.child import ChildEngine
from loracheck.plan import engine_settings
from suite_factory import Files, write_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Wall-clock time is no property of what is tested: a busy machine must not fail a test.
hypothesis.settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any machine")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where several processes share the tests, each takes a file at a time. Those that run llama.cpp come last, in one
    process: every one of them uses all cores."""
    items.sort(key=runs_llama_cpp)
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            item.add_marker(
                pytest.mark.xdist_group("engine" if runs_llama_cpp(item) else item.nodeid.partition("::")[0])
            )


def runs_llama_cpp(item: pytest.Item) -> bool:
    return item.get_closest_marker("engine") is not None


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
def shared_engine() -> Iterator[ChildEngine]:
    """llama.cpp as a check opens it, for tests that need none of their own. The last model asked stays loaded."""
    engine = ChildEngine(engine_settings(Defaults()))
    yield engine
    engine.close()


@pytest.fixture
def brief_answers() -> Iterator[None]:
    with real.brief_answers():
        yield


@pytest.fixture
def small_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three cases of every pack, for commands that name one."""
    monkeypatch.setattr(load, "load_pack", lambda name, whole=load.load_pack: whole(name)[-3:])


@pytest.fixture(scope="session")
def qwen_model() -> Path:
    """For tests marked `qwen`."""
    return real.QWEN


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return write_files(tmp_path)
