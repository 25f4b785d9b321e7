from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from loracheck.checking import check
from loracheck.engine import AdapterUse, Completion, Identity, NullAdapter, Prompt, Sampling, Trace, Try, View
from loracheck.engine.fake import FakeEngine
from loracheck.engine.identity import llama_identity
from loracheck.engine.stored import StoredEngine
from loracheck.errors import InputError
from loracheck.plan import engine_settings
from loracheck.store import Store
from models.factory import lora_tensors, write_adapter
from suite_factory import Files, answering, call, failing_from, make_case, make_suite

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from loracheck.cases.suite import Suite
    from loracheck.engine import Settings
    from loracheck.results import Report

CASES = 8
NULL_ANSWERS = 6
EVERYTHING = 2 * CASES + NULL_ANSWERS

# Runs a suite on a slow engine that says what it is asked; argv: base, adapter, store, seconds for each answer.
SLOW_RUN = """
import sys, time
from pathlib import Path
from loracheck.checking import check
from loracheck.engine.fake import FakeEngine
from loracheck.store import Store
from suite_factory import Files, call, make_suite

base, adapter, store, seconds = sys.argv[1:]

def reply(view, prompt):
    print(view.name, prompt.id, file=sys.stderr, flush=True)
    time.sleep(float(seconds))
    return call() if view.name in ("base", "adapter") else "no idea"

with Store(Path(store)) as store:
    suite = make_suite(Files(Path(base), Path(adapter)), 8).with_nulls()
    print(check(suite, engine=FakeEngine(reply, name="toy"), store=store).model_dump_json())
"""


@pytest.fixture
def path(cache_folder: Path) -> Path:
    return cache_folder / "answers.sqlite"


@pytest.fixture
def suite(files: Files) -> Suite:
    return make_suite(files, CASES).with_nulls()


