from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from adapters.factory import lora_tensors, write_adapter
from loracheck.checking import check
from loracheck.engine import Completion, Prompt, View
from loracheck.engine.fake import FakeEngine
from loracheck.engine.stored import StoredEngine
from loracheck.errors import InputError
from loracheck.store import Store
from suite_factory import Files, answering, call, failing_from, make_case, make_suite

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from loracheck.report.model import Report
    from loracheck.suite.suite import Suite

CASES = 8
NOISE_ANSWERS = 6
EVERYTHING = 2 * CASES + NOISE_ANSWERS

# Runs a suite on a slow engine that says what it is asked; argv: base, adapter, store, seconds for each answer.
SLOW_RUN = """
import sys, time
from pathlib import Path
from loracheck.checking import check
from loracheck.engine.fake import FakeEngine
from loracheck.store import Store
from suite_factory import Files, call, make_suite
from loracheck.report.json import to_json

base, adapter, store, seconds = sys.argv[1:]

def reply(view, prompt):
    print(view.name, prompt.id, file=sys.stderr, flush=True)
    time.sleep(float(seconds))
    return call() if view.name in ("base", "ft") else "no idea"

with Store(Path(store)) as store:
    suite = make_suite(Files(Path(base), Path(adapter)), 8).with_nulls()
    print(to_json(check(suite, engine=FakeEngine(reply), store=store)))
"""


@pytest.fixture
def path(cache_folder: Path) -> Path:
    return cache_folder / "answers.sqlite"


@pytest.fixture
def suite(files: Files) -> Suite:
    return make_suite(files, CASES).with_nulls()


def run(suite: Suite, path: Path | None, engine: FakeEngine | None = None) -> tuple[Report, list[tuple[str, str]]]:
    """The report, and what the engine was asked for it."""
    engine = engine or answering()
    with Store(path) as store:
        return check(suite, engine=engine, store=store), engine.asked


def asked_by(suite: Suite, path: Path) -> set[str]:
    """The views that the engine was asked under."""
    return {view.split()[0] for view, _ in run(suite, path)[1]}


def findings(report: Report) -> dict[str, Any]:
    return report.model_dump(exclude={"timing", "warnings"})


def slow_run(files: Files, path: Path, seconds: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SLOW_RUN, str(files.base), str(files.adapter), str(path), str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )


def test_a_second_run_asks_the_engine_nothing_and_reports_the_same(suite: Suite, path: Path) -> None:
    first, asked = run(suite, path, answering(ft=failing_from(3)))
    assert len(asked) == EVERYTHING
    engine = FakeEngine(lambda *_: pytest.fail("asked again"))
    second, asked = run(suite, path, engine)
    assert asked == []
    assert findings(second) == findings(first)
    assert second.warnings == first.warnings == ()
    assert (first.timing["answers_from_store"], first.timing["answers_computed"]) == (0, EVERYTHING)
    assert (second.timing["answers_from_store"], second.timing["answers_computed"]) == (EVERYTHING, 0)


