"""A sweep: read the plan of every cell, ask each on the one engine through the one store, judge it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from loracheck.ask import EFFECT_TEXT, Progress, ask
from loracheck.checking import confirm_unchanged, opened
from loracheck.engine import TIMEOUT, Engine, View
from loracheck.engine.stored import StoredEngine
from loracheck.errors import EngineError, InputError, LoracheckError, NoEffectError
from loracheck.judge import judge, judge_again
from loracheck.plan import Plan, engine_settings, read
from loracheck.progress import QuietProgress
from loracheck.results import Report
from loracheck.store import Store, user_store
from loracheck.sweeping.axes import Cell
from loracheck.sweeping.findings import curves_of, findings_of
from loracheck.sweeping.results import Figures, Sweep, SweepCell, figures_of, worst

Outcome: TypeAlias = "Report | LoracheckError"


def sweep(
    cells: Sequence[Cell],
    *,
    engine: Engine | None = None,
    store: Store,
    progress: Progress | None = None,
    timeout: float = TIMEOUT,
) -> Sweep:
    """Check every cell. A given engine stays open; without one, llama.cpp is opened in a child process, and closed.

    What cells have in common is asked once, because the store knows it from then on; it should be one that is on.
    """
    started = time.perf_counter()
    progress = progress or QuietProgress()
    progress.stage("reading", 0)
    plans = _read_all(cells, store)
    with opened(engine, engine_settings(cells[0].suite.defaults), timeout) as source:
        asking = _Asking(StoredEngine(store, source), store, progress, len(cells))
        outcomes = [
            plan if isinstance(plan, LoracheckError) else asking.outcome(number, cell, plan)
            for number, (cell, plan) in enumerate(zip(cells, plans, strict=True), 1)
        ]
    _raise_what_all_share(outcomes)
    # What no cell is about but all depend on, such as the llama.cpp library.
    cell_files = {file for plan in plans if isinstance(plan, Plan) for file in plan.files}
    confirm_unchanged(store, set(store.changed_files()) - cell_files)
    swept = tuple(_swept(cell, plan, outcome) for cell, plan, outcome in zip(cells, plans, outcomes, strict=True))
    timing = _timing(swept, time.perf_counter() - started)
    return build(swept, timing, tuple(store.warnings))


@contextmanager
def sweep_store(*, no_cache: bool) -> Iterator[Store]:
    """The user's store; without a cache, one that lives as long as the sweep."""
    if not no_cache:
        with user_store() as store:
            yield store
        return
    with TemporaryDirectory(prefix="loracheck-") as folder, Store(Path(folder) / "answers.sqlite") as store:
        yield store


def build(cells: Sequence[SweepCell], timing: dict[str, float], warnings: Sequence[str] = ()) -> Sweep:
    """The sweep that these cells make."""
    drawn = tuple(_at_the_bases_values(cell, cells) for cell in cells)
    curves = tuple(curves_of(drawn))
    return Sweep(
        loracheck_version=version("loracheck"),
        verdict=worst(drawn),
        findings=tuple(findings_of(drawn, curves)),
        cells=drawn,
        curves=curves,
        warnings=(*_shared_warnings(drawn), *warnings),
        timing=timing,
    )


def judge_sweep_again(sweep: Sweep, limits: dict[str, float]) -> Sweep:
    """The sweep that other limits would have given."""
    cells = [
        cell.model_copy(update={"report": again, "verdict": again.verdict, "figures": figures_of(again)})
        if cell.report and (again := judge_again(cell.report, limits))
        else cell
        for cell in sweep.cells
    ]
    return build(cells, sweep.timing)


# Reading


def _read_all(cells: Sequence[Cell], store: Store) -> list[Plan | LoracheckError]:
    """The plan of each cell, or what is wrong with it; InputError when that is so for all of them."""
    plans: list[Plan | LoracheckError] = []
    for cell in cells:
        try:
            plans.append(read(cell.suite, store))
        except InputError as error:
            plans.append(error)
    _raise_what_all_share(plans)
    return plans


def _raise_what_all_share(outcomes: Sequence[object]) -> None:
    """When no cell can be checked because of its input, there is no sweep to show."""
    errors = [outcome for outcome in outcomes if isinstance(outcome, InputError)]
    if len(errors) < len(outcomes):
        return
    messages = list(dict.fromkeys(map(str, errors)))
    raise errors[0] if len(messages) == 1 else InputError("\n".join(messages[:10]))


# Asking


class _Asking:
    """One engine for all cells."""

    def __init__(self, engine: StoredEngine, store: Store, progress: Progress, total: int) -> None:
        self._engine, self._store, self._progress, self._total = engine, store, progress, total
        self._broken: dict[View, EngineError] = {}

    def outcome(self, number: int, cell: Cell, plan: Plan) -> Outcome:
        if cell.is_bare:
            return NoEffectError("at scale 0 the adapter changes nothing")
        try:
            loaded_before = self._engine.load_seconds
            self._confirm_base(plan.views.base)
            answers = ask(plan, self._engine, _Numbered(self._progress, f"{number}/{self._total}"))
            # The engine counts for all cells.
            answers.load_seconds -= loaded_before
            confirm_unchanged(self._store, plan.files & set(self._store.changed_files()))
            return judge(plan, answers)
        except LoracheckError as error:
            return error

    def _confirm_base(self, base: View) -> None:
        """A base that llama.cpp can't run is tried once, not for every cell."""
        if base in self._broken:
            raise self._broken[base]
        try:
            self._engine.fingerprint(base, EFFECT_TEXT)
        except EngineError as error:
            self._broken[base] = error
            raise


class _Numbered:
    """Progress that says which cell it is about."""

    def __init__(self, progress: Progress, number: str) -> None:
        self._progress, self._number = progress, number

    def stage(self, name: str, total: int) -> None:
        self._progress.stage(f"{self._number} {name}", total)

    def done(self, tokens: int | None) -> None:
        self._progress.done(tokens)


# What came out


def _swept(cell: Cell, plan: Plan | LoracheckError, outcome: Outcome) -> SweepCell:
    placed = SweepCell(
        base=cell.base,
        adapter=cell.adapter,
        scale=cell.scale,
        run=cell.run,
        checkpoint=cell.checkpoint,
        verdict="error",
        size_bytes=None if isinstance(plan, LoracheckError) else sum(file.stat().st_size for file in plan.files),
    )
    if isinstance(outcome, Report):
        found: dict[str, Any] = {"verdict": outcome.verdict, "report": outcome, "figures": figures_of(outcome)}
    elif isinstance(outcome, NoEffectError):
        found = {"verdict": "skip", "reason": str(outcome)}
    else:
        found = {"reason": str(outcome)}
    return placed.model_copy(update=found)


def _at_the_bases_values(cell: SweepCell, cells: Sequence[SweepCell]) -> SweepCell:
    """A cell without effect is drawn where its base is."""
    if cell.has_effect:
        return cell
    beside = next((other.figures for other in cells if other.base == cell.base and other.report), Figures())
    return cell.model_copy(update={"figures": beside.of_base()})


def _shared_warnings(cells: Sequence[SweepCell]) -> Iterator[str]:
    reports = [cell.report for cell in cells if cell.report]
    for warning in reports[0].warnings if reports else ():
        if all(warning in report.warnings for report in reports):
            yield warning


def _timing(cells: Sequence[SweepCell], seconds: float) -> dict[str, float]:
    told = [cell.report.timing for cell in cells if cell.report]
    names = ("load_seconds", "answers_from_store", "answers_computed")
    return {**{name: sum(each[name] for each in told) for name in names}, "total_seconds": seconds}
