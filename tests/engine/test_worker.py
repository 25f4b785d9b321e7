from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING, Any

from loracheck.engine import Settings, worker

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
    for now in (10.0, 10.1, 10.9, 11.5, 11.6, 30.0):  # noqa: B007 - read by the clock
        working._tick()
    assert replies(stream) == [("tick", None)] * 3
