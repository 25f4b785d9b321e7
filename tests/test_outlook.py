"""Before the wait: what is said of the work and of the machine, and when it is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from loracheck import machine
from loracheck.checking import check, planned
from loracheck.engine import Settings
from loracheck.engine.stored import StoredEngine
from loracheck.errors import ModelError
from loracheck.machine import Memory
from loracheck.outlook import about_gpu, about_memory, look_ahead
from loracheck.plan import read
from loracheck.progress import QuietProgress
from loracheck.store import Store
from suite_factory import answering, make_case, make_suite

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.cases.suite import Suite
    from loracheck.engine.fake import FakeEngine
    from loracheck.outlook import Outlook
    from suite_factory import Files

MB = 1_000_000


def outlook_of(suite: Suite, store: Store | None = None, engine: FakeEngine | None = None) -> Outlook:
    store = store or Store()
    return look_ahead(read(suite, store), StoredEngine(store, engine or answering(name="toy")))


def test_it_counts_views_cases_answers_and_tokens(files: Files) -> None:
    outlook = outlook_of(make_suite(files, cases=4).with_nulls(3))
    letters = sum(len(prompt.text) for each in outlook.views for prompt in each.prompts)
    assert (outlook.cases, outlook.answers, outlook.missing) == (4, 2 * 4 + 3 * 2, 14)
    assert str(outlook).startswith("5 views, 4 cases: 14 answers to compute, about ")
    assert sum(stretch.read for stretch in outlook.stretches) == pytest.approx(letters / 4)


def test_what_the_store_has_is_not_ahead(files: Files, tmp_path: Path) -> None:
    suite = make_suite(files, cases=2)
    with Store(tmp_path / "store") as store:
        check(suite, engine=answering(name="toy"), store=store)
        all_there = outlook_of(suite, store)
        more = outlook_of(make_suite(files, cases=3), store)
    assert str(all_there) == "2 views, 2 cases: all 4 answers are in the store"
    assert [stretch.answers for stretch in all_there.stretches] == [0, 0]
    assert str(more).startswith("2 views, 3 cases: 2 of 6 answers to compute, about ")
    # The fake engine has a token for each letter.
    assert more.letters_per_token == 1.0


def test_what_is_looked_up_before_is_not_looked_up_again(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = make_suite(files, cases=3)
    looked_up: list[Any] = []
    get = Store.get

    def counting(store: Store, kind: str, about: Any) -> Any:
        looked_up.append((kind, about.get("prompt"), about.get("adapters")))
        return get(store, kind, about)

    with Store(tmp_path / "store") as store:
        check(suite, engine=answering(name="toy"), store=store)
        monkeypatch.setattr(Store, "get", counting)
        check(suite, engine=answering(name="toy"), store=store)
    answers = [each for each in looked_up if each[0] == "answer"]
    assert len(answers) == 6


def test_prompts_that_begin_alike_are_read_once_as_far_as_they_do(files: Files) -> None:
    long = "The same words before every question. " * 40
    cases = [make_case(number, prompt=f"{long}{number}") for number in range(1, 11)]
    apart = [make_case(number, prompt=f"{number} {long}") for number in range(1, 11)]
    together, each = (
        sum(stretch.read for stretch in outlook_of(make_suite(files).with_cases(asked)).stretches)
        for asked in (cases, apart)
    )
    assert together < each / 4


def test_the_words_fit_on_a_terminal(files: Files) -> None:
    outlook = outlook_of(make_suite(files, cases=4).with_nulls(3))
    (each, *_) = outlook.views
    large = replace(outlook, cases=1234, views=(replace(each, prompts=each.prompts * 5000, kept=each.kept * 5000),) * 5)
    for line in (
        str(large),
        about_memory(outlook, Memory(999 * MB, 999 * MB)),
        about_memory(outlook, Memory(999 * MB, 9 * MB)),
    ):
        assert line is not None
        assert len(line) <= 80


def test_memory_is_held_against_what_is_free(files: Files) -> None:
    outlook = outlook_of(make_suite(files))
    for free, begins, ends in (
        (9999 * MB, "memory: about ", ", 10.0 GB free"),
        (None, "memory: about ", ")"),
        (1 * MB, "warning: about ", " of memory needed, 1 MB free"),
    ):
        line = about_memory(outlook, Memory(9999 * MB, free))
        assert line is not None
        assert line.startswith(begins)
        assert line.endswith(ends)


def test_a_warning_says_what_would_need_less(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loracheck.memory.kv_bytes", lambda _: 100_000)
    outlook = outlook_of(make_suite(files, cases=30))
    line = about_memory(outlook, Memory(9999 * MB, 400 * MB))
    assert line is not None
    assert "; --parallel " in line
    assert len(line) <= 80


@pytest.mark.parametrize("is_limited", [False, True])
def test_more_than_there_is_at_all_is_refused_with_what_would_fit(
    files: Files, monkeypatch: pytest.MonkeyPatch, is_limited: bool
) -> None:
    monkeypatch.setattr("loracheck.memory.kv_bytes", lambda _: 1_000_000)
    outlook = outlook_of(make_suite(files, cases=30))
    where = "this container" if is_limited else "this machine"
    with pytest.raises(ModelError, match=rf"needs about .*{where} has 1\.5 GB in all; --parallel \d+ would fit$"):
        about_memory(outlook, Memory(1500 * MB, 0, is_limited))
    with pytest.raises(ModelError, match="take a smaller quantization of it"):
        about_memory(outlook, Memory(1 * MB, 0, is_limited))


def test_a_model_on_a_gpu_is_not_held_against_the_memory_of_the_machine(files: Files) -> None:
    outlook = replace(outlook_of(make_suite(files)), settings=Settings(gpu_layers=-1))
    assert about_memory(outlook, Memory(1, 1)) is None


def test_a_check_that_does_not_fit_is_refused_before_anything_is_started(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "memory", lambda: Memory(1, 1))
    monkeypatch.setattr("loracheck.engine.child._Child", lambda *_: pytest.fail("llama.cpp was started"))
    with pytest.raises(ModelError, match=r"base\.gguf: needs about .* of memory"):
        check(make_suite(files))
    with pytest.raises(ModelError, match=r"base\.gguf: needs about .* of memory"):
        list(planned(make_suite(files), Store()))


def test_another_engine_has_a_memory_of_its_own_and_the_store_needs_none(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "memory", lambda: pytest.fail("it was looked at"))
    said: list[str] = []

    class Listener(QuietProgress):
        def say(self, line: str) -> None:
            said.append(line)

    check(make_suite(files, cases=2), engine=answering(), progress=Listener())
    (line,) = said
    assert line.startswith("2 views, 2 cases: 4 answers to compute")


@pytest.mark.parametrize(
    ("card", "built", "said"),
    [
        (None, True, None),
        ("NVIDIA GPU", True, "NVIDIA GPU: not used; --gpu-layers -1 puts the model on it"),
        (
            "NVIDIA GPU",
            False,
            "NVIDIA GPU: not used, this llama.cpp is for the CPU alone; see loracheck doctor",
        ),
    ],
)
def test_a_card_that_lies_idle_is_named_with_what_uses_it(
    monkeypatch: pytest.MonkeyPatch, card: str | None, built: bool, said: str | None
) -> None:
    monkeypatch.setattr(machine, "graphics_card", lambda: card)
    monkeypatch.setattr("loracheck.outlook.is_built_for_gpus", lambda: built)
    assert about_gpu(Settings()) == said
    assert about_gpu(Settings(gpu_layers=20)) is None
    assert said is None or len(said) <= 80
