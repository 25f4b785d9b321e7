"""Where a worker works: one engine that keeps its model loaded between tasks, and the adapters that came so far."""

from __future__ import annotations

import hashlib
import json
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

from distributed import get_worker
from distributed.worker import Worker

from loracheck.cluster.tasks import BEGUN, Carried, ModelFile, OtherEngineError, Task
from loracheck.engine import AdapterPart, AdapterUse, Engine, View
from loracheck.errors import InputError, ModelError
from loracheck.files import write_atomically
from loracheck.quantized import quantized
from loracheck.store import Store, store_path

_ATTRIBUTE = "loracheck_desk"
# Dask sends what workers have to tell every few milliseconds.
_SENT_SECONDS = 0.05


class NotWantedError(Exception):
    """Nobody waits for this task any more."""


class Desk:
    """Of one worker. llama.cpp runs in a child process here as everywhere."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        # A worker may have several threads; a model in memory has one user.
        self._lock = Lock()
        self._engine: Engine | None = None
        self._opened_for: tuple[Any, ...] = ()
        self._models: dict[ModelFile, tuple[Path, str]] = {}
        self._made = ExitStack()
        self._folder = Path(worker.local_directory) / "loracheck-adapters"

    @contextmanager
    def at_work(self, task: Task, contents: Sequence[bytes]) -> Iterator[tuple[Engine, View]]:
        """The engine, and the view of the task with the files that are here."""
        with self._lock:
            self._worker.log_event(BEGUN, self._worker.get_current_task())
            # Should this task be the death of us, the scheduler is to know which it was.
            time.sleep(_SENT_SECONDS)
            engine = self._engine_for(task)
            adapters = tuple(
                self._adapter(carried, content) for carried, content in zip(task.adapters, contents, strict=True)
            )
            yield engine, View(task.view, self._model(task.model), adapters, task.width)

    def confirm_wanted(self) -> None:
        """Work that was cancelled while it ran ends at the next answer."""
        key = self._worker.get_current_task()
        state = self._worker.state.tasks.get(key)
        if state is None or state.state == "cancelled":
            raise NotWantedError(key)

    def leave(self) -> None:
        """Nothing while somebody works."""
        if self._lock.acquire(blocking=False):
            try:
                if self._engine is not None:
                    self._engine.close()
                    self._engine = None
                self._models.clear()
                self._made.close()
            finally:
                self._lock.release()

    def _engine_for(self, task: Task) -> Engine:
        wanted = (task.settings, task.timeout, task.open_engine, task.digest)
        if self._engine is None or self._opened_for != wanted:
            if self._engine is not None:
                self._engine.close()
            self._engine = None
            engine = task.open_engine(task.settings, timeout=task.timeout)
            if digest_of(*hashed_identity(engine)) != task.digest:
                engine.close()
                raise OtherEngineError(f"{_here()} computes with another llama.cpp, CPU or settings")
            self._engine, self._opened_for = engine, wanted
        return self._engine

    def _model(self, file: ModelFile) -> Path:
        """The model by the caller's path, or made here; ModelError when it is not the same file."""
        known = self._models.get(file)
        if known and _signature(known[0]) == known[1]:
            return known[0]
        path = self._quantized(file) if file.made_from else _confirmed(file)
        self._models[file] = path, _signature(path)
        return path

    def _quantized(self, file: ModelFile) -> Path:
        assert file.made_from is not None
        assert file.quantization is not None
        base = _confirmed(file.made_from)
        path = self._made.enter_context(quantized(base, file.quantization, hash_of=hash_of))
        ((_, wanted),) = file.parts
        if (made := hash_of(path)) != wanted:
            raise ModelError(
                f"{_here()}: {base} quantized to {file.quantization} has sha256 {made} there and {wanted} here; "
                "is it another llama.cpp?"
            )
        return path

    def _adapter(self, carried: Carried, content: bytes) -> AdapterUse:
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{carried.sha256}.gguf"
        if not path.is_file():
            if (came := hashlib.sha256(content).hexdigest()) != carried.sha256:
                raise InputError(f"{_here()}: an adapter with sha256 {carried.sha256} arrived as {came}")
            write_atomically(path, content)
        if carried.made is None:
            return AdapterUse(path, carried.scale)
        if isinstance(carried.made, AdapterPart):
            return AdapterUse(replace(carried.made, of=path), carried.scale)
        return AdapterUse(replace(carried.made, like=path), carried.scale)


def desk() -> Desk:
    """The one of the worker that runs this task."""
    worker = get_worker()
    found = getattr(worker, _ATTRIBUTE, None)
    if found is None:
        found = Desk(worker)
        setattr(worker, _ATTRIBUTE, found)
    assert isinstance(found, Desk)
    return found


def leave_desk(worker: Worker) -> None:
    found = getattr(worker, _ATTRIBUTE, None)
    if found is not None:
        found.leave()


def hashed_identity(engine: Engine) -> tuple[Mapping[str, Any], tuple[tuple[str, str], ...]]:
    """Who answers: facts, and the files of its identity by name and content."""
    identity = engine.identity()
    return identity.facts, tuple((path.name, hash_of(path)) for path in identity.files)


def digest_of(facts: Mapping[str, Any], files: Sequence[tuple[str, str]]) -> str:
    spelled = json.dumps([facts, [list(file) for file in files]], sort_keys=True)
    return hashlib.sha256(spelled.encode()).hexdigest()


def hash_of(path: Path) -> str:
    """From this machine's store where it knows the file; what it writes there are hashes alone."""
    with Store(store_path()) as store:
        return store.sha256_of(path)


def _confirmed(file: ModelFile) -> Path:
    for path, wanted in file.parts:
        if not Path(path).is_file():
            raise ModelError(missing_file(_here(), path, wanted))
        if (found := hash_of(Path(path))) != wanted:
            raise ModelError(other_file(_here(), path, found, wanted))
    return Path(file.parts[0][0])


def missing_file(worker: str, path: str, wanted: str) -> str:
    return f"{worker}: there is no {path}; put the file with sha256 {wanted} there"


def other_file(worker: str, path: str, found: str, wanted: str) -> str:
    return f"{worker}: {path} has sha256 {found} there and {wanted} here; put the same file on both"


def _here() -> str:
    return f"worker {get_worker().address} on {socket.gethostname()}"


def _signature(path: Path) -> str:
    try:
        stat = path.stat()
    except OSError:
        return ""
    return f"{stat.st_dev}:{stat.st_ino}:{stat.st_size}:{stat.st_mtime_ns}:{stat.st_ctime_ns}"
