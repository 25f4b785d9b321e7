"""Clusters to work on: one that is there, or one of our own on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from loracheck.cluster.pool import Pool
from loracheck.cluster.tasks import OpenEngine
from loracheck.engine.child import ChildEngine
from loracheck.errors import InputError

MISSING = "a cluster takes Dask: pip install 'loracheck[cluster]'"

# A task that kills as many workers is given up.
MOST_KILLED = 3
CONNECT_SECONDS = 30


@contextmanager
def connected(address: str, open_engine: OpenEngine = ChildEngine) -> Iterator[Pool]:
    """A cluster that is there already. Certificates and the like come from Dask's own settings."""
    _confirm_dask()
    from distributed import Client

    with _quiet_dask():
        try:
            client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise InputError(f"no Dask scheduler answers at {address}: {error}; is it running?") from None
        with client, Pool(client, open_engine) as pool:
            yield pool


@contextmanager
def local_workers(count: int, *, on_gpus: bool = False, open_engine: OpenEngine = ChildEngine) -> Iterator[Pool]:
    """A cluster on this machine, for as long as the block is; nobody else can reach it.

    Where there are several GPUs to use, each worker has one of its own.
    """
    _confirm_dask()
    one_gpu_each = on_gpus and _confirm_gpus(count) > 1
    import dask
    from distributed import Client, LocalCluster

    from loracheck.cluster.plugins import DeafToCtrlC, OneGpuEach

    settings = {"distributed.scheduler.allowed-failures": MOST_KILLED - 1}
    with (
        _quiet_dask(),
        dask.config.set(settings),
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            # The models are in children of the workers, which Dask does not count.
            memory_limit=0,
            # Any free port: another sweep may be running.
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        for plugin in (DeafToCtrlC(), *([OneGpuEach()] if one_gpu_each else ())):
            client.register_plugin(plugin)
        with Pool(client, open_engine) as pool:
            yield pool


@contextmanager
def _quiet_dask() -> Iterator[None]:
    import dask

    # An adapter is larger than what Dask expects in a task, and should be.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "10GB"}):
        yield


def _confirm_gpus(workers: int) -> int:
    """How many there are; InputError when workers would have to share them."""
    from loracheck.cluster.plugins import count_gpus

    gpus = count_gpus()
    if 0 < gpus < workers:
        raise InputError(
            f"--workers {workers}: there are {gpus} GPUs, and each worker takes one of its own; give --workers {gpus}"
        )
    return gpus


def _confirm_dask() -> None:
    if find_spec("distributed") is None:
        raise InputError(MISSING)
