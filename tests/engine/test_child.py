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
from loracheck.errors import AdapterError, EngineError, LoracheckError
from real import BARE, BASE, TUNED, demo_prompts, needs_model

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = needs_model

SETTINGS = Settings(n_ctx=512)


@pytest.fixture(scope="module")
def long_lived() -> Iterator[ChildEngine]:
    """For every test, whatever it does to the child."""
    engine = ChildEngine(SETTINGS)
    yield engine
    engine.close()


@pytest.fixture
def engine(long_lived: ChildEngine) -> ChildEngine:
    """With its child running and the model in it."""
    long_lived.fingerprint(BARE, "Hello")
    return long_lived


def process_of(engine: ChildEngine) -> int:
    assert engine.process_id is not None
    return engine.process_id


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
    from loracheck.engine.llama import LlamaEngine

    prompts = demo_prompts(2, 8)
    with LlamaEngine(SETTINGS) as here:
        assert dict(engine.answer(TUNED, prompts)) == dict(here.answer(TUNED, prompts))
        assert engine.fingerprint(BARE, "Hello") == here.fingerprint(BARE, "Hello")


def test_an_error_in_the_child_is_raised_here_and_the_child_goes_on(engine: ChildEngine, tmp_path: Path) -> None:
    rubbish = tmp_path / "adapter.gguf"
    rubbish.write_bytes(b"GGUF rubbish")
    with pytest.raises(AdapterError, match=r"llama\.cpp refused the adapter"):
        list(engine.answer(View("adapter", BASE, (AdapterUse(rubbish),)), demo_prompts(1, 4)))
    assert len(list(engine.answer(BARE, demo_prompts(1, 4)))) == 1


def test_a_crash_in_the_middle_tells_what_was_done_and_the_last_of_the_log(engine: ChildEngine) -> None:
    answers = engine.answer(TUNED, [*demo_prompts(1, 2), *demo_prompts(2, 200)[1:]])
    next(answers)
    os.kill(process_of(engine), signal.SIGSEGV)
    what = r"llama\.cpp crashed \(SIGSEGV\) while computing the adapter view \(.*toolcaller\.gguf\)\n  llama\.cpp: "
    with pytest.raises(EngineError, match=what):
        list(answers)


@pytest.mark.parametrize(
    ("death", "said"),
    [
        (signal.SIGABRT, r"llama\.cpp crashed \(SIGABRT\)"),
        (signal.SIGKILL, r"llama\.cpp was killed \(SIGKILL\), most likely for want of memory"),
    ],
)
def test_a_child_that_dies_at_work_tells_how_it_went_and_the_next_question_gets_a_new_one(
    engine: ChildEngine, death: signal.Signals, said: str
) -> None:
    answers = engine.answer(BARE, [*demo_prompts(1, 2), *demo_prompts(2, 200)[1:]])
    next(answers)
    dead = process_of(engine)
    os.kill(dead, death)
    with pytest.raises(EngineError, match=rf"^{said} while computing the base view \(no adapter\)"):
        list(answers)
    assert len(list(engine.answer(BARE, demo_prompts(1, 4)))) == 1
    assert process_of(engine) != dead


def test_a_child_that_gives_no_sign_of_life_is_stopped() -> None:
    engine = ChildEngine(SETTINGS, timeout=5)
    engine.fingerprint(BARE, "Hello")
    process = process_of(engine)
    os.kill(process, signal.SIGSTOP)
    with pytest.raises(EngineError, match=r"gave no sign of life for 5 s while computing the base view"):
        list(engine.answer(BARE, demo_prompts(1, 4)))
    assert gone(process)
    engine.close()


def test_nothing_is_started_before_the_first_question() -> None:
    engine = ChildEngine(SETTINGS)
    assert engine.identity().facts["engine"] == "llama.cpp"
    assert engine.process_id is None
    engine.close()


def test_a_view_of_another_model_takes_the_place_of_the_one_before(engine: ChildEngine, tmp_path: Path) -> None:
    first = dict(engine.answer(BARE, demo_prompts(1, 4)))
    once = engine.load_seconds
    copy = tmp_path / "copy.gguf"
    copy.symlink_to(BASE)
    assert dict(engine.answer(View("copy", copy), demo_prompts(1, 4))) == first
    assert engine.load_seconds > once > 0


def test_every_batch_is_a_sign_of_life() -> None:
    from loracheck.engine.llama import LlamaEngine

    ticks: list[None] = []
    with LlamaEngine(SETTINGS, tick=lambda read=0, written=0: ticks.append(None)) as engine:
        engine.load(BASE)
        loading = len(ticks)
        engine.fingerprint(BARE, "Hello")
    assert 0 < loading < len(ticks)


def test_answers_left_in_the_middle_end_the_child(engine: ChildEngine) -> None:
    answers = engine.answer(BARE, demo_prompts(2, 8))
    next(answers)
    process = process_of(engine)
    answers.close()  # type: ignore[attr-defined]
    assert gone(process)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where children make their folders."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_closing_leaves_neither_process_nor_folder(folders: Path) -> None:
    engine = ChildEngine(SETTINGS)
    engine.fingerprint(BARE, "Hello")
    process = process_of(engine)
    assert len(list(folders.iterdir())) == 1
    engine.close()
    engine.close()
    assert gone(process)
    assert list(folders.iterdir()) == []


def test_a_model_that_does_not_load_is_told_and_leaves_nothing(folders: Path) -> None:
    engine = ChildEngine(SETTINGS)
    rubbish = folders / "rubbish.gguf"
    rubbish.write_bytes(BASE.read_bytes()[:50_000_000])
    with pytest.raises(LoracheckError, match=r"rubbish\.gguf: "):
        engine.fingerprint(View("base", rubbish), "Hello")
    engine.close()
    assert list(folders.iterdir()) == [rubbish]


PARENT = """
import sys, time
from pathlib import Path
from loracheck.engine import Settings, View
from loracheck.engine.child import ChildEngine
engine = ChildEngine(Settings(n_ctx=512))
engine.fingerprint(View("base", Path(sys.argv[1])), "Hello")
print(engine.process_id, engine._child.folder, flush=True)
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
