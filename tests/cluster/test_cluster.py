"""Sweeps on a cluster of real worker processes, with an engine that needs no model."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from loracheck.engine import AdapterUse, Prompt, Settings, View
from loracheck.errors import InputError, ModelError
from loracheck.files import sha256_of
from loracheck.locating import locate
from loracheck.progress import QuietProgress
from loracheck.store import Store
from loracheck.suites import build_suite
from loracheck.sweeping.axes import build_cells
from loracheck.sweeping.running import sweep, sweep_store
from models.factory import lora_tensors, write_adapter, write_model
from suite_factory import Files, make_case, write_files

pytest.importorskip("distributed")

from cluster.toy import CRASHING, DEADLY, KILL_ONCE, LOG, SECONDS, ToyEngine, become, quantize_with, shown_gpus
from loracheck.cluster.engine import ClusterEngine
from loracheck.cluster.opening import connected, local_workers
from loracheck.cluster.pool import Pool
from loracheck.cluster.tasks import ModelFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loracheck.sweeping.results import Sweep

# Of Dask's own, when a worker is killed.
pytestmark = pytest.mark.filterwarnings("ignore")

CASES = [make_case(number) for number in range(1, 11)]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("log")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(LOG, str(folder))
        patch.setenv("LORACHECK_CACHE", str(tmp_path_factory.mktemp("worker-cache")))
        yield folder


@pytest.fixture(scope="module")
def pool(log: Path) -> Iterator[Pool]:
    """Two workers, for all tests that leave them alive."""
    with local_workers(2, open_engine=ToyEngine) as pool:
        yield pool


@pytest.fixture
def asked(log: Path) -> Path:
    for file in log.iterdir():
        file.unlink()
    return log


def run(files: Files, pool: Pool | None, store: Store | None = None, **axes: Any) -> Sweep:
    given = {"base": files.base, "adapter": files.adapter, "cases": CASES, "null_runs": 2}
    cells = build_cells(**{**given, **axes})
    engine = None if pool else ToyEngine(Settings(threads=cells[0].suite.defaults.threads), timeout=1)
    with sweep_store(no_cache=True) as temporary:
        return sweep(cells, engine=engine, store=store or temporary, cluster=pool)


def three_by_two(files: Files, folder: Path) -> dict[str, Any]:
    others = [write_adapter(folder / f"other{seed}.gguf", lora_tensors(seed=seed)) for seed in (1, 2)]
    return {"adapter": [files.adapter, *others], "scale": [0.5, 1]}


def but_for_timing(found: Sweep) -> dict[str, Any]:
    data = found.model_dump(exclude={"timing"})
    for cell in data["cells"]:
        if cell["report"]:
            del cell["report"]["timing"], cell["report"]["provenance"]["answered_by"]
            del cell["report"]["provenance"]["llama_cpp"]
    return data


def times(asked: Path) -> Counter[str]:
    """How often each view answered each case."""
    return Counter(" ".join(file.name.split(" ")[:-2]) for file in asked.iterdir())


def test_a_sweep_on_two_workers_is_the_same_but_for_timing_and_nothing_is_asked_twice(
    files: Files, tmp_path: Path, pool: Pool, asked: Path
) -> None:
    axes = three_by_two(files, tmp_path)
    found = run(files, pool, **axes)
    counts = times(asked)
    workers = {file.name.split(" ")[-2] for file in asked.iterdir()}
    assert len(workers) == 2
    assert {name for name, many in counts.items() if name.startswith("base") and many > 1} == set()
    # Two scales, two null adapters each, two sentinels: once for all adapters of the shape.
    assert sum(many for name, many in counts.items() if name.startswith("null")) == 2 * 2 * 2
    assert sum(many for name, many in counts.items() if name.startswith("adapter")) == 6 * len(CASES)
    assert but_for_timing(found) == but_for_timing(run(files, None, **axes))


def test_the_report_says_which_machines_answered(files: Files, pool: Pool) -> None:
    import socket

    (cell,) = run(files, pool).cells
    assert cell.report is not None
    assert cell.report.provenance.answered_by == (socket.gethostname(),)


def test_what_is_in_the_store_is_not_asked_of_the_cluster(
    files: Files, pool: Pool, asked: Path, tmp_path: Path
) -> None:
    with Store(tmp_path / "store") as store:
        run(files, pool, store, scale=[0.5, 1])
        for file in asked.iterdir():
            file.unlink()
        run(files, pool, store, scale=[0.5, 1])
    assert list(asked.iterdir()) == []


def test_an_engine_that_fails_on_one_cell_is_an_error_in_its_place(files: Files, pool: Pool) -> None:
    found = run(files, pool, scale=[0.25, CRASHING, 0.5])
    assert [cell.verdict for cell in found.cells] == ["pass", "error", "pass"]
    assert "llama.cpp crashed (SIGSEGV)" in str(found.cells[1].reason)


def test_a_worker_with_another_file_under_the_same_path_is_refused(
    files: Files, pool: Pool, asked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller's store takes the file for another one: to the worker that is the same as having another one."""
    ours = "1" * 64
    real = Store.sha256_of
    monkeypatch.setattr(Store, "sha256_of", lambda self, path: ours if path == files.base else real(self, path))
    with pytest.raises(ModelError) as stopped:
        run(files, pool, scale=[0.5, 1])
    message = str(stopped.value)
    assert message.startswith("worker tcp://127.0.0.1:")
    assert f"{files.base} has sha256 " in message
    assert f"there and {ours} here; put the same file on both" in message
    assert list(asked.iterdir()) == []


