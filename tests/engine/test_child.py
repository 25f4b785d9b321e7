"""The engine in a child process, on the real model."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from loracheck.engine import AdapterUse, Settings, View
from loracheck.engine.child import ChildEngine
from loracheck.engine.llama import LlamaEngine
from loracheck.errors import AdapterError, EngineError
from real import BARE, BASE, TUNED, demo_prompts, needs_model

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = needs_model

SETTINGS = Settings(n_ctx=512)


@pytest.fixture
def engine() -> Iterator[ChildEngine]:
    engine = ChildEngine(BASE, SETTINGS)
    yield engine
    engine.close()


def is_there(process: int) -> bool:
    try:
        # A child of ours that nobody waited for still has an entry.
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(process: int, seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while is_there(process) and time.monotonic() < end:
        time.sleep(0.05)
    return not is_there(process)


def test_a_child_answers_as_the_same_engine_here_does(engine: ChildEngine) -> None:
    prompts = demo_prompts(2, 8)
    with LlamaEngine(BASE, SETTINGS) as here:
        assert dict(engine.answer(TUNED, prompts)) == dict(here.answer(TUNED, prompts))
        assert engine.fingerprint(BARE, "Hello") == here.fingerprint(BARE, "Hello")


def test_an_error_in_the_child_is_raised_here_and_the_child_goes_on(engine: ChildEngine, tmp_path: Path) -> None:
    rubbish = tmp_path / "adapter.gguf"
    rubbish.write_bytes(b"GGUF rubbish")
    with pytest.raises(AdapterError, match=r"llama\.cpp refused the adapter"):
        list(engine.answer(View("ft", (AdapterUse(rubbish),)), demo_prompts(1, 4)))
    assert len(list(engine.answer(BARE, demo_prompts(1, 4)))) == 1


def test_a_crash_in_the_middle_tells_what_was_done_and_the_last_of_the_log(engine: ChildEngine) -> None:
    answers = engine.answer(TUNED, [*demo_prompts(1, 2), *demo_prompts(2, 200)[1:]])
    next(answers)
    os.kill(engine.process_id, signal.SIGSEGV)
    what = r"llama\.cpp crashed \(SIGSEGV\) while computing the ft view \(.*toolcaller\.gguf\)\n  llama\.cpp: "
    with pytest.raises(EngineError, match=what):
        list(answers)


@pytest.mark.parametrize(
    ("death", "said"),
    [
        (signal.SIGABRT, r"llama\.cpp crashed \(SIGABRT\)"),
        (signal.SIGKILL, r"llama\.cpp was killed \(SIGKILL\), most likely for want of memory"),
    ],
)
def test_a_child_that_is_gone_tells_how_it_went(engine: ChildEngine, death: signal.Signals, said: str) -> None:
    os.kill(engine.process_id, death)
    with pytest.raises(EngineError, match=rf"^{said} while computing the base view \(no adapter\)"):
        engine.fingerprint(BARE, "Hello")


def test_a_child_that_gives_no_sign_of_life_is_stopped() -> None:
    engine = ChildEngine(BASE, SETTINGS, timeout=1.5)
    os.kill(engine.process_id, signal.SIGSTOP)
    with pytest.raises(EngineError, match=r"gave no sign of life for 1\.5 s while computing the base view"):
        list(engine.answer(BARE, demo_prompts(1, 4)))
    assert gone(engine.process_id)
    engine.close()


def test_every_batch_is_a_sign_of_life() -> None:
    ticks: list[None] = []
    with LlamaEngine(BASE, SETTINGS, tick=lambda: ticks.append(None)) as engine:
        loading = len(ticks)
        engine.fingerprint(BARE, "Hello")
    assert 0 < loading < len(ticks)


def test_answers_left_in_the_middle_end_the_child(engine: ChildEngine) -> None:
    answers = engine.answer(BARE, demo_prompts(2, 8))
    next(answers)
    answers.close()  # type: ignore[attr-defined]
    assert gone(engine.process_id)


def test_closing_leaves_neither_process_nor_folder(engine: ChildEngine) -> None:
    folder = engine.folder
    assert folder.is_dir()
    engine.close()
    assert gone(engine.process_id)
    assert not folder.exists()


def test_a_model_that_does_not_load_leaves_nothing_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(EngineError, match="could not load the model"):
        ChildEngine(tmp_path / "none.gguf", SETTINGS)
    assert list(tmp_path.iterdir()) == []


PARENT = """
import sys, time
from pathlib import Path
from loracheck.engine import Settings
from loracheck.engine.child import ChildEngine
engine = ChildEngine(Path(sys.argv[1]), Settings(n_ctx=512))
print(engine.process_id, engine.folder, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGTERM])
def test_a_parent_that_dies_takes_its_child_and_their_folder_along(death: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT, BASE], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child, folder = parent.stdout.readline().split()
        assert is_there(int(child))
        parent.send_signal(death)
        parent.wait()
        assert gone(int(child))
        assert not Path(folder).exists()
