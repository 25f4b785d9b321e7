"""The cluster that a sweep is to run on: one that is there, one for the time being, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loracheck.cluster.pool import Pool


@contextmanager
def open_cluster(
    address: str | None, workers: int | None, gpu_layers: int, tell: Callable[[str], None] | None
) -> Iterator[Pool | None]:
    """None when neither an address nor a number of workers is given: then Dask is not needed, or imported."""
    if not address and not workers:
        yield None
        return
    from loracheck.cluster.opening import connected, local_workers

    with connected(address) if address else local_workers(workers or 1, on_gpus=gpu_layers != 0) as pool:
        if tell:
            tell(f"dashboard: {pool.dashboard}")
        yield pool