def test_a_worker_without_the_file_is_refused(files: Files, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = ModelFile((("/nowhere/base.gguf", "2" * 64),))
    monkeypatch.setattr("loracheck.cluster.pool.model_file", lambda *_: nowhere)
    with pytest.raises(ModelError, match=r"worker tcp://.* on .*: there is no /nowhere/base\.gguf; put the file with"):
        run(files, pool)


def test_another_version_of_loracheck_is_refused(files: Files, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loracheck.cluster.pool.our_version", lambda: "99.0")
    with pytest.raises(InputError, match=r"worker tcp://.* has loracheck .*, and this is 99\.0; install the same"):
        run(files, pool)


def test_workers_are_told_apart_by_their_settings_and_share_the_cores(pool: Pool) -> None:
    assert pool.threads == max(1, (os.cpu_count() or 1) // 2)


def test_several_bases_are_found_by_path_on_the_workers(files: Files, pool: Pool, tmp_path: Path) -> None:
    other = write_model(tmp_path / "other.gguf", extra=[("add_uint32", "toy.other", 1)])
    found = run(files, pool, base=[files.base, other], scale=[0.5, 1])
    assert [(cell.base, cell.verdict) for cell in found.cells] == [
        ("base.gguf", "pass"),
        ("base.gguf", "fail"),
        ("other.gguf", "pass"),
        ("other.gguf", "fail"),
    ]


def test_a_worker_that_is_killed_in_the_middle_changes_nothing(
    tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = write_files(tmp_path)
    killed = tmp_path / "killed"
    monkeypatch.setenv(KILL_ONCE, str(killed))
    axes = three_by_two(files, tmp_path)
    with local_workers(2, open_engine=ToyEngine) as pool:
        found = run(files, pool, **axes)
    assert killed.exists()
    assert but_for_timing(found) == but_for_timing(run(files, None, **axes))


def test_a_task_that_kills_three_workers_is_the_error_of_its_cell_and_of_no_other(tmp_path: Path, log: Path) -> None:
    """Dask blames the tasks that waited on those workers as well."""
    files = write_files(tmp_path)
    with local_workers(2, open_engine=ToyEngine) as pool:
        found = run(files, pool, scale=[0.5, DEADLY, 1, 0.4, 0.3])
    assert [cell.verdict for cell in found.cells] == ["pass", "error", "fail", "pass", "pass"]
    assert "took down 3 workers, one after the other" in str(found.cells[1].reason)


def who_answered(asked: Path, view: str) -> dict[str, set[str]]:
    """The processes that answered for a view, by the adapter's scale."""
    found: dict[str, set[str]] = {}
    for file in asked.iterdir():
        name, scale, _, process, _ = file.name.split(" ")
        if name == view:
            found.setdefault(scale, set()).add(process)
    return found


@pytest.fixture(scope="module")
def two_kinds(log: Path) -> Iterator[Pool]:
    """Two workers whose engines differ."""
    with local_workers(2, open_engine=ToyEngine) as pool:
        for worker, kind in zip(pool._client.nthreads(), ("old", "new"), strict=True):
            pool._client.run(become, kind, workers=[worker])
        yield pool


def test_workers_that_differ_never_mix_within_a_cell(files: Files, two_kinds: Pool, asked: Path) -> None:
    found = run(files, two_kinds, scale=[0.1, 0.2, 0.3, 0.4, 0.5], null=False)
    assert len(two_kinds.groups) == 2
    assert {cell.verdict for cell in found.cells} == {"pass"}
    by_scale = who_answered(asked, "adapter")
    assert len(by_scale) == 5
    assert all(len(processes) == 1 for processes in by_scale.values())
    # Each kind has its own base to compare with, and asks it once.
    bases = who_answered(asked, "base")["0"]
    assert bases == set().union(*by_scale.values())
    assert sum(file.name.startswith("base") for file in asked.iterdir()) == len(bases) * len(CASES)


def test_a_cell_that_one_kind_of_workers_began_is_theirs_to_finish(
    files: Files, two_kinds: Pool, tmp_path: Path, asked: Path
) -> None:
    with Store(tmp_path / "store") as store:
        scales = [0.1, 0.2, 0.3, 0.4]
        run(files, two_kinds, store, scale=scales, null=False)
        before = len(list(asked.iterdir()))
        run(files, two_kinds, store, scale=scales, null=False)
    assert len(list(asked.iterdir())) == before


def test_a_worker_that_is_no_longer_what_it_was_is_not_asked(tmp_path: Path, asked: Path) -> None:
    files = write_files(tmp_path)
    with local_workers(2, open_engine=ToyEngine) as pool:
        pool.meet(Settings(), 1.0, [], print)
        (group,) = pool.groups
        first, _ = pool._client.nthreads()
        changed = pool._client.run(become, "another", workers=[first])[first]
        with ClusterEngine(pool, group, sha256_of, {}, "a test") as engine:
            for scale in (0.1, 0.2, 0.3, 0.4):
                view = View("adapter", files.base, (AdapterUse(files.adapter, scale),))
                assert len(list(engine.answer(view, [Prompt("case1", "Search.", 64)]))) == 1
    processes = set().union(*who_answered(asked, "adapter").values())
    assert processes
    assert str(changed) not in processes


class Interrupting(QuietProgress):
    """Presses Ctrl-C when the first cell is done."""

    def done(self, tokens: int | None) -> None:
        raise KeyboardInterrupt


def test_ctrl_c_cancels_what_is_queued_and_keeps_what_is_there(
    tmp_path: Path, asked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECONDS, "0.1")
    files = write_files(tmp_path)
    cells = build_cells(
        base=files.base, adapter=files.adapter, cases=CASES, null=False, scale=[n / 20 for n in range(1, 11)]
    )
    with Store(tmp_path / "store") as store, local_workers(2, open_engine=ToyEngine) as pool:
        with pytest.raises(KeyboardInterrupt):
            sweep(cells, store=store, cluster=pool, progress=Interrupting())
        time.sleep(0.5)
        answered = len(list(asked.iterdir()))
        time.sleep(0.5)
        assert len(list(asked.iterdir())) == answered < 11 * len(CASES)
        kept = store.count("answer")
    assert kept >= 2 * len(CASES)


def test_a_quantized_base_is_made_on_the_worker_and_must_be_the_same_file(
    files: Files, tmp_path: Path, asked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import loracheck.quantized

    monkeypatch.setattr(loracheck.quantized, "ChildQuantizer", None)
    quantize_with(1)
    with local_workers(2, open_engine=ToyEngine) as pool:
        pool._client.run(quantize_with, 1, tmp_path / "one")
        found = run(files, pool, quantize="Q8_0")
        assert [cell.verdict for cell in found.cells] == ["fail", "fail"]
        assert found.cells[1].report is not None
        assert found.cells[1].report.provenance.settings["quantize"] == "Q8_0"
        pool._client.run(quantize_with, 2, tmp_path / "two")
        found = run(files, pool, quantize="Q4_0")
    assert [cell.verdict for cell in found.cells] == ["fail", "error"]
    reason = str(found.cells[1].reason)
    assert reason.startswith("worker tcp://127.0.0.1:")
    assert "base.gguf quantized to Q4_0 has sha256 " in reason
    assert "is it another llama.cpp?" in reason


def test_a_cluster_that_is_there_is_used_by_its_address(files: Files, pool: Pool, asked: Path) -> None:
    with connected(pool._client.scheduler.address, ToyEngine) as other:
        found = run(files, other, scale=0.5)
    assert [cell.verdict for cell in found.cells] == ["pass"]
    assert list(asked.iterdir())


def test_an_address_where_nobody_answers_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loracheck.cluster.opening.CONNECT_SECONDS", 1)
    with (
        pytest.raises(InputError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"),
        connected("tcp://127.0.0.1:9"),
    ):
        pass


def test_without_dask_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loracheck.cluster.opening.find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"a cluster takes Dask: pip install 'loracheck\[cluster\]'"), local_workers(2):
        pass


def test_each_worker_on_a_machine_with_gpus_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loracheck.cluster.plugins.count_gpus", lambda: 2)
    with local_workers(2, on_gpus=True, open_engine=ToyEngine) as pool:
        shown = pool._client.run(shown_gpus)
    assert sorted(shown.values()) == ["0", "1"]
    with pytest.raises(InputError, match="there are 2 GPUs, and each worker takes one of its own"):
        local_workers(3, on_gpus=True).__enter__()


def test_what_runs_where_is_told(tmp_path: Path, asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECONDS, "0.3")
    told: list[str] = []

    class Listening(QuietProgress):
        def note(self, words: str) -> None:
            told.append(words)

    files = write_files(tmp_path)
    cells = build_cells(base=files.base, adapter=files.adapter, cases=CASES, null=False, scale=[0.4, 0.5])
    with sweep_store(no_cache=True) as store, local_workers(2, open_engine=ToyEngine) as pool:
        sweep(cells, store=store, cluster=pool, progress=Listening())
    assert any("127.0.0.1:" in words and "adapter.gguf, scale 0.5, adapter" in words for words in told)


def test_ctrl_c_in_the_terminal_reaches_the_workers_too_and_they_say_nothing(tmp_path: Path) -> None:
    env = {**os.environ, SECONDS: "0.2", "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-m", "cluster.long_sweep", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert "adapter.gguf, scale" in process.stdout.readline()
            os.killpg(process.pid, signal.SIGINT)
            _, said = process.communicate(timeout=60)
        finally:
            # One that hangs must not keep the test from ending.
            process.kill()
    assert (process.returncode, said) == (130, "")


def test_a_result_that_is_slow_to_arrive_takes_no_other_with_it(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch, pauses = pool._client._gather_remote, iter([0.6])

    async def fetch_slowly(*how: bool) -> Any:
        await asyncio.sleep(next(pauses, 0))
        return await fetch(*how)

    monkeypatch.setattr(pool._client, "_gather_remote", fetch_slowly)
    monkeypatch.setattr("loracheck.cluster.pool._TICK_SECONDS", 0.5)
    one, other = (pool._client.submit(int, digit) for digit in "12")
    assert (one.exception(), other.exception()) == (None, None)
    with ThreadPoolExecutor() as threads:
        first = threads.submit(pool._wait, one)
        # The second fetching joins the first, whose waiting is half over.
        time.sleep(0.25)
        second = threads.submit(pool._wait, other)
        assert (first.result(), second.result()) == (1, 2)


def test_nothing_is_asked_of_a_pool_that_was_stopped(files: Files, asked: Path) -> None:
    with local_workers(1, open_engine=ToyEngine) as pool:
        pool.stop()
        with pytest.raises(KeyboardInterrupt):
            run(files, pool)
    assert not times(asked)


def test_a_search_on_two_workers_finds_what_it_finds_here(files: Files, pool: Pool, asked: Path) -> None:
    suite = build_suite(base=files.base, adapter=files.adapter, cases=CASES[:8], null=False)
    there = locate(suite, cluster=pool)
    assert times(asked), "the workers answered"
    here = locate(suite, engine=ToyEngine(Settings(threads=suite.defaults.threads), timeout=1))
    assert there.ending == here.ending == "spread"
    assert there.found
    assert here.found
    assert there.found.scale == here.found.scale == 0.5
