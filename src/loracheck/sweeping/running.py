"""A sweep: read the plan of every cell, ask each on the one engine through the one store, judge it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from loracheck.ask import EFFECT_TEXT, Progress, ask
from loracheck.checking import about_quantizing, confirm_unchanged, opened
from loracheck.engine import TIMEOUT, Engine, Settings, View
from loracheck.engine.stored import StoredEngine
from loracheck.errors import EngineError, LoracheckError, NoEffectError
from loracheck.judge import judge
from loracheck.plan import Plan, engine_settings
from loracheck.progress import QuietProgress
from loracheck.results import Report, Verdict
from loracheck.store import Store, user_store
from loracheck.sweeping.axes import Cell
from loracheck.sweeping.building import build
from loracheck.sweeping.reading import Quantizing, Reading, Tell, raise_what_all_share
from loracheck.sweeping.results import Figures, Sweep, SweepCell, figures_of

if TYPE_CHECKING:
    from loracheck.cluster.engine import ClusterEngine
    from loracheck.cluster.pool import Pool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a cell came to: a report, or why there is none."""

    result: Report | LoracheckError
    size_bytes: int | None = None


def sweep(
    cells: Sequence[Cell],
    *,
    engine: Engine | None = None,
    store: Store,
    progress: QuietProgress | None = None,
    timeout: float = TIMEOUT,
    no_cache: bool = False,
    tell: Tell = None,
    cluster: Pool | None = None,
) -> Sweep:
    """Check every cell. A given engine stays open; without one, llama.cpp is opened in a child process, and closed.

    What cells have in common is asked once, because the store knows it from then on; it should be one that is on. With
    `no_cache`, models that are quantized on the way are gone afterwards; `tell` hears of them. A `cluster` answers
    instead of this machine; it stays open too.
    """
    started = time.perf_counter()
    progress = progress or QuietProgress()
    progress.stage("reading", 0)
    reading = Reading(store, is_llama_cpp=engine is None and cluster is None)
    plans = [reading.plan(cell) for cell in cells]
    raise_what_all_share(plans)
    with ExitStack() as made:
        quantizing = Quantizing(made, store, timeout, tell, no_cache=no_cache)
        plans = [reading.with_candidate(*each, quantizing) for each in zip(cells, plans, strict=True)]
        asking = _Asking(cells, plans, store)
        settings = engine_settings(cells[0].suite.defaults)
        if cluster is None:
            with opened(engine, settings, timeout) as source:
                outcomes = asking.one_by_one(StoredEngine(store, source), progress)
        else:
            asking.meet(cluster, settings, timeout, quantizing.recipes, tell)
            outcomes = asking.on_cluster(cluster, quantizing.recipes, progress)
    raise_what_all_share([outcome.result for outcome in outcomes])
    # What no cell is about but all depend on, such as the llama.cpp library.
    cell_files = {file for plan in plans if isinstance(plan, Plan) for file in plan.files}
    confirm_unchanged(store, set(store.changed_files()) - cell_files)
    swept = [_swept(cell, outcome) for cell, outcome in zip(cells, outcomes, strict=True)]
    return build(swept, _timing(swept, time.perf_counter() - started), store.warnings)


@contextmanager
def sweep_store(*, no_cache: bool) -> Iterator[Store]:
    """The user's store; without a cache, one that lives as long as the sweep."""
    if not no_cache:
        with user_store() as store:
            yield store
        return
    with TemporaryDirectory(prefix="loracheck-") as folder, Store(Path(folder) / "answers.sqlite") as store:
        yield store


# Asking


