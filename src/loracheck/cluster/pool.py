"""The workers of a cluster: who they are, which of them are alike, and what they are asked."""

from __future__ import annotations

import hashlib
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from loracheck.cluster import tasks
from loracheck.cluster.tasks import Done, ModelFile, OpenEngine, OtherEngineError, Task, Who
from loracheck.engine import Settings
from loracheck.engine.child import ChildEngine
from loracheck.errors import EngineError, InputError, LoracheckError, ModelError
from loracheck.models.model import parts_of_model
from loracheck.text import counted

if TYPE_CHECKING:
    from distributed import Client, Future

    Tell = Callable[[str], None]

Recipes: TypeAlias = Mapping[Path, tuple[Path, str]]
"""Of each quantized model, the base that it is made from, and the type."""

# How long a cluster may be without any worker that could answer.
PATIENCE_SECONDS = 120.0
_TICK_SECONDS = 1.0
_MOST_RETRIES = 5
# Results that another cell may be about to ask for.
_MOST_KEPT = 64


@dataclass(frozen=True, slots=True)
class Group:
    """Workers that compute the same bits: same llama.cpp, same CPU features, same settings."""

    who: Who
    """One of them, for all."""
    workers: tuple[str, ...]
    """By address."""

    @property
    def digest(self) -> str:
        return self.who.digest


