from __future__ import annotations

import io
import os
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loracheck.engine import Settings, worker
from loracheck.pace import Spent

if TYPE_CHECKING:
    import pytest


def replies(stream: io.BytesIO) -> list[tuple[str, Any]]:
    stream.seek(0)
    found = []
    while stream.tell() < len(stream.getvalue()):
        found.append(pickle.load(stream))
    return found


def test_signs_of_life_are_sent_now_and_then_and_not_for_every_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(worker.time, "monotonic", lambda: now)
    stream = io.BytesIO()
    working = worker._Worker(stream, Settings())
    for now in (10.0, 10.25, 10.5, 11.5, 11.75, 30.0):  # noqa: B007 - read by the clock
        working._tick(read=64)
    # With each goes what was done since the last, and how long that took.
    assert replies(stream) == [
        ("tick", Spent(64, 10.0)),
        ("tick", Spent(192, 1.5)),
        ("tick", Spent(128, 18.5)),
    ]


def test_reading_and_writing_are_timed_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(worker.time, "monotonic", lambda: now)
    stream = io.BytesIO()
    working = worker._Worker(stream, Settings())
    working._told = 100.0
    for now, read, written in ((1.0, 64, 0), (3.0, 0, 8), (3.5, 10, 0), (7.5, 0, 7), (9.0, 0, 0)):  # noqa: B007
        working._tick(read, written)
    working._tell()
    assert replies(stream) == [("tick", Spent(74, 1.5, 15, 6.0))]


def test_a_folder_goes_even_if_something_is_written_into_it_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, late = tmp_path / "folder", ["one.gguf", "two.gguf"]
    folder.mkdir()
    remove = os.rmdir

    def rmdir(path: Any, **how: Any) -> None:
        if late:
            (folder / late.pop()).touch()
        remove(path, **how)

    monkeypatch.setattr(os, "rmdir", rmdir)
    worker._remove(str(folder))
    assert (folder.exists(), late) == (False, [])