class _Asking:
    """What becomes of each cell."""

    def __init__(self, cells: Sequence[Cell], plans: Sequence[Plan | LoracheckError], store: Store) -> None:
        self._cells, self._plans, self._store = cells, plans, store
        self._broken: dict[View, EngineError] = {}

    def one_by_one(self, engine: StoredEngine, progress: Progress) -> list[Outcome]:
        total = len(self._cells)
        return [
            self._outcome(number, engine, _Numbered(progress, f"{number + 1}/{total}"), lambda report: report)
            for number in range(total)
        ]

    def meet(
        self, pool: Pool, settings: Settings, timeout: float, recipes: Mapping[Path, tuple[Path, str]], tell: Tell
    ) -> None:
        """Nothing is asked of workers that are not as they should be."""
        from loracheck.cluster.pool import model_file

        bases = dict.fromkeys(plan.views.base.model for plan in self._plans if isinstance(plan, Plan))
        models = [model_file(base, self._store.sha256_of, recipes) for base in bases]
        pool.meet(settings, timeout, models, tell or (lambda _: None))

    def on_cluster(
        self, pool: Pool, recipes: Mapping[Path, tuple[Path, str]], progress: QuietProgress
    ) -> list[Outcome]:
        """All of them at once, as far as there are workers."""
        from loracheck.sweeping.clustered import ask_on_cluster

        def ask_cell(number: int, engine: StoredEngine, source: ClusterEngine, counter: QuietProgress) -> Outcome:
            return self._outcome(number, engine, counter, lambda report: _answered_by(report, source))

        plans = [plan if isinstance(plan, Plan) else None for plan in self._plans]
        names = [", ".join((cell.adapter, f"scale {cell.scale:g}")) for cell in self._cells]
        asked = ask_on_cluster(pool, plans, names, recipes, self._store, ask_cell, progress)
        return [
            Outcome(plan) if isinstance(plan, LoracheckError) else asked[number]
            for number, plan in enumerate(self._plans)
        ]

    def _outcome(
        self, number: int, engine: StoredEngine, progress: Progress, finish: Callable[[Report], Report]
    ) -> Outcome:
        cell, plan = self._cells[number], self._plans[number]
        if isinstance(plan, LoracheckError):
            return Outcome(plan)
        size = sum(file.stat().st_size for file in plan.shipped_files)
        if cell.is_bare:
            return Outcome(NoEffectError("nothing is on that the base has not"), size)
        try:
            return Outcome(finish(self._report(plan, engine, progress)), size)
        except LoracheckError as error:
            return Outcome(error, size)

    def _report(self, plan: Plan, engine: StoredEngine, progress: Progress) -> Report:
        loaded_before = engine.load_seconds
        self._confirm_base(plan.views.base, engine)
        answers = ask(plan, engine, progress)
        # The engine may count for all cells.
        answers.load_seconds -= loaded_before
        confirm_unchanged(self._store, plan.files & set(self._store.changed_files()))
        report = judge(plan, answers)
        return report.model_copy(update={"warnings": (*report.warnings, *about_quantizing(plan.suite))})

    def _confirm_base(self, base: View, engine: StoredEngine) -> None:
        """A base that llama.cpp can't run is tried once, not for every cell."""
        if base in self._broken:
            raise self._broken[base]
        try:
            engine.fingerprint(base, EFFECT_TEXT)
        except EngineError as error:
            self._broken[base] = error
            raise


def _answered_by(report: Report, engine: ClusterEngine) -> Report:
    """The report says which machines were asked, and which llama.cpp they have."""
    who = engine.who
    told = {
        "answered_by": tuple(sorted(engine.machines)),
        "machine": who.system,
        "llama_cpp": who.facts.get("bindings"),
    }
    return report.model_copy(update={"provenance": report.provenance.model_copy(update=told)})


class _Numbered:
    """Progress that says which cell it is about."""

    def __init__(self, progress: Progress, number: str) -> None:
        self._progress, self._number = progress, number

    def stage(self, name: str, total: int) -> None:
        self._progress.stage(f"{self._number} {name}", total)

    def done(self, tokens: int | None) -> None:
        self._progress.done(tokens)


# What came out


def _swept(cell: Cell, outcome: Outcome) -> SweepCell:
    result = outcome.result
    report = result if isinstance(result, Report) else None
    verdict: Verdict = "skip" if isinstance(result, NoEffectError) else "error"
    return SweepCell(
        base=cell.base,
        quantization=cell.quantization,
        adapter=cell.adapter,
        scale=cell.scale,
        run=cell.run,
        checkpoint=cell.checkpoint,
        verdict=report.verdict if report else verdict,
        reason=None if report else str(result),
        size_bytes=outcome.size_bytes,
        figures=figures_of(report) if report else Figures(),
        report=report,
    )


def _timing(cells: Sequence[SweepCell], seconds: float) -> dict[str, float]:
    told = [cell.report.timing for cell in cells if cell.report]
    names = ("load_seconds", "answers_from_store", "answers_computed")
    return {**{name: sum(each[name] for each in told) for name in names}, "total_seconds": seconds}
