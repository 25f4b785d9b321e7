"""The cells of a sweep on a cluster: each waits for its answers in a thread, and the workers compute them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from queue import Empty, SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from loracheck.cluster.engine import ClusterEngine
from loracheck.cluster.pool import Group, Pool, Recipes
from loracheck.engine.stored import StoredEngine
from loracheck.plan import Plan
from loracheck.progress import QuietProgress
from loracheck.store import Store

if TYPE_CHECKING:
    from loracheck.sweeping.running import Outcome

Ask: TypeAlias = "Callable[[int, StoredEngine, ClusterEngine, QuietProgress], Outcome]"
"""What becomes of the cell of this number, asked through these."""

# While one cell of a worker is being judged, it answers another.
_CELLS_PER_WORKER = 2
_TICK_SECONDS = 1.0


class _Tokens(QuietProgress):
    """How many were generated for one cell; None while everything was in the store."""

    tokens: int | None = None

    def done(self, tokens: int | None) -> None:
        if tokens is not None:
            self.tokens = (self.tokens or 0) + tokens


class Cells:
    """Which cells are still to be asked, and by which kind of workers those were that have been begun."""

    def __init__(self, waiting: Sequence[int], begun_by: Callable[[int], str | None]) -> None:
        self._waiting = deque(waiting)
        self._begun_by = {number: begun_by(number) for number in waiting}
        self._lock = Lock()

    def take(self, group: Group) -> int | None:
        """The next one for workers of this kind; None when there is none left."""
        with self._lock:
            for number in self._waiting:
                if self._begun_by[number] in (None, group.digest):
                    self._waiting.remove(number)
                    return number
            return None


def ask_on_cluster(
    pool: Pool,
    plans: Sequence[Plan | None],
    names: Sequence[str],
    recipes: Recipes,
    store: Store,
    ask: Ask,
    progress: QuietProgress,
) -> dict[int, Outcome]:
    """The outcome of every cell that has a plan, by its number."""
    numbers = [number for number, plan in enumerate(plans) if plan]
    progress.stage("cells", len(numbers))
    outcomes: dict[int, Outcome] = {}
    finished: SimpleQueue[int | None] = SimpleQueue()

    def engine(group: Group, number: int) -> ClusterEngine:
        return ClusterEngine(pool, group, store.sha256_of, recipes, names[number])

    def begun_by(number: int) -> str | None:
        """A cell that was begun by one kind of workers is theirs to finish: others would begin anew."""
        plan = plans[number]
        if plan is None or len(pool.groups) < 2:
            return None
        for group in pool.groups:
            asked = next(each for each in plan.questions if each.view == plan.views.tuned)
            if any(StoredEngine(store, engine(group, number)).kept(asked.view, asked.prompts)):
                return group.digest
        return None

    cells = Cells(numbers, begun_by)

    def work(group: Group) -> None:
        while (number := cells.take(group)) is not None:
            counter = _Tokens()
            with engine(group, number) as source:
                outcomes[number] = ask(number, StoredEngine(store, source), source, counter)
            finished.put(counter.tokens)

    lanes = [group for group in pool.groups for _ in range(_CELLS_PER_WORKER * len(group.workers))]
    with ThreadPoolExecutor(len(lanes), thread_name_prefix="loracheck-cell") as threads:
        working = [threads.submit(work, group) for group in lanes]
        try:
            _watch(working, finished, pool, progress)
        except BaseException:
            # What is queued is cancelled, and the threads that wait for it end with that.
            pool.stop()
            raise
    return outcomes


def _watch(
    working: Sequence[Future[None]], finished: SimpleQueue[int | None], pool: Pool, progress: QuietProgress
) -> None:
    running: set[Future[None]] = set(working)
    while running:
        done, running = wait(running, timeout=_TICK_SECONDS, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
        try:
            while True:
                progress.done(finished.get_nowait())
        except Empty:
            pass
        progress.note("; ".join(pool.where()))