def test_a_second_run_does_not_load_the_model(suite: Suite, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[FakeEngine] = []

    def load(*_: Any) -> FakeEngine:
        loads.append(answering())
        return loads[-1]

    monkeypatch.setattr("loracheck.checking._load", load)
    for _ in range(2):
        with Store(path) as store:
            check(suite, store=store)
    assert len(loads) == 1


def test_a_given_engine_is_not_answered_for_by_llama_cpp(
    suite: Suite, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loracheck.checking._load", lambda *_: answering())
    with Store(path) as store:
        check(suite, store=store)
    assert len(run(suite, path)[1]) == EVERYTHING


def test_a_given_engine_is_closed_even_when_the_store_has_every_answer(
    suite: Suite, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(suite, path)
    engine, closed = answering(), []
    monkeypatch.setattr(engine, "close", lambda: closed.append(True))
    assert run(suite, path, engine)[1] == []
    assert closed


def test_without_a_store_every_run_asks_everything(suite: Suite, cache_folder: Path) -> None:
    for _ in range(2):
        assert len(run(suite, None)[1]) == EVERYTHING
    assert list(cache_folder.iterdir()) == []


def test_a_new_adapter_of_the_same_shape_asks_for_its_own_answers_alone(
    suite: Suite, path: Path, tmp_path: Path
) -> None:
    run(suite, path)
    other = write_adapter(tmp_path / "other.gguf", lora_tensors(seed=9))
    assert asked_by(make_suite(Files(suite.models.base.gguf, other), CASES).with_nulls(), path) == {"ft"}


def test_a_new_adapter_of_another_shape_asks_for_noise_too(suite: Suite, path: Path, tmp_path: Path) -> None:
    run(suite, path)
    other = write_adapter(tmp_path / "other.gguf", lora_tensors(rank=8))
    assert asked_by(make_suite(Files(suite.models.base.gguf, other), CASES).with_nulls(), path) == {"ft", "noise"}


def test_a_retrained_adapter_under_the_same_path_is_not_served_from_the_store(suite: Suite, path: Path) -> None:
    run(suite, path)
    adapter = suite.models.ft.adapters[0].gguf
    write_adapter(adapter, lora_tensors(seed=9))
    report, asked = run(suite, path, answering(ft="I have forgotten how."))
    assert {view for view, _ in asked} == {"ft"}
    assert report.probes[-1].ft_value == 0


def test_the_same_files_under_other_paths_are_served_from_the_store(
    suite: Suite, files: Files, path: Path, tmp_path: Path
) -> None:
    run(suite, path)
    moved = Files(tmp_path / "moved.gguf", tmp_path / "moved too.gguf")
    shutil.copy(files.base, moved.base)
    shutil.copy(files.adapter, moved.adapter)
    assert asked_by(make_suite(moved, CASES).with_nulls(), path) == set()


@pytest.mark.parametrize(
    ("change", "views"),
    [
        (lambda suite: suite.with_defaults(threads=suite.defaults.threads + 1), {"base", "ft", "noise"}),
        (lambda suite: suite.with_defaults(n_ctx=64), {"base", "ft", "noise"}),
        (lambda suite: suite.with_defaults(parallel=2), {"base", "ft", "noise"}),
        (lambda suite: suite.with_defaults(gpu_layers=1), {"base", "ft", "noise"}),
        (lambda suite: suite.with_defaults(max_new_tokens=9), {"base", "ft"}),
        (lambda suite: suite.with_cases([make_case(1, prompt="Search for cats.")]), {"base", "ft"}),
        (lambda suite: suite.with_models(adapters=[_rescaled(suite, 0.5)]), {"ft", "noise"}),
        (lambda suite: suite.with_models(base_adapters=[_rescaled(suite, 0.5)]), {"base", "ft", "noise"}),
        (lambda suite: suite.with_defaults(seed=7), set()),
        (lambda suite: suite.with_cases([make_case(2, id="renamed")]), set()),
    ],
)
def test_what_changes_an_answer_is_asked_again_and_nothing_else(
    suite: Suite, path: Path, change: Callable[[Suite], Suite], views: set[str]
) -> None:
    run(suite, path)
    assert asked_by(change(suite), path) == views


def _rescaled(suite: Suite, scale: float) -> Any:
    return suite.models.ft.adapters[0].model_copy(update={"scale": scale})


def test_a_view_is_known_by_what_is_in_it_and_not_by_its_name(suite: Suite, path: Path) -> None:
    run(suite, path)
    # The stack that was ft is the base now.
    assert asked_by(suite.with_models(base_adapters=suite.models.ft.adapters).without_nulls(), path) == {"ft"}


def test_new_cases_are_asked_alone_and_every_answer_goes_to_its_case(suite: Suite, files: Files, path: Path) -> None:
    run(suite, path, answering(ft=failing_from(3)))
    cases = [make_case(number) for number in (9, 1, 3, 10, 2)]
    report, asked = run(suite.with_cases(cases), path, answering(ft=failing_from(3)))
    assert asked == [(view, case) for view in ("base", "ft") for case in ("case9", "case10")]
    assert findings(report) == findings(run(suite.with_cases(cases), None, answering(ft=failing_from(3)))[0])


def test_a_killed_run_is_continued_and_loses_no_finished_answer(suite: Suite, files: Files, path: Path) -> None:
    with slow_run(files, path, seconds=0.05) as process:
        assert process.stderr is not None
        begun = [process.stderr.readline().strip() for _ in range(9)]
        process.send_signal(signal.SIGKILL)
    report, asked = run(suite, path)
    # The ninth was being answered when the kill came.
    assert EVERYTHING - len(asked) >= 8
    assert set(begun[:8]).isdisjoint(" ".join(one) for one in asked)
    assert len(asked) > 0
    assert findings(report) == findings(run(suite, None)[0])
    assert report.warnings == ()


def test_processes_at_once_share_a_store_without_a_warning(suite: Suite, files: Files, path: Path) -> None:
    runs = [slow_run(files, path, seconds=0.01) for _ in range(4)]
    results = [process.communicate() for process in runs]
    expected = findings(run(suite, None)[0])
    for (out, err), process in zip(results, runs, strict=True):
        assert process.returncode == 0, err
        report = json.loads(out)
        assert report["warnings"] == []
        assert {key: report[key] for key in ("verdict", "score", "provenance")} == json.loads(
            json.dumps({key: expected[key] for key in ("verdict", "score", "provenance")})
        )
    assert run(suite, path)[1] == []


@pytest.mark.parametrize("spoil", [lambda path: path.mkdir(), lambda path: path.write_bytes(b"rubbish " * 999)])
def test_a_broken_store_is_a_warning_in_a_report_that_is_right(
    suite: Suite, path: Path, spoil: Callable[[Path], None]
) -> None:
    spoil(path)
    report, _ = run(suite, path)
    assert findings(report) == findings(run(suite, None)[0])
    assert len(report.warnings) == 1
    assert str(path) in report.warnings[0]


def test_a_store_removed_during_a_run_does_not_change_the_report(suite: Suite, path: Path) -> None:
    def reply(view: View, prompt: Prompt) -> str:
        for file in path.parent.glob("answers.sqlite*"):
            file.unlink()
        return call() if view.name in ("base", "ft") else "no idea"

    report, _ = run(suite, path, FakeEngine(reply))
    assert findings(report) == findings(run(suite, None)[0])


def test_an_adapter_replaced_during_the_run_gets_no_verdict_and_nothing_is_kept(suite: Suite, path: Path) -> None:
    adapter = suite.models.ft.adapters[0].gguf

    def retrain(prompt: Prompt) -> str:
        if prompt.id == "case2":
            write_adapter(adapter, lora_tensors(seed=9))
        return call()

    with pytest.raises(InputError, match=r"adapter\.gguf: the file changed while it was being checked"):
        run(suite, path, answering(ft=retrain))
    write_adapter(adapter)
    assert [case for _, case in run(suite, path)[1]] == [f"case{number}" for number in range(2, CASES + 1)]


def test_an_answer_is_kept_before_it_is_handed_out(path: Path) -> None:
    prompts = [Prompt("1", "one", 9), Prompt("2", "two", 9)]
    with Store(path) as store:
        answers = StoredEngine(store, answering, {}).answer(View("base"), prompts)
        index, completion = next(answers)
        with Store(path) as other:
            again = StoredEngine(other, lambda: pytest.fail("loaded"), {}).answer(View("base"), prompts[:1])
            assert list(again) == [(index, completion)]


def test_a_completion_comes_back_as_it_was(path: Path) -> None:
    kept = Completion("\ud800 né\x00", (3, 1, 2), 17, truncated=True)

    class OneAnswer(FakeEngine):
        def answer(self, *_: Any) -> Any:
            yield 0, kept

    for load in (lambda: OneAnswer(lambda *_: ""), lambda: pytest.fail("loaded")):
        with Store(path) as store:
            assert list(StoredEngine(store, load, {}).answer(View("ft"), [Prompt("1", "\udfff", 9)])) == [(0, kept)]


def test_the_engine_is_loaded_once_and_closed_with_the_one_in_front(path: Path) -> None:
    events: list[str] = []

    class Closing(FakeEngine):
        def close(self) -> None:
            events.append("closed")

    def load() -> FakeEngine:
        events.append("loaded")
        return Closing(lambda *_: call())

    with Store(path) as store:
        engine = StoredEngine(store, load, {})
        engine.close()
        assert events == []
        engine.fingerprint(View("base"), "text")
        list(engine.answer(View("base"), [Prompt("1", "one", 9)]))
        engine.close()
        engine.close()
    assert events == ["loaded", "closed"]


def test_a_fingerprint_is_remembered_for_its_view_and_text(path: Path, files: Files) -> None:
    with Store(path) as store:
        engine = answering()
        first = StoredEngine(store, lambda: engine, {}).fingerprint(View("base"), "text")
        empty = StoredEngine(store, lambda: pytest.fail("loaded"), {})
        assert empty.fingerprint(View("another name"), "text") == first
        with pytest.raises(pytest.fail.Exception):
            empty.fingerprint(View("base"), "other text")
