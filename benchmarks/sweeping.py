"""Many adapters on one base, in one of three ways. Usage: separately|here|workers WORKERS THREADS WORK..."""

from __future__ import annotations

import sys
import time

from contender import read_work, tell

from loracheck.cases.suite import Suite
from loracheck.checking import check
from loracheck.probes import suite_type
from loracheck.store import Store
from loracheck.sweeping.axes import Cell
from loracheck.sweeping.clusters import open_cluster
from loracheck.sweeping.running import sweep, sweep_store


def main() -> None:
    how, workers, threads, *works = sys.argv[1:]
    suites = [suite_type().model_validate(read_work(work).suite).with_defaults(threads=int(threads)) for work in works]
    began = time.perf_counter()
    if how == "separately":
        for suite in suites:
            check(suite, store=Store())
    else:
        swept(suites, int(workers) if how == "workers" else None)
    tell(seconds=time.perf_counter() - began)


def swept(suites: list[Suite], workers: int | None) -> None:
    cells = [
        Cell("base", None, suite.models.ft.adapters[0].gguf.name, 1.0, run=None, checkpoint=None, suite=suite)
        for suite in suites
    ]
    # The cluster's start counts: who sweeps waits for it.
    with open_cluster(None, workers, 0, None) as pool, sweep_store(no_cache=True) as store:
        found = sweep(cells, store=store, cluster=pool)
    failed = [cell.reason for cell in found.cells if cell.report is None]
    if failed:
        raise RuntimeError(f"a cell could not run: {failed[0]}")


if __name__ == "__main__":
    main()
