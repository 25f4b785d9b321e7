"""Running the command line in this process or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from loracheck.cli.main import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from loracheck.engine.fake import FakeEngine


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: str
    err: str


@pytest.fixture
def loracheck(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """The command line in this process."""

    def loracheck(*args: str | Path) -> Done:
        code = run([str(arg) for arg in args])
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
def use_engine(monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeEngine], None]:
    """Let `loracheck check` ask this engine instead of llama.cpp."""

    def use_engine(engine: FakeEngine) -> None:
        monkeypatch.setattr("loracheck.checking._load", lambda *_: engine)

    return use_engine
