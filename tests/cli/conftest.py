"""Running the command line in this process or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from loracheck.cases.suite import Defaults
from loracheck.cli.main import run
from loracheck.engine.fake import FakeEngine
from loracheck.engine.identity import llama_identity
from loracheck.plan import engine_settings
from suite_factory import call, make_case

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from loracheck.engine import Identity


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: str
    err: str


class Answering:
    """Who answers `loracheck check` instead of llama.cpp, once a test says so."""

    engine: FakeEngine | None = None


@pytest.fixture(autouse=True)
def _no_llama_cpp(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here may start llama.cpp, whatever goes wrong."""
    monkeypatch.setattr("loracheck.engine.child._Child", lambda *_: pytest.fail("llama.cpp was started"))


@pytest.fixture
def answering_engine() -> Answering:
    return Answering()


@pytest.fixture
def loracheck(capsys: pytest.CaptureFixture[str], answering_engine: Answering) -> Callable[..., Done]:
    """The command line in this process."""

    def loracheck(*args: str | Path) -> Done:
        code = run([str(arg) for arg in args], answering_engine.engine)
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return Done(code, said.out, said.err)

    return loracheck


@pytest.fixture
def spawn() -> Callable[..., subprocess.Popen[str]]:
    """The command line in a process of its own."""

    def spawn(*args: str | Path, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", "from loracheck.cli.main import main; main()", *map(str, args)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, **env},
        )

    return spawn


@pytest.fixture
def use_engine(answering_engine: Answering) -> Callable[[FakeEngine], None]:
    """Let `loracheck check` ask this engine instead of llama.cpp."""

    def use_engine(engine: FakeEngine) -> None:
        answering_engine.engine = engine

    return use_engine


class _InPlaceOfLlamaCpp(FakeEngine):
    def identity(self) -> Identity:
        return llama_identity(engine_settings(Defaults()))


@pytest.fixture
def in_place_of_llama_cpp() -> FakeEngine:
    """Calls the tool in every view. What the store has from it counts as llama.cpp's, at the default settings."""
    return _InPlaceOfLlamaCpp(lambda view, prompt: call())


@pytest.fixture
def cases_file(tmp_path: Path) -> Path:
    """Four cases."""
    path = tmp_path / "cases.jsonl"
    lines = [make_case(number).model_dump_json(exclude_unset=True) for number in range(1, 5)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path
