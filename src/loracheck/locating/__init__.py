"""Locate: a check, then a search for the part of the adapter that fails it, and what is left without that part.

It has no engine loop of its own: every view is asked through the store, so a run that was stopped goes on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from loracheck.ask import EFFECT_TEXT, Progress, ask
from loracheck.cases.suite import AdapterEntry, Suite
from loracheck.checking import check, confirm_known, confirm_unchanged, opened
from loracheck.engine import TIMEOUT, Engine
from loracheck.engine.stored import StoredEngine
from loracheck.errors import AdapterError, InputError
from loracheck.files import ELSEWHERE, replacing
from loracheck.judge import judge
from loracheck.locating.grid import Grid, grid_of
from loracheck.locating.located import Located, Writing
from loracheck.locating.search import BUDGET, LEAST_BUDGET, Mend, search
from loracheck.locating.views import Checked, PartViews
from loracheck.models.part import write_part
from loracheck.models.write_lora import check_target
from loracheck.outlook import announce, look_ahead
from loracheck.plan import Plan, read
from loracheck.progress import QuietProgress
from loracheck.results import Report
from loracheck.store import Store

if TYPE_CHECKING:
    from loracheck.cluster.pool import Pool

# Whether a part does harm is told by greedy answers; tries at every case would cost many times as much.
_GREEDY = {"trials": None, "temperature": None, "top_p": 1.0, "min_p": 0.0, "top_k": 0}

__all__ = ["BUDGET", "LEAST_BUDGET", "Located", "locate"]


def locate(
    suite: Suite,
    *,
    budget: int = BUDGET,
    write: Path | None = None,
    engine: Engine | None = None,
    store: Store | None = None,
    progress: QuietProgress | None = None,
    timeout: float = TIMEOUT,
    cluster: Pool | None = None,
) -> Located:
    """Find the part of the suite's adapter that breaks tool calling, with at most `budget` views beside the check.

    `write` names the file for a mended adapter, which is written when it passes the same check as the adapter did. A
    given engine stays open. A `cluster` answers instead of us.
    """
    started = time.perf_counter()
    store, progress = store or Store(), progress or QuietProgress()
    _confirm_one_adapter(suite, budget)
    suite = suite.with_defaults(**_GREEDY)
    progress.stage("loading", 0)
    plan = read(suite, store)
    if engine is None and cluster is None:
        confirm_known(plan)
    grid = grid_of(plan.adapters[-1].lora)
    _confirm_parts(plan, grid, write)
    with _opened(engine, cluster, plan, store, timeout) as source:
        asked = StoredEngine(store, source)
        announce(look_ahead(plan, asked), source, progress)
        answers = ask(plan, asked, progress)
        checked = Checked(plan, answers, _with_warnings(judge(plan, answers), store))
        located = _searched(checked, grid, asked, progress, budget)
        confirm_unchanged(store, store.changed_files())
        if write and located.found and located.found.mended:
            mend = located.found.mended.mend
            writing = _write(write, suite, checked, grid, mend, source, store, progress)
            located = replace(located, writing=writing)
    return replace(located, seconds=time.perf_counter() - started)


@contextmanager
def _opened(engine: Engine | None, cluster: Pool | None, plan: Plan, store: Store, timeout: float) -> Iterator[Engine]:
    if cluster is None:
        with opened(engine, plan.settings, timeout) as source:
            yield source
        return
    # Only where there is a cluster, there is Dask.
    from loracheck.cluster.engine import one_engine

    with one_engine(cluster, plan.settings, timeout, plan.views.base.model, store.sha256_of, "locate") as pooled:
        yield pooled


def _confirm_one_adapter(suite: Suite, budget: int) -> None:
    if suite.models.ft.gguf or suite.defaults.quantize:
        other = "models.ft.gguf" if suite.models.ft.gguf else "quantize"
        raise InputError(f"locate looks into an adapter on the base's own file; take out {other}")
    if len(suite.models.ft.adapters) != 1:
        names = ", ".join(str(entry.gguf) for entry in suite.models.ft.adapters)
        raise InputError(
            f"locate looks into one adapter, and there are {len(suite.models.ft.adapters)}: {names}; "
            "those that should stay as they are belong to the base (--base-adapter)"
        )
    if budget < LEAST_BUDGET:
        raise InputError(f"a budget of {budget} views finds nothing; give at least {LEAST_BUDGET}")


def _confirm_parts(plan: Plan, grid: Grid, write: Path | None) -> None:
    lora = plan.adapters[-1].lora
    if len(grid.places) < 2:
        only = f"only {next(iter(grid.places))}" if grid.places else "no tensor that llama.cpp uses"
        raise AdapterError(
            f"{lora.path}: the adapter changes {only}: there are no parts to tell apart; check it instead"
        )
    if write is not None:
        # Said before the work, not after it.
        check_target(write, tuple(adapter.lora.path for adapter in plan.adapters))


def _with_warnings(report: Report, store: Store) -> Report:
    return report.model_copy(update={"warnings": (*report.warnings, *store.warnings)})


def _searched(checked: Checked, grid: Grid, engine: Engine, progress: Progress, budget: int) -> Located:
    located = Located(checked.report, grid, budget)
    if located.ending != "nothing_broken" or not located.broken:
        return located
    views = PartViews(checked, grid, engine, progress)
    difference = views.compare_with_whole(EFFECT_TEXT)
    found = search(grid, views, budget)
    return replace(
        located,
        found=found,
        difference=difference,
        answers=views.answers,
        asked=(len(views.broken), len(views.others)),
    )


class _NotPassedError(Exception):
    """What was written is taken back."""


def _write(
    path: Path,
    suite: Suite,
    checked: Checked,
    grid: Grid,
    mend: Mend,
    engine: Engine,
    store: Store,
    progress: QuietProgress,
) -> Writing:
    """Written under another name, checked as a user would, and renamed only if it passes."""
    adapter = checked.adapter
    kept = [name for name in grid.places if name not in mend.removed]
    writing: Writing | None = None
    try:
        with suppress(_NotPassedError), replacing(path) as unproven:
            # A name that is taken does not count: it is ours.
            write_part(adapter.lora.path, unproven, kept, factor=mend.scale)
            entry = AdapterEntry(gguf=unproven, scale=adapter.entry.scale)
            report = check(suite.with_models(adapters=[entry]), engine=engine, store=store, progress=progress)
            writing = Writing(path, _named(report, path))
            if not writing.written:
                raise _NotPassedError
    except OSError as problem:
        raise InputError(f"{path}: cannot write the file: {problem.strerror or problem}; {ELSEWHERE}") from problem
    assert writing is not None
    return writing


def _named(report: Report, path: Path) -> Report:
    """With the name that the file has in the end."""
    records = tuple(record.model_copy(update={"path": str(path)}) for record in report.provenance.ft_adapters)
    return report.model_copy(update={"provenance": report.provenance.model_copy(update={"ft_adapters": records})})
