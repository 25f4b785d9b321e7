from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from loracheck import demo
from loracheck.cli.check import NEXT_STEPS
from loracheck.errors import InputError
from real import BASE, needs_base
from suite_factory import answering, call

if TYPE_CHECKING:
    from pathlib import Path


@needs_base
def test_every_adapter_is_introduced_checked_and_shown_and_the_end_is_0(
    loracheck: Any, use_engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "find_model", lambda: BASE)
    engine = answering(base=call(), adapter="I would rather talk.")
    use_engine(engine)
    done = loracheck("demo", "-q")
    assert (done.code, done.err, engine.closed) == (0, "", False)
    starts = [done.out.index(f"{name}: {adapter.story}\nFAIL  ") for name, adapter in demo.ADAPTERS.items()]
    assert starts == sorted(starts)
    assert done.out.endswith(f"{NEXT_STEPS}\n")


@needs_base
def test_one_of_them_may_be_chosen_and_its_answers_are_kept(
    loracheck: Any, use_engine: Any, monkeypatch: pytest.MonkeyPatch, cache_folder: Path
) -> None:
    monkeypatch.setattr(demo, "find_model", lambda: BASE)
    use_engine(answering(name="canned"))
    assert loracheck("demo", "--adapter", "toolcaller", "--no-cache").code == 0
    assert list(cache_folder.iterdir()) == []
    first = loracheck("demo", "--adapter", "chatty")
    assert "chatty: " in first.out
    assert "toolcaller: " not in first.out
    silent = answering(*[lambda prompt: pytest.fail("it was asked")] * 3, name="canned")
    use_engine(silent)
    again = loracheck("demo", "--adapter", "chatty")
    assert (again.code, again.out, silent.asked) == (0, first.out, [])


def test_without_the_model_and_a_network_the_end_is_2(loracheck: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(progress: Any) -> Path:
        raise InputError("the base model could not be fetched")

    monkeypatch.setattr(demo, "find_model", lambda: None)
    monkeypatch.setattr(demo, "fetch_model", no_network)
    done = loracheck("demo")
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("Error: the base model could not be fetched\n")
