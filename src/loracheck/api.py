"""The Python API: what the command line does, for scripts, notebooks and tests."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

from loracheck import checking, locating, results
from loracheck.cases.case import Case
from loracheck.cases.suite import Suite
from loracheck.engine import TIMEOUT, Engine
from loracheck.errors import InputError
from loracheck.progress import notebook_or_terminal_progress
from loracheck.report import FORMS, write_text
from loracheck.report import diff as comparing
from loracheck.report import save as save_report
from loracheck.report.json import read_report as read_report_file
from loracheck.report.locate import render as render_located
from loracheck.report.locate import save_located
from loracheck.report.redact import redact, redact_sweep
from loracheck.report.sweep import SWEEP_FORMS, save_sweep
from loracheck.report.sweep.json import read_sweep as read_sweep_file
from loracheck.store import user_store
from loracheck.suites import Adapters, AnyPath, Tools, build_suite, load_suite
from loracheck.sweeping import results as sweep_results
from loracheck.sweeping import running
from loracheck.sweeping.axes import Several, build_cells, confirm_number, with_threads
from loracheck.sweeping.clusters import open_cluster
from loracheck.sweeping.running import sweep_store

__all__ = ["Located", "Report", "Sweep", "check", "diff", "load_suite", "locate", "read_report", "read_sweep", "sweep"]


class Report(results.Report):
    """What a check found, with ways to keep and show it."""

    @property
    def passed(self) -> bool:
        return self.verdict in ("pass", "warn")

    def save(self, path: AnyPath) -> None:
        """Write it to a file, in the form of the file's ending: .json, .html, .md, .xml (JUnit) or .svg (badge)."""
        save_report(self, Path(path))

    def redact(self) -> Report:
        """The same without prompts, answers, paths and names, to show it to others."""
        return _shown(redact(self))

    def _repr_html_(self) -> str:
        """In a notebook: the page itself, in a frame of its own, so that its style stays inside."""
        return _framed(FORMS["html"].render(self))


class Sweep(sweep_results.Sweep):
    """What a sweep found: its `cells`, and ways to keep and show them."""

    def save(self, path: AnyPath) -> None:
        """Write it to a file, in the form of its ending: .json, .html, .md, .csv, .xml (JUnit) or .svg (badge)."""
        save_sweep(self, Path(path))

    def redact(self) -> Sweep:
        """The same without prompts, answers, paths and names, to show it to others."""
        return _shown_sweep(redact_sweep(self))

    def to_csv(self, path: AnyPath | None = None) -> str:
        """A line for each cell; written to a file as well where one is named."""
        text = SWEEP_FORMS["csv"].render(self)
        if path is not None:
            write_text(Path(path), text)
        return text

    def _repr_html_(self) -> str:
        """In a notebook: the page itself, in a frame of its own."""
        return _framed(SWEEP_FORMS["html"].render(self))


class Located(locating.Located):
    """What a search for the harmful part of an adapter found, with ways to keep and show it."""

    def save(self, path: AnyPath) -> None:
        """Write it to a file, in the form of the file's ending: .json, .html or .md."""
        save_located(self, Path(path))

    def _repr_html_(self) -> str:
        return _framed(render_located(self, "html"))


def check(
    suite: Suite | AnyPath | None = None,
    *,
    base: AnyPath | None = None,
    adapter: Adapters = (),
    base_adapter: Adapters = (),
    candidate: AnyPath | None = None,
    quantize: str | None = None,
    cases: AnyPath | Sequence[Case] | None = None,
    tools: Tools | None = None,
    null: bool = True,
    null_runs: int | None = None,
    prompt: Literal["chat", "raw"] | None = None,
    dialect: str | None = None,
    thinking: bool | None = None,
    template_args: Mapping[str, Any] | None = None,
    template: Literal["own", "base"] | None = None,
    schema: Literal["basic", "strict"] | None = None,
    max_new_tokens: int | None = None,
    n_ctx: int | None = None,
    threads: int | None = None,
    gpu_layers: int | None = None,
    parallel: int | None = None,
    flips: bool | None = None,
    drift: bool | None = None,
    trials: int | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    top_k: int | None = None,
    seed: int | None = None,
    timeout: float = TIMEOUT,
    cache: bool = True,
    progress: bool = True,
    engine: Engine | None = None,
) -> Report:
    """Check whether an adapter, or another model, still calls tools the way its base does.

    Everything may come from a suite file, from keywords, or from both: keywords win. They mean what the options of
    `loracheck check` do. `adapter` and `base_adapter` take a path or PATH@SCALE, one or several, which stack;
    `candidate` is another model file to check, `quantize` a type such as "Q4_K_M" to check the base in; `cases` is a
    file, the name of a pack, or cases; `tools` a file or tools, for the cases that name none. What is wrong raises a
    `LoracheckError`.

    Answers come from the user's store and go there unless `cache` is off. `engine` answers instead of llama.cpp, and is
    not closed.
    """
    built = build_suite(
        suite,
        base=base,
        adapter=adapter,
        base_adapter=base_adapter,
        candidate=candidate,
        quantize=quantize,
        cases=cases,
        tools=tools,
        null=null,
        null_runs=null_runs,
        prompt=prompt,
        dialect=dialect,
        thinking=thinking,
        template_args=template_args,
        template=template,
        schema=schema,
        max_new_tokens=max_new_tokens,
        n_ctx=n_ctx,
        threads=threads,
        gpu_layers=gpu_layers,
        parallel=parallel,
        flips=flips,
        drift=drift,
        trials=trials,
        temperature=temperature,
        top_p=top_p,
        min_p=min_p,
        top_k=top_k,
        seed=seed,
    )
    with user_store(no_cache=not cache) as store, notebook_or_terminal_progress(quiet=not progress) as bar:
        return _shown(checking.check(built, engine=engine, store=store, progress=bar, timeout=timeout))


