from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from loracheck.engine import AdapterUse, Completion, Prompt, View
from loracheck.engine.fake import FakeEngine

BASE = View("base", Path("m.gguf"))
TUNED = View("adapter", BASE.model, (AdapterUse(Path("a.gguf")),))

# Two processes that are the same up to here.
FORKED = """
import os
from loracheck.engine.fake import FakeEngine
child = os.fork()
print(FakeEngine(lambda view, prompt: "").identity().facts, flush=True)
if child:
    os.waitpid(child, 0)
"""


def test_answers_are_those_of_the_reply_cut_at_their_limit() -> None:
    engine = FakeEngine(lambda view, prompt: f"{len(view.adapters)}é{prompt.text}")
    answers = dict(engine.answer(TUNED, [Prompt("1", "a", 100), Prompt("2", "b", 2)]))
    assert answers == {
        0: Completion("1éa", tuple("1éa".encode()), 1, truncated=False),
        1: Completion("1\ufffd", tuple("1é".encode()[:2]), 1, truncated=True),
    }
    assert engine.asked == [("adapter", "1"), ("adapter", "2")]


def test_an_answer_that_is_known_is_not_asked_for() -> None:
    engine = FakeEngine(lambda view, prompt: "another")
    answers = dict(engine.answer(TUNED, [Prompt("1", "a", 100, known=tuple(b"known"))]))
    assert answers == {0: Completion("known", tuple(b"known"), 1, truncated=False)}
    assert engine.asked == []


def test_adapters_change_what_a_view_computes_unless_the_engine_is_inert() -> None:
    engine, inert = (FakeEngine(lambda view, prompt: "", inert=inert) for inert in (False, True))
    assert engine.fingerprint(BASE, "x") == engine.fingerprint(View("again", BASE.model), "x")
    assert engine.fingerprint(BASE, "x") != engine.fingerprint(TUNED, "x")
    assert engine.fingerprint(BASE, "x") != engine.fingerprint(View("base", Path("other.gguf")), "x")
    assert engine.fingerprint(BASE, "x") != engine.fingerprint(BASE, "y")
    assert inert.fingerprint(BASE, "x") == inert.fingerprint(TUNED, "x")


def test_engines_of_one_name_are_the_same_and_those_without_a_name_are_all_different() -> None:
    def identity(name: str | None) -> object:
        return FakeEngine(lambda view, prompt: "", name=name).identity()

    assert identity("mine") == identity("mine") != identity("yours")
    # Each is gone before the next is made, which may then be in its place in memory.
    unnamed = [str(identity(None)) for _ in range(100)]
    assert len(set(unnamed)) == 100


def test_engines_without_a_name_are_different_in_every_process() -> None:
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=True)
    one, other = done.stdout.splitlines()
    assert one != other
