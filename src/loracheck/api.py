"""The Python API: what the command line does, for scripts, notebooks and tests."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from loracheck import checking, results
from loracheck.cases.case import Case
from loracheck.cases.suite import Suite
from loracheck.engine import TIMEOUT, Engine
from loracheck.progress import notebook_or_terminal_progress
from loracheck.report import FORMS
from loracheck.report import diff as comparing
from loracheck.report import save as save_report
from loracheck.report.json import read_report as read_report_file
from loracheck.store import user_store
from loracheck.suites import Adapters, AnyPath, Tools, build_suite, load_suite

__all__ = ["Report", "check", "diff", "load_suite", "read_report"]


class Report(results.Report):
    """What a check found, with ways to keep and show it."""

    @property
    def passed(self) -> bool:
        return self.verdict in ("pass", "warn")

    def save(self, path: AnyPath) -> None:
        """Write it to a file, in the form of the file's ending: .json, .html, .md or .xml (JUnit)."""
        save_report(self, Path(path))

    def _repr_html_(self) -> str:
        """In a notebook: the page itself, in a frame of its own, so that its style stays inside."""
        page = FORMS["html"].render(self).replace("&", "&amp;").replace('"', "&quot;")
        return f'<iframe sandbox="allow-scripts" srcdoc="{page}" style="width: 100%; height: 40em; border: 0"></iframe>'


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


def read_report(path: AnyPath) -> Report:
    """A report that was saved as JSON."""
    return _shown(read_report_file(Path(path)))


def diff(a: results.Report | AnyPath, b: results.Report | AnyPath) -> comparing.Diff:
    """Two reports side by side: what flipped, how sure that is, and whether B is worse than A."""
    first, second = (read_report(each) if isinstance(each, str | os.PathLike) else each for each in (a, b))
    return comparing.diff(first, second)


def _shown(report: results.Report) -> Report:
    return Report.model_construct(**dict(report))