def sweep(
    suite: Suite | AnyPath | None = None,
    *,
    base: Several = (),
    adapter: Several = (),
    scale: float | Sequence[float] = (),
    quantize: str | Sequence[str] = (),
    base_adapter: Adapters = (),
    cases: AnyPath | Sequence[Case] | None = None,
    tools: Tools | None = None,
    null: bool = True,
    null_runs: int | None = None,
    cluster: str | None = None,
    workers: int | None = None,
    yes: bool = False,
    timeout: float = TIMEOUT,
    cache: bool = True,
    progress: bool = True,
    engine: Engine | None = None,
    **settings: Any,
) -> Sweep:
    """Check every combination of bases, adapters and scales; what they share is asked once.

    `base`, `adapter`, `scale` and `quantize` take one or several. Several adapters are alternatives, `+` joins a stack
    (`"a.gguf+b.gguf@0.5"`), and a training output folder stands for its checkpoints. The axes may also come from the
    `sweep` section of a suite file. More than 200 cells take `yes`. The other keywords, `settings` too, are those of
    `check`.

    A `cluster`, by the address of a Dask scheduler, or so many `workers` on this machine answer instead of us.
    Workers are started as processes that import the main script anew: there, call it under `if __name__ == "__main__"`.
    """
    if cluster and workers:
        raise InputError("cluster and workers exclude each other; give one of them")
    cells = build_cells(
        suite,
        base=base,
        adapter=adapter,
        scale=scale,
        quantize=quantize,
        base_adapter=base_adapter,
        cases=cases,
        tools=tools,
        null=null,
        null_runs=null_runs,
        **settings,
    )
    confirm_number(cells, yes=yes)
    with open_cluster(cluster, workers, cells[0].suite.defaults.gpu_layers, tell=None) as pool:
        if pool and settings.get("threads") is None:
            cells = with_threads(cells, pool.threads)
        with sweep_store(no_cache=not cache) as store, notebook_or_terminal_progress(quiet=not progress) as bar:
            found = running.sweep(
                cells,
                engine=engine,
                store=store,
                progress=bar,
                timeout=timeout,
                no_cache=not cache,
                cluster=pool,
            )
    return _shown_sweep(found)


def locate(
    suite: Suite | AnyPath | None = None,
    *,
    base: AnyPath | None = None,
    adapter: Adapters = (),
    base_adapter: Adapters = (),
    cases: AnyPath | Sequence[Case] | None = None,
    tools: Tools | None = None,
    budget: int = locating.BUDGET,
    write: AnyPath | None = None,
    cluster: str | None = None,
    workers: int | None = None,
    timeout: float = TIMEOUT,
    cache: bool = True,
    progress: bool = True,
    engine: Engine | None = None,
    **settings: Any,
) -> Located:
    """Find which layers and modules of an adapter break tool calling, and what is left without them.

    It begins with a check, and takes what `check` does. `budget` is how many views of parts are tried at the most;
    `write` names a file for a mended adapter, which is written only if it passes on all cases. `cluster` and `workers`
    are those of `sweep`.
    """
    built = build_suite(
        suite, base=base, adapter=adapter, base_adapter=base_adapter, cases=cases, tools=tools, **settings
    )
    mended = None if write is None else Path(write).expanduser()
    if cluster and workers:
        raise InputError("cluster and workers exclude each other; give one of them")
    with open_cluster(cluster, workers, built.defaults.gpu_layers, tell=None) as pool:
        if pool and settings.get("threads") is None:
            built = built.with_defaults(threads=pool.threads)
        with user_store(no_cache=not cache) as store, notebook_or_terminal_progress(quiet=not progress) as bar:
            located = locating.locate(
                built,
                budget=budget,
                write=mended,
                engine=engine,
                store=store,
                progress=bar,
                timeout=timeout,
                cluster=pool,
            )
    return Located(**{field.name: getattr(located, field.name) for field in fields(located)})


def read_report(path: AnyPath) -> Report:
    """A report that was saved as JSON."""
    return _shown(read_report_file(Path(path)))


def read_sweep(path: AnyPath) -> Sweep:
    """A sweep that was saved as JSON."""
    return _shown_sweep(read_sweep_file(Path(path)))


def diff(a: results.Report | AnyPath, b: results.Report | AnyPath) -> comparing.Diff:
    """Two reports side by side: what flipped, how sure that is, and whether B is worse than A."""
    first, second = (read_report(each) if isinstance(each, str | os.PathLike) else each for each in (a, b))
    return comparing.diff(first, second)


def _framed(page: str) -> str:
    """In a frame of its own, so that its style stays inside."""
    source = page.replace("&", "&amp;").replace('"', "&quot;")
    return f'<iframe sandbox="allow-scripts" srcdoc="{source}" style="width: 100%; height: 40em; border: 0"></iframe>'


def _shown(report: results.Report) -> Report:
    return Report.model_construct(**dict(report))


def _shown_sweep(found: sweep_results.Sweep) -> Sweep:
    cells = tuple(
        cell.model_copy(update={"report": _shown(cell.report)}) if cell.report else cell for cell in found.cells
    )
    return Sweep.model_construct(**{**dict(found), "cells": cells})
