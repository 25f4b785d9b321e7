"""What travels to a worker and back: plain data, and the functions that Dask calls there."""

from __future__ import annotations

import os
import platform
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from loracheck.engine import AdapterPart, Completion, Engine, Fingerprint, NullAdapter, Prompt, Settings

if TYPE_CHECKING:
    from distributed import Worker

BEGUN = "loracheck-begun"
"""Where Dask keeps the keys of the tasks that workers set to work on."""

OpenEngine: TypeAlias = Callable[..., Engine]
"""Called with the settings and a `timeout`; a worker imports it by its name."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model as the caller knows it: every part by its path and its SHA-256."""

    parts: tuple[tuple[str, str], ...]
    made_from: ModelFile | None = None
    """The model that this one is quantized from, which the worker does for itself."""
    quantization: str | None = None

    @property
    def size(self) -> int:
        return sum(Path(path).stat().st_size for path, _ in self.parts)


@dataclass(frozen=True, slots=True)
class Carried:
    """An adapter whose content travels: a file, noise in the shape of one, or a part of one."""

    sha256: str
    scale: float
    made: NullAdapter | AdapterPart | None = None
    """What is made of the file, wherever that is on the worker; None for the file itself."""


@dataclass(frozen=True, slots=True)
class Task:
    """One view on one model, and what answers."""

    view: str
    """For people."""
    model: ModelFile
    adapters: tuple[Carried, ...]
    width: int | None
    settings: Settings
    timeout: float
    digest: str
    """Of the identity that the worker must have."""
    open_engine: OpenEngine


@dataclass(frozen=True, slots=True)
class Done:
    """What a worker found, and who it is."""

    value: Any
    machine: str
    load_seconds: float


@dataclass(frozen=True, slots=True)
class Who:
    """A worker's account of itself."""

    version: str
    machine: str
    system: str
    cores: int
    digest: str
    facts: Mapping[str, Any]
    files: tuple[tuple[str, str], ...]
    """The content of every file that is a part of its identity, by name."""


class OtherEngineError(Exception):
    """The worker is not, or no longer, what the task was meant for."""


@dataclass(frozen=True, slots=True)
class ModelOnWorker:
    """Tells Dask which workers have a model: tasks that need it go there, unless that takes longer than to load it."""

    file: ModelFile
    size: int

    def __sizeof__(self) -> int:
        return self.size


# What Dask calls on a worker


def who_are_you(settings: Settings, timeout: float, open_engine: OpenEngine) -> Who:
    from importlib.metadata import version

    from loracheck.cluster.desk import digest_of, hashed_identity

    engine = open_engine(settings, timeout=timeout)
    try:
        facts, files = hashed_identity(engine)
    finally:
        engine.close()
    return Who(
        version("loracheck"),
        socket.gethostname(),
        f"{platform.system()} {platform.machine()}",
        os.cpu_count() or 1,
        digest_of(facts, files),
        facts,
        files,
    )


def what_is_there(model: ModelFile) -> list[str | None]:
    """The SHA-256 of each part of a model on this worker; None where there is no such file."""
    from loracheck.cluster.desk import hash_of

    return [hash_of(Path(path)) if Path(path).is_file() else None for path, _ in model.parts]


def model_on_worker(model: ModelFile, size: int) -> ModelOnWorker:
    return ModelOnWorker(model, size)


def carried_content(content: bytes) -> bytes:
    """An adapter's bytes. As a task of its own they are sent once, and again when the worker that has them is lost."""
    return content


def answer(_model: ModelOnWorker, task: Task, prompts: Sequence[Prompt], *contents: bytes) -> Done:
    from loracheck.cluster.desk import desk

    with desk().at_work(task, contents) as (engine, view):
        before = engine.load_seconds
        completions: list[tuple[int, Completion]] = []
        for index, completion in engine.answer(view, prompts):
            completions.append((index, replace(completion, stored=False)))
            desk().confirm_wanted()
        return Done(completions, socket.gethostname(), engine.load_seconds - before)


def fingerprint(_model: ModelOnWorker, task: Task, text: str, *contents: bytes) -> Done:
    from loracheck.cluster.desk import desk

    with desk().at_work(task, contents) as (engine, view):
        before = engine.load_seconds
        print_of_view: Fingerprint = engine.fingerprint(view, text)
        return Done(print_of_view, socket.gethostname(), engine.load_seconds - before)


def go_home(dask_worker: Worker) -> None:
    """The sweep is over: the model need not stay in memory. Dask knows the argument by its name."""
    from loracheck.cluster.desk import leave_desk

    leave_desk(dask_worker)
