from __future__ import annotations

from pathlib import Path

from loracheck.engine import AdapterUse, Completion, Prompt, View
from loracheck.engine.fake import FakeEngine

BASE, TUNED = View("base"), View("ft", (AdapterUse(Path("a.gguf")),))


def test_answers_are_those_of_the_reply_cut_at_their_limit() -> None:
    engine = FakeEngine(lambda view, prompt: f"{view.name}é{prompt.text}")
    answers = dict(engine.answer(TUNED, [Prompt("1", "a", 100), Prompt("2", "b", 3)]))
    assert answers == {
        0: Completion("ftéa", tuple("ftéa".encode()), 1, truncated=False),
        1: Completion("ft\ufffd", tuple("fté".encode()[:3]), 1, truncated=True),
    }
    assert engine.asked == [("ft", "1"), ("ft", "2")]


def test_adapters_change_what_a_view_computes_unless_the_engine_is_inert() -> None:
    engine, inert = (FakeEngine(lambda view, prompt: "", inert=inert) for inert in (False, True))
    assert engine.fingerprint(BASE, "x") == engine.fingerprint(View("again"), "x")
    assert engine.fingerprint(BASE, "x") != engine.fingerprint(TUNED, "x")
    assert engine.fingerprint(BASE, "x") != engine.fingerprint(BASE, "y")
    assert inert.fingerprint(BASE, "x") == inert.fingerprint(TUNED, "x")