class Llama(FakeEngine):
    """Canned answers under llama.cpp's own identity."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(lambda view, prompt: call() if view.name in ("base", "adapter") else "no idea")
        self._settings = settings

    def identity(self) -> Identity:
        return llama_identity(self._settings)


def toy(**answers: Any) -> FakeEngine:
    """All of them are one engine to a store, whatever they answer."""
    return answering(**answers, name="toy")


def run(suite: Suite, path: Path | None, engine: FakeEngine | None = None) -> tuple[Report, list[tuple[str, str]]]:
    """The report, and what the engine was asked for it."""
    engine = engine or toy()
    with Store(path) as store:
        return check(suite, engine=engine, store=store), engine.asked


def asked_by(suite: Suite, path: Path, engine: FakeEngine | None = None) -> set[str]:
    """The views that the engine was asked under."""
    return {view.split()[0] for view, _ in run(suite, path, engine)[1]}


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
    first, asked = run(suite, path, toy(adapter=failing_from(3)))
    assert len(asked) == EVERYTHING
    engine = FakeEngine(lambda *_: pytest.fail("asked again"), name="toy")
    second, asked = run(suite, path, engine)
    assert asked == []
    assert findings(second) == findings(first)
    assert second.warnings == first.warnings == ()
    assert (first.timing["answers_from_store"], first.timing["answers_computed"]) == (0, EVERYTHING)
    assert (second.timing["answers_from_store"], second.timing["answers_computed"]) == (EVERYTHING, 0)


def test_a_second_run_does_not_load_the_model(suite: Suite, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(suite, path, Llama(engine_settings(suite.defaults)))
    monkeypatch.setattr("loracheck.engine.child.serving", lambda *_: pytest.fail("a child was started"))
    with Store(path) as store:
        assert check(suite, store=store).timing["answers_computed"] == 0


def test_a_given_engine_is_not_answered_for_by_llama_cpp(suite: Suite, path: Path) -> None:
    run(suite, path, Llama(engine_settings(suite.defaults)))
    assert len(run(suite, path)[1]) == EVERYTHING


def test_engines_of_one_name_stand_for_each_other_and_others_do_not(suite: Suite, path: Path) -> None:
    assert len(run(suite, path, answering(name="one"))[1]) == EVERYTHING
    assert run(suite, path, answering(name="one"))[1] == []
    assert len(run(suite, path, answering(name="another"))[1]) == EVERYTHING


def test_engines_without_a_name_never_stand_for_each_other(suite: Suite, path: Path) -> None:
    engine = answering()
    assert len(run(suite, path, engine)[1]) == EVERYTHING
    engine.asked.clear()
    assert run(suite, path, engine)[1] == []
    for _ in range(3):
        # Each is gone before the next is made, which may then be in its place in memory.
        assert len(run(suite, path, answering())[1]) == EVERYTHING


def test_an_engine_is_another_when_one_of_its_files_has_changed(suite: Suite, path: Path, tmp_path: Path) -> None:
    library = tmp_path / "libllama.so"

    class OfFiles(FakeEngine):
        def identity(self) -> Identity:
            return Identity({"engine": "of files"}, (library,))

    for build, asked in ((b"one build", EVERYTHING), (b"one build", 0), (b"another", EVERYTHING)):
        library.write_bytes(build)
        assert len(run(suite, path, OfFiles(lambda *_: call()))[1]) == asked


@pytest.mark.parametrize("earlier_runs", [0, 1])
def test_a_given_engine_is_never_closed(suite: Suite, path: Path, earlier_runs: int) -> None:
    for _ in range(earlier_runs):
        run(suite, path)
    engine = toy()
    run(suite, path, engine)
    assert not engine.closed


def test_without_a_store_every_run_asks_everything(suite: Suite, cache_folder: Path) -> None:
    for _ in range(2):
        assert len(run(suite, None)[1]) == EVERYTHING
    assert list(cache_folder.iterdir()) == []


def test_a_new_adapter_of_the_same_shape_asks_for_its_own_answers_alone(
    suite: Suite, path: Path, tmp_path: Path
) -> None:
    run(suite, path)
    other = write_adapter(tmp_path / "other.gguf", lora_tensors(seed=9))
    assert asked_by(make_suite(Files(suite.models.base.gguf, other), CASES).with_nulls(), path) == {"adapter"}


def test_a_new_adapter_of_another_shape_asks_for_null_adapters_too(suite: Suite, path: Path, tmp_path: Path) -> None:
    run(suite, path)
    other = write_adapter(tmp_path / "other.gguf", lora_tensors(rank=8))
    assert asked_by(make_suite(Files(suite.models.base.gguf, other), CASES).with_nulls(), path) == {"adapter", "null"}


def test_a_retrained_adapter_under_the_same_path_is_not_served_from_the_store(suite: Suite, path: Path) -> None:
    run(suite, path)
    adapter = suite.models.ft.adapters[0].gguf
    write_adapter(adapter, lora_tensors(seed=9))
    report, asked = run(suite, path, toy(adapter="I have forgotten how."))
    assert {view for view, _ in asked} == {"adapter"}
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
        (lambda suite: suite.with_defaults(threads=suite.defaults.threads + 1), {"base", "adapter", "null"}),
        (lambda suite: suite.with_defaults(n_ctx=64), {"base", "adapter", "null"}),
        (lambda suite: suite.with_defaults(parallel=2), {"base", "adapter", "null"}),
        (lambda suite: suite.with_defaults(gpu_layers=1), {"base", "adapter", "null"}),
        (lambda suite: suite.with_defaults(max_new_tokens=9), {"base", "adapter"}),
        (lambda suite: suite.with_cases([make_case(1, prompt="Search for cats.")]), {"base", "adapter"}),
        (lambda suite: suite.with_models(adapters=[_rescaled(suite, 0.5)]), {"adapter", "null"}),
        (lambda suite: suite.with_models(base_adapters=[_rescaled(suite, 0.5)]), {"base", "adapter", "null"}),
        (lambda suite: suite.with_defaults(seed=7), set()),
        (lambda suite: suite.with_cases([make_case(2, id="renamed")]), set()),
    ],
)
def test_what_changes_an_answer_is_asked_again_and_nothing_else(
    suite: Suite, path: Path, change: Callable[[Suite], Suite], views: set[str]
) -> None:
    changed = change(suite)
    run(suite, path, Llama(engine_settings(suite.defaults)))
    assert asked_by(changed, path, Llama(engine_settings(changed.defaults))) == views


def _rescaled(suite: Suite, scale: float) -> Any:
    return suite.models.ft.adapters[0].model_copy(update={"scale": scale})


def test_a_view_is_known_by_what_is_in_it_and_not_by_its_name(path: Path, view: View) -> None:
    engine = answering(base="yes", name="toy")
    for name in ("base", "adapter"):
        with Store(path) as store:
            ((_, completion),) = StoredEngine(store, engine).answer(replace(view, name=name), [Prompt("1", "one", 9)])
        assert completion.text == "yes"
    assert engine.asked == [("base", "1")]


def test_a_view_at_another_width_is_another_view(path: Path, view: View) -> None:
    engine = answering(base="yes", name="toy")
    for width in (None, 4, 4):
        with Store(path) as store:
            list(StoredEngine(store, engine).answer(replace(view, width=width), [Prompt("1", "one", 9)]))
    assert len(engine.asked) == 2


def test_new_cases_are_asked_alone_and_every_answer_goes_to_its_case(suite: Suite, files: Files, path: Path) -> None:
    run(suite, path, toy(adapter=failing_from(3)))
    cases = [make_case(number) for number in (9, 1, 3, 10, 2)]
    report, asked = run(suite.with_cases(cases), path, toy(adapter=failing_from(3)))
    assert asked == [(view, case) for view in ("base", "adapter") for case in ("case9", "case10")]
    assert findings(report) == findings(run(suite.with_cases(cases), None, toy(adapter=failing_from(3)))[0])


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
        return call() if view.name in ("base", "adapter") else "no idea"

    report, _ = run(suite, path, FakeEngine(reply))
    assert findings(report) == findings(run(suite, None)[0])


def test_an_adapter_replaced_during_the_run_gets_no_verdict_and_nothing_is_kept(suite: Suite, path: Path) -> None:
    adapter = suite.models.ft.adapters[0].gguf

    def retrain(prompt: Prompt) -> str:
        if prompt.id == "case2":
            write_adapter(adapter, lora_tensors(seed=9))
        return call()

    with pytest.raises(InputError, match=r"adapter\.gguf: the file changed while it was being checked"):
        run(suite, path, toy(adapter=retrain))
    write_adapter(adapter)
    asked = run(suite, path)[1]
    assert asked[:-NULL_ANSWERS] == [("adapter", f"case{number}") for number in range(2, CASES + 1)]
    assert all(view.startswith("null ") for view, _ in asked[-NULL_ANSWERS:])


@pytest.fixture
def view(files: Files) -> View:
    return View("base", files.base)


class Silent(FakeEngine):
    """Stands for the others, and must not be asked."""

    def __init__(self) -> None:
        super().__init__(lambda *_: pytest.fail("asked"), name="toy")

    def fingerprint(self, *_: Any) -> Any:
        pytest.fail("asked")


def test_an_answer_is_kept_before_it_is_handed_out(path: Path, view: View) -> None:
    prompts = [Prompt("1", "one", 9), Prompt("2", "two", 9)]
    with Store(path) as store:
        answers = StoredEngine(store, toy()).answer(view, prompts)
        index, completion = next(answers)
        with Store(path) as other:
            again = StoredEngine(other, Silent()).answer(view, prompts[:1])
            assert list(again) == [(index, completion)]


def test_a_completion_comes_back_as_it_was_and_says_that_it_was_stored(path: Path, view: View) -> None:
    kept = Completion("\ud800 né\x00", (3, 1, 2), 17, truncated=True)

    class OneAnswer(FakeEngine):
        def answer(self, *_: Any) -> Any:
            yield 0, kept

    for engine, stored in ((OneAnswer(lambda *_: "", name="toy"), False), (Silent(), True)):
        with Store(path) as store:
            ((index, completion),) = StoredEngine(store, engine).answer(view, [Prompt("1", "\udfff", 9)])
            assert (index, completion, completion.stored) == (0, kept, stored)


def test_the_engine_behind_is_somebody_elses_to_close(path: Path, view: View) -> None:
    engine = toy()
    with Store(path) as store:
        front = StoredEngine(store, engine)
        front.fingerprint(view, "text")
        front.close()
        list(front.answer(view, [Prompt("1", "one", 9)]))
        front.close()
    assert not engine.closed


def test_the_one_in_front_has_the_identity_and_the_loading_time_of_the_one_behind(path: Path) -> None:
    engine = toy()
    engine.load_seconds = 2.5
    with Store(path) as store:
        front = StoredEngine(store, engine)
        assert (front.identity(), front.load_seconds) == (engine.identity(), 2.5)


def test_a_fingerprint_is_remembered_for_its_view_and_text(path: Path, view: View) -> None:
    with Store(path) as store:
        first = StoredEngine(store, toy()).fingerprint(view, "text")
        empty = StoredEngine(store, Silent())
        assert empty.fingerprint(View("another name", view.model), "text") == first
        with pytest.raises(pytest.fail.Exception):
            empty.fingerprint(view, "other text")


def test_what_is_kept_can_be_looked_up_without_asking(path: Path, view: View) -> None:
    one, two = Prompt("1", "one", 9), Prompt("2", "two", 9)
    with Store(path) as store:
        ((_, completion),) = StoredEngine(store, toy()).answer(view, [one])
        looked_up = StoredEngine(store, Silent()).kept(view, [two, one])
        assert looked_up == [None, completion]
    with Store() as off:
        assert StoredEngine(off, Silent()).kept(view, [one]) == [None]


class Tracing(FakeEngine):
    """Traces whatever it is asked to, and notes what it was told to know and what to try."""

    def __init__(self) -> None:
        super().__init__(lambda *_: "ab", name="tracing")
        self.known: list[tuple[int, ...] | None] = []
        self.drafts: list[tuple[int, ...]] = []
        self.traced: list[bool] = []

    def answer(self, view: View, prompts: Any) -> Any:
        self.known += [prompt.known for prompt in prompts]
        self.drafts += [prompt.draft for prompt in prompts]
        self.traced += [prompt.traced for prompt in prompts]
        for index, completion in super().answer(view, prompts):
            asked = prompts[index].follow or (prompts[index].traced and not completion.truncated)
            yield index, replace(completion, trace=TRACE if asked else None)


TRACE = Trace((1, 2), (1, 2), ((1, 5), (2, 5), (6, 5)), ((-0.5, -1.0),) * 3, ("a", "b", ""))


def test_what_a_view_expects_at_its_own_answer_is_kept_from_the_first_time_on(path: Path, view: View) -> None:
    engine, plain = Tracing(), Prompt("1", "one", 9)
    seen = []
    for prompt in (plain, replace(plain, traced=True), plain):
        with Store(path) as store:
            ((_, completion),) = StoredEngine(store, engine).answer(view, [prompt])
        seen.append((completion.text, completion.trace))
    assert seen == [("ab", None), ("ab", TRACE), ("ab", None)]
    assert engine.traced == [True], "asked once, with its trace"


def test_an_answer_that_was_kept_without_it_is_a_draft_when_its_trace_is_asked_for(path: Path, view: View) -> None:
    engine, prompt = Tracing(), Prompt("1", "one", 9)
    for asked in (replace(prompt, follow=TRACE), replace(prompt, traced=True), replace(prompt, traced=True)):
        with Store(path) as store:
            ((_, completion),) = StoredEngine(store, engine).answer(view, [asked])
        assert completion.trace == TRACE
    assert (engine.known, engine.drafts) == ([None, None], [(), tuple(b"ab")])


@pytest.mark.parametrize("why", ["noise", "a try", "off"])
def test_no_more_than_asked_is_traced_where_nobody_would_use_it(path: Path, files: Files, why: str) -> None:
    engine, prompt = Tracing(), Prompt("1", "one", 9, attempt=Try(Sampling(0.7), 0, 0) if why == "a try" else None)
    noise = (AdapterUse(NullAdapter(files.adapter, 1)),) if why == "noise" else ()
    with Store(None if why == "off" else path) as store:
        list(StoredEngine(store, engine).answer(View("base", files.base, noise), [prompt]))
    assert engine.traced == [False]


def test_the_trace_of_another_answer_is_kept_beside_its_own(path: Path, view: View) -> None:
    engine, plain = Tracing(), Prompt("1", "one", 9)
    followed = replace(plain, follow=TRACE)
    seen = []
    for prompt in (plain, followed, followed, plain):
        with Store(path) as store:
            ((_, completion),) = StoredEngine(store, engine).answer(view, [prompt])
        seen.append((completion.text, completion.trace))
    assert seen == [("ab", None), ("ab", TRACE), ("ab", TRACE), ("ab", None)]
    assert engine.known == [None, tuple(b"ab")], "answered once, traced once"


def test_an_answer_that_was_cut_off_is_not_traced_and_not_taken_for_a_whole_one(path: Path, view: View) -> None:
    engine, prompt = Tracing(), Prompt("1", "one", 1, traced=True)
    for _ in range(2):
        with Store(path) as store:
            ((_, completion),) = StoredEngine(store, engine).answer(view, [prompt])
        assert (completion.text, completion.truncated, completion.trace) == ("a", True, None)
    assert engine.known == [None]
    with Store(path) as store:
        ((_, completion),) = StoredEngine(store, engine).answer(view, [replace(prompt, traced=False, follow=TRACE)])
    assert (completion.trace, engine.known) == (TRACE, [None, None])


def test_traces_of_other_answers_are_kept_apart(path: Path, view: View) -> None:
    engine, prompt = Tracing(), Prompt("1", "one", 9)
    other = replace(TRACE, tokens=(1, 3))
    for follow in (TRACE, other, TRACE, other):
        with Store(path) as store:
            list(StoredEngine(store, engine).answer(view, [replace(prompt, follow=follow)]))
    assert engine.known == [None, tuple(b"ab")]


def test_each_try_is_kept_for_itself_and_the_greedy_answer_apart_from_all(files: Files, path: Path) -> None:
    view, greedy = View("base", files.base), Prompt("a", "Hello", 500)
    first, second = Try(Sampling(0.7), 0, 0), Try(Sampling(0.7), 0, 1)
    drawn = [replace(greedy, attempt=attempt) for attempt in (first, second, replace(first, seed=1))]
    drawn.append(replace(greedy, attempt=Try(Sampling(0.7, top_p=0.9), 0, 0)))
    engine = FakeEngine(lambda _, prompt: str(prompt.attempt), name="toy")
    with Store(path) as store:
        stored = StoredEngine(store, engine)
        assert [answer.text for _, answer in stored.answer(view, [greedy])] == ["None"]
        asked = [greedy, *drawn]
        texts = {index: answer.text for index, answer in stored.answer(view, asked)}
        assert texts == {index: str(prompt.attempt) for index, prompt in enumerate(asked)}
        assert len(engine.asked) == len(asked), "the greedy one only once"
        again = dict(stored.answer(view, asked[::-1]))
        assert [again[len(drawn) - index].text for index in texts] == list(map(str, (p.attempt for p in asked)))
        assert len(engine.asked) == len(asked)