class Pool:
    """The workers of one cluster, for one sweep. Close it, or use it in a `with` block."""

    def __init__(self, client: Client, open_engine: OpenEngine = ChildEngine) -> None:
        self._client = client
        self.open_engine = open_engine
        self._lock = Lock()
        self._pending: dict[str, tuple[Future[Any], str]] = {}
        self._handles: dict[str, Future[tasks.ModelOnWorker]] = {}
        self._kept: OrderedDict[str, Done] = OrderedDict()
        self._stopped = False
        self.settings, self.timeout = Settings(), 0.0
        self.groups: tuple[Group, ...] = ()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.stop()
        with suppress(Exception):
            # Politeness: a worker that is gone, or busy for others, keeps what it has.
            self._client.run(tasks.go_home, on_error="ignore")

    @property
    def threads(self) -> int:
        """As many for each worker that those of one machine do not fight over its cores."""
        hosts: dict[str, list[Who]] = {}
        for who in self._everybody(Settings(), 1.0).values():
            hosts.setdefault(who.machine, []).append(who)
        return max(1, min(each[0].cores // len(each) for each in hosts.values()))

    @property
    def dashboard(self) -> str:
        """A link; where bokeh is missing, the page says so."""
        return str(self._client.dashboard_link)

    # Who is there

    def meet(self, settings: Settings, timeout: float, models: Sequence[ModelFile], tell: Tell) -> None:
        """Learn who the workers are; InputError for one that has another loracheck or not the same model files."""
        self.settings, self.timeout = settings, timeout
        everybody = self._everybody(settings, timeout)
        self._confirm_files(everybody, models)
        self.groups = _alike(everybody)
        machines = ", ".join(dict.fromkeys(who.machine for who in everybody.values()))
        tell(f"{counted(len(everybody), 'worker')} on {machines}")
        if len(self.groups) > 1:
            tell(f"they are of {len(self.groups)} kinds, which never mix within a cell")

    def _everybody(self, settings: Settings, timeout: float) -> dict[str, Who]:
        self._client.wait_for_workers(1, timeout=PATIENCE_SECONDS)
        told = self._client.run(tasks.who_are_you, settings, timeout, self.open_engine, on_error="return")
        ours = our_version()
        for worker, who in told.items():
            if isinstance(who, LoracheckError):
                raise who
            if not isinstance(who, Who):
                raise InputError(f"worker {worker}: loracheck does not run there: {who}; install version {ours}")
            if who.version != ours:
                raise InputError(
                    f"worker {worker} on {who.machine} has loracheck {who.version}, and this is {ours}; "
                    "install the same version on both"
                )
        return dict(told)

    def _confirm_files(self, everybody: Mapping[str, Who], models: Sequence[ModelFile]) -> None:
        from loracheck.cluster.desk import missing_file, other_file

        for model in models:
            # Hashing takes its time: in the workers' own threads, all at once.
            looks = {
                worker: self._client.submit(tasks.what_is_there, model, workers=[worker], pure=False)
                for worker in everybody
            }
            for worker, look in looks.items():
                name = f"worker {worker} on {everybody[worker].machine}"
                for (path, wanted), found in zip(model.parts, look.result(), strict=True):
                    if found is None:
                        raise ModelError(missing_file(name, path, wanted))
                    if found != wanted:
                        raise ModelError(other_file(name, path, found, wanted))

    # What they are asked

    @contextmanager
    def carrying(self, path: Path, sha256: str) -> Iterator[Future[bytes]]:
        """An adapter's content on the cluster, for as long as the block is."""
        future = self._client.submit(
            tasks.carried_content, path.read_bytes(), key=f"loracheck-adapter-{sha256}", pure=True
        )
        try:
            yield future
        finally:
            future.release()

    def ask(
        self, what: str, task: Task, question: Any, contents: Sequence[Future[bytes]], key: str, words: str
    ) -> Done:
        """`what` is the function of tasks.py. The same key is the same work, which is done once."""
        key = f"loracheck-{what}-{key}"
        for _ in range(_MOST_RETRIES):
            self._confirm_going_on()
            with self._lock:
                if key in self._kept:
                    return self._kept[key]
            try:
                done = self._wait(self._submit(what, task, question, contents, key, words))
            except OtherEngineError:
                # A worker came or changed since we met: who is there now?
                self._meet_again()
                continue
            finally:
                with self._lock:
                    self._pending.pop(key, None)
            self._keep(key, done)
            return done
        raise EngineError(f"{words}: no worker is left that computes as the others did")

    def _submit(
        self, what: str, task: Task, question: Any, contents: Sequence[Future[bytes]], key: str, words: str
    ) -> Future[Done]:
        workers = None
        if len(self.groups) > 1:
            workers = [worker for group in self.groups if group.digest == task.digest for worker in group.workers]
        future = self._client.submit(
            getattr(tasks, what), self._handle(task, workers), task, question, *contents, key=key, workers=workers
        )
        with self._lock:
            self._pending[key] = future, words
        return future

    def _handle(self, task: Task, workers: list[str] | None) -> Future[tasks.ModelOnWorker]:
        """Kept until the pool is closed: what Dask knows of who has a model, it knows by this."""
        key = f"loracheck-model-{_digest(repr(task.model))}-{task.digest[:12]}"
        with self._lock:
            if key not in self._handles:
                made = self._client.submit(tasks.model_on_worker, task.model, task.model.size, key=key, workers=workers)
                self._handles[key] = made
            return self._handles[key]

    def _wait(self, future: Future[Done]) -> Done:
        from distributed import CancelledError, KilledWorker
        from distributed import TimeoutError as NotYet

        tries, alone_since = _MOST_RETRIES, None
        while True:
            try:
                future.exception(timeout=_TICK_SECONDS)
                # Only now, and with patience: when its time is up, it cancels a fetching that other threads share.
                done: Done = future.result(timeout=PATIENCE_SECONDS)
                return done
            except NotYet:
                # It may have been submitted while the others were being cancelled.
                self._confirm_going_on()
                if self._client.status != "running":
                    raise EngineError("the connection to the cluster was lost") from None
                alone_since = (alone_since or time.monotonic()) if not self._client.nthreads() else None
                if alone_since and time.monotonic() - alone_since > PATIENCE_SECONDS:
                    raise EngineError(f"the cluster has had no worker for {PATIENCE_SECONDS:.0f} s") from None
            except KilledWorker as killed:
                if self._begun(str(killed.task)) > killed.allowed_failures or not tries:
                    raise EngineError(
                        f"{self._words(future)} took down {killed.allowed_failures + 1} workers, one after the other, "
                        f"the last one {killed.last_worker.address}"
                    ) from None
                tries -= 1
                with self._lock:
                    if future.status == "error":
                        future.retry()
            except CancelledError:
                self._confirm_going_on()
                raise EngineError("the cluster dropped the task; was it restarted?") from None

    def _confirm_going_on(self) -> None:
        if self._stopped:
            raise KeyboardInterrupt

    def _begun(self, key: str) -> int:
        """How often a worker set to work on it. Dask blames a worker's death on all that was waiting there too."""
        return sum(begun == key for _, begun in self._client.get_events(tasks.BEGUN))

    def _words(self, future: Future[Any]) -> str:
        return self._pending.get(str(future.key), (None, "a task"))[1]

    def _meet_again(self) -> None:
        self.groups = _alike(self._everybody(self.settings, self.timeout))

    def _keep(self, key: str, done: Done) -> None:
        with self._lock:
            self._kept[key] = done
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)

    def where(self) -> list[str]:
        """What is running on which worker, in words."""
        with suppress(Exception):
            processing = self._client.processing()
            with self._lock:
                known = {key: words for key, (_, words) in self._pending.items()}
            return [
                f"{worker.rpartition('/')[2]}: {words}"
                for worker, keys in sorted(processing.items())
                if (words := next((known[key] for key in keys if key in known), None))
            ]
        return []

    def stop(self) -> None:
        """Cancel what is queued, and what runs."""
        self._stopped = True
        with self._lock:
            pending = [future for future, _ in self._pending.values()]
        if pending:
            with suppress(Exception):
                self._client.cancel(pending, force=True)


def our_version() -> str:
    return version("loracheck")


def _alike(everybody: Mapping[str, Who]) -> tuple[Group, ...]:
    """The largest group first."""
    groups: dict[str, list[str]] = {}
    for worker, who in everybody.items():
        groups.setdefault(who.digest, []).append(worker)
    ordered = sorted(groups.values(), key=len, reverse=True)
    return tuple(Group(everybody[workers[0]], tuple(workers)) for workers in ordered)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def model_file(path: Path, hash_of: Callable[[Path], str], recipes: Recipes) -> ModelFile:
    """A model as a worker must find it, or make it."""
    base, kind = recipes.get(path, (None, None))
    parts = tuple((os.fspath(part.absolute()), hash_of(part)) for part in parts_of_model(path))
    return ModelFile(parts, None if base is None else model_file(base, hash_of, recipes), kind)
