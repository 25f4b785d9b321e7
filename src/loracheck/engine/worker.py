"""The child process in which llama.cpp runs. Its parent is child.py; they exchange pickles over pipes."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, BinaryIO

from loracheck.engine import Prompt, Settings, View
from loracheck.errors import LoracheckError
from loracheck.pace import Spent

if TYPE_CHECKING:
    from loracheck.engine.llama import LlamaEngine

# How often a long computation says that it goes on.
_TICK_SECONDS = 1.0

_TIDY_SECONDS = 5.0


def serve(folder: str, settings: dict[str, Any]) -> None:
    """Answer requests until the parent goes away, and take `folder`, where temporary files are, along."""
    # Ctrl-C is the parent's business.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    replies = os.fdopen(os.dup(1), "wb")
    # Native code that prints must not print into the replies.
    os.dup2(2, 1)
    requests: SimpleQueue[tuple[str, tuple[Any, ...]]] = SimpleQueue()
    listener = Thread(target=_listen, args=(sys.stdin.buffer, requests, folder), daemon=True)
    listener.start()
    try:
        _Worker(replies, Settings(**settings)).work(requests)
    except BrokenPipeError:
        # Nobody reads the replies: the listener notices too, and must be given the time to tidy up.
        listener.join(_TIDY_SECONDS)


def _listen(stream: BinaryIO, requests: SimpleQueue[tuple[str, tuple[Any, ...]]], folder: str) -> None:
    """Requests are read beside the work, so that the end of the parent is the end of the child, whatever it does."""
    try:
        while True:
            requests.put(pickle.load(stream))  # noqa: S301 - from our own parent
    except (EOFError, pickle.UnpicklingError, OSError):
        _remove(folder)
        os._exit(0)


def _remove(folder: str) -> None:
    """The work goes on meanwhile, and may put a file into a folder that was just emptied."""
    until = time.monotonic() + _TIDY_SECONDS
    while os.path.lexists(folder) and time.monotonic() < until:
        shutil.rmtree(folder, ignore_errors=True)


class _Worker:
    def __init__(self, replies: BinaryIO, settings: Settings) -> None:
        self._replies = replies
        self._settings = settings
        self._told = 0.0
        self._ticked = time.monotonic()
        self._untold = Spent()
        """What was done since the parent last heard of it."""
        self._engine: LlamaEngine | None = None

    def work(self, requests: SimpleQueue[tuple[str, tuple[Any, ...]]]) -> None:
        while True:
            name, arguments = requests.get()
            work: Callable[..., Iterable[Any]] = getattr(self, f"_{name}")
            self._ticked = time.monotonic()
            try:
                for item in work(*arguments):
                    self._reply("item", item)
                self._tell()
                self._reply("end", None)
            except LoracheckError as error:
                self._reply("error", error)
            except Exception:  # a bug, and the parent should know which
                self._reply("bug", traceback.format_exc())

    def _answer(self, view: View, prompts: Sequence[Prompt]) -> Iterable[Any]:
        return self._ready_for(view).answer(view, prompts)

    def _fingerprint(self, view: View, text: str) -> Iterable[Any]:
        yield self._ready_for(view).fingerprint(view, text)

    def _expect_quantized(self, model: Path, file_type: int) -> Iterable[Any]:
        from loracheck.engine.native import echo_log_to_stderr
        from loracheck.engine.quantize import expect

        echo_log_to_stderr()
        yield expect(model, file_type)

    def _quantize(self, model: Path, out: Path, file_type: int) -> Iterable[Any]:
        from loracheck.engine.native import echo_log_to_stderr
        from loracheck.engine.quantize import quantize

        echo_log_to_stderr()
        # How many bytes there are: a sign of life, and only while there are ever more.
        return quantize(model, out, file_type, self._settings.threads)

    def _ready_for(self, view: View) -> LlamaEngine:
        """The engine with the view's model in it; a crash on the way is told from one in the work itself."""
        if self._engine is None:
            # Here, so that a llama.cpp that cannot be loaded is an error like any other.
            from loracheck.engine.llama import LlamaEngine
            from loracheck.engine.native import echo_log_to_stderr

            echo_log_to_stderr()
            self._engine = LlamaEngine(self._settings, tick=self._tick)
        if not self._engine.has_loaded(view.model):
            self._reply("doing", f"loading {view.model}")
            before = self._engine.load_seconds
            self._engine.load(view.model)
            self._reply("loaded", self._engine.load_seconds - before)
            self._reply("doing", f"computing {view}")
        return self._engine

    def _tick(self, read: int = 0, written: int = 0) -> None:
        now = time.monotonic()
        seconds, self._ticked = now - self._ticked, now
        self._untold += Spent(read, seconds if read else 0.0, written, seconds if written else 0.0)
        if now - self._told > _TICK_SECONDS:
            self._tell()

    def _tell(self) -> None:
        self._told = time.monotonic()
        self._reply("tick", self._untold)
        self._untold = Spent()

    def _reply(self, kind: str, value: Any) -> None:
        pickle.dump((kind, value), self._replies)
        self._replies.flush()
