"""The child process in which llama.cpp runs. Its parent is child.py; they exchange pickles over pipes."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import sys
import time
import traceback
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, BinaryIO

from loracheck.errors import LoracheckError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

# How often a long computation says that it goes on.
_TICK_SECONDS = 1.0


def serve(folder: str) -> None:
    """Answer requests until the parent goes away, and take `folder`, where temporary files are, along."""
    # Ctrl-C is the parent's business.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    replies = os.fdopen(os.dup(1), "wb")
    # Native code that prints must not print into the replies.
    os.dup2(2, 1)
    requests: SimpleQueue[tuple[str, tuple[Any, ...]]] = SimpleQueue()
    Thread(target=_listen, args=(sys.stdin.buffer, requests, folder), daemon=True).start()
    _Worker(replies).work(requests)


def _listen(stream: BinaryIO, requests: SimpleQueue[tuple[str, tuple[Any, ...]]], folder: str) -> None:
    """Requests are read beside the work, so that the end of the parent is the end of the child, whatever it does."""
    try:
        while True:
            requests.put(pickle.load(stream))  # noqa: S301 - from our own parent
    except (EOFError, pickle.UnpicklingError, OSError):
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)


class _Worker:
    def __init__(self, replies: BinaryIO) -> None:
        self._replies = replies
        self._told = 0.0
        self._engine: Any = None

    def work(self, requests: SimpleQueue[tuple[str, tuple[Any, ...]]]) -> None:
        while True:
            name, arguments = requests.get()
            work: Callable[..., Iterable[Any]] = getattr(self, f"_{name}")
            try:
                for item in work(*arguments):
                    self._reply("item", item)
                self._reply("end", None)
            except LoracheckError as error:
                self._reply("error", error)
            except Exception:  # a bug, and the parent should know which
                self._reply("bug", traceback.format_exc())

    def _load(self, model: Path, settings: Any, fixed_context: bool) -> Iterable[Any]:
        from loracheck.engine import llama_log
        from loracheck.engine.llama import LlamaEngine

        llama_log.echo_to_stderr()
        self._engine = LlamaEngine(model, settings, fixed_context=fixed_context, tick=self._tick)
        return ()

    def _answer(self, *arguments: Any) -> Iterable[Any]:
        return self._engine.answer(*arguments)  # type: ignore[no-any-return]

    def _fingerprint(self, *arguments: Any) -> Iterable[Any]:
        yield self._engine.fingerprint(*arguments)

    def _tick(self) -> None:
        if time.monotonic() - self._told > _TICK_SECONDS:
            self._reply("tick", None)

    def _reply(self, kind: str, value: Any) -> None:
        self._told = time.monotonic()
        pickle.dump((kind, value), self._replies)
        self._replies.flush()
