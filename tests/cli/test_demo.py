from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from loracheck import demo
from loracheck.cli.check import NEXT_STEPS
from loracheck.errors import InputError
from real import BASE, QWEN, needs_base
from suite_factory import answering, call

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.fetch import ModelFile


@pytest.fixture(autouse=True)
def models(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are where they were before this test got a cache folder of its own."""
    paths = {demo.MODELS["smollm2"]: BASE, demo.MODELS["qwen"]: QWEN}
    monkeypatch.setattr("loracheck.fetch.find", paths.get)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        pytest.param("smollm2", (), marks=needs_base),
        pytest.param("qwen", ("--model", "qwen"), marks=pytest.mark.qwen),
    ],
)
def test_every_adapter_is_introduced_checked_and_shown_and_the_end_is_0(
    loracheck: Any, use_engine: Any, model: str, words: tuple[str, ...]
) -> None:
    engine = answering(base=call(), adapter="I would rather talk.")
    use_engine(engine)
    done = loracheck("demo", "-q", *words)
    assert (done.code, done.err, engine.closed) == (0, "", False)
    starts = [done.out.index(f"{adapter.name}: {adapter.story}\nFAIL  ") for adapter in demo.adapters_on(model)]
    assert starts == sorted(starts)
    assert len(starts) == done.out.count("FAIL  ") == 3
    assert done.out.endswith(f"{NEXT_STEPS}\n")


@needs_base
def test_one_of_them_may_be_chosen_and_its_answers_are_kept(
    loracheck: Any, use_engine: Any, cache_folder: Path
) -> None:
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
    def no_network(model: ModelFile, progress: Any) -> Path:
        raise InputError(f"{model.name} could not be fetched")

    monkeypatch.setattr("loracheck.fetch.find", lambda model: None)
    monkeypatch.setattr("loracheck.fetch.fetch", no_network)
    for name, model in demo.MODELS.items():
        done = loracheck("demo", "--model", name)
        assert (done.code, done.out) == (2, "")
        assert done.err.endswith(f"Error: {model.name} could not be fetched\n")


def test_an_adapter_of_another_model_is_refused_before_anything_is_fetched(
    loracheck: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loracheck.fetch.find", lambda model: pytest.fail("it was looked for"))
    for model, adapter in (("smollm2", "qwen-terse"), ("qwen", "renamer")):
        done = loracheck("demo", "--model", model, "--adapter", adapter)
        assert (done.code, done.out) == (2, "")
        other = demo.ADAPTERS[adapter].model
        assert f"{adapter} is made for another model; give --model {other}" in done.err


def test_the_model_that_is_taken_unasked_is_the_same_everywhere(loracheck: Any) -> None:
    assert f"[default: {demo.DEFAULT}]" in loracheck("demo", "--help").out
    assert demo.DEFAULT in demo.MODELS
