"""An engine in a process of its own: when native code crashes or hangs there, we live to tell."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import mkdtemp
from threading import Thread
from typing import Any, cast

from loracheck.engine import TIMEOUT, Completion, Fingerprint, Identity, Prompt, Settings, View
from loracheck.engine.identity import llama_identity
from loracheck.errors import EngineError
from loracheck.pace import Spent
from loracheck.processes import serving
from loracheck.windows import refuse_on_windows

_LOG_LINES = 6


class ChildEngine:
    """llama.cpp in a child process that starts when it is first asked, and anew after a crash. Close it."""

    def __init__(self, settings: Settings, *, timeout: float = TIMEOUT) -> None:
        """A child that shows no sign of life for `timeout` seconds is stopped."""
        self._settings = settings
        self._timeout = timeout
        self._child: _Child | None = None
        self.load_seconds = 0.0
        self.listener: Callable[[Spent], None] = lambda _: None
        """Who hears, about every second, what was done since."""

    @property
    def process_id(self) -> int | None:
        """None before the first question."""
        return self._child.process.pid if self._child else None

    def identity(self) -> Identity:
        return llama_identity(self._settings)

    def answer(self, view: View, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        return self._ask(f"computing {view}", "answer", view, prompts)

    def fingerprint(self, view: View, text: str) -> Fingerprint:
        (print_of_view,) = self._ask(f"computing {view}", "fingerprint", view, text)
        return cast("Fingerprint", print_of_view)

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None

    def _ask(self, doing: str, name: str, *arguments: Any) -> Iterator[Any]:
        if self._child is None or not self._child.is_alive:
            self.close()
            self._child = _Child(self._settings, self._timeout)
        for kind, value in self._child.ask(doing, name, *arguments):
            if kind == "loaded":
                self.load_seconds += value
            elif kind == "tick":
                self.listener(value)
            elif kind == "item":
                yield value


class ChildQuantizer:
    """llama.cpp's quantizer in a child process, which is there as long as the `with` block is."""

    def __init__(self, *, threads: int, timeout: float) -> None:
        """A child that writes nothing for `timeout` seconds is stopped."""
        self._child = _Child(Settings(threads=threads), timeout)

    def __enter__(self) -> ChildQuantizer:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.close()

    def expect(self, model: Path, file_type: int) -> tuple[int, int]:
        """About how many bytes it will be, and how many tensors do not fit the type's blocks and get a larger one."""
        (expected,) = self._ask(f"looking at {model}", "expect_quantized", model, file_type)
        return cast("tuple[int, int]", expected)

    def quantize(self, model: Path, out: Path, file_type: int) -> Iterator[int]:
        """Yield how many bytes are written, now and then until all are."""
        return self._ask(f"quantizing {model}", "quantize", model, out, file_type)

    def _ask(self, doing: str, name: str, *arguments: Any) -> Iterator[Any]:
        return (value for kind, value in self._child.ask(doing, name, *arguments) if kind == "item")


class _Child:
    """The process, its log, and what it replies."""

    def __init__(self, settings: Settings, timeout: float) -> None:
        # Signals, sessions and deleting what is open are other there, and nobody has tried it.
        refuse_on_windows("running llama.cpp")
        self._timeout = timeout
        self.folder = Path(mkdtemp(prefix="loracheck-"))
        """Where the child keeps its log and temporary files."""
        self._log = self.folder / "llama.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(  # noqa: S603 - ourselves
                serving("loracheck.engine.worker", str(self.folder), asdict(settings)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                # What the child leaves behind goes with its folder; and an abort must not call a debugger.
                env={**os.environ, "TMPDIR": str(self.folder), "GGML_NO_BACKTRACE": "1"},
                # The terminal's signals are for us; the child ends when its standard input does.
                start_new_session=True,
            )
        self._replies: SimpleQueue[tuple[str, Any] | None] = SimpleQueue()
        Thread(target=self._listen, daemon=True).start()

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def close(self) -> None:
        assert self.process.stdin is not None
        self._stop()
        # What a dead child has not read cannot be flushed.
        with suppress(OSError):
            self.process.stdin.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _stop(self) -> None:
        self.process.kill()
        # Until it is gone it would pass for alive.
        self.process.wait()

    def ask(self, doing: str, name: str, *arguments: Any) -> Iterator[tuple[str, Any]]:
        assert self.process.stdin is not None
        try:
            pickle.dump((name, arguments), self.process.stdin)
            self.process.stdin.flush()
        except OSError:
            raise self._crash(doing) from None
        ended = False
        try:
            while not ended:
                kind, value = self._reply(doing)
                ended = kind in ("end", "error", "bug")
                if kind in ("item", "loaded", "tick"):
                    yield kind, value
                elif kind == "doing":
                    doing = value
                elif kind == "error":
                    raise value
                elif kind == "bug":
                    raise RuntimeError(f"while {doing}:\n{value}")
        finally:
            if not ended:
                # Nobody waits for the rest, and a later question must not get it for an answer.
                self._stop()

    def _reply(self, doing: str) -> tuple[str, Any]:
        try:
            reply = self._replies.get(timeout=self._timeout)
        except Empty:
            self._stop()
            raise EngineError(
                f"llama.cpp gave no sign of life for {self._timeout:g} s while {doing}; it was stopped. "
                f"--timeout allows more\n{self._last_words()}"
            ) from None
        if reply is None:
            raise self._crash(doing)
        return reply

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stream:
            try:
                while True:
                    self._replies.put(pickle.load(stream))  # noqa: S301 - from our own child
            except (EOFError, pickle.UnpicklingError, OSError):
                self._replies.put(None)

    def _crash(self, doing: str) -> EngineError:
        code = self.process.wait()
        why = f"ended with exit code {code}"
        if code < 0:
            name = signal.Signals(-code).name
            why = "was killed (SIGKILL), most likely for want of memory" if name == "SIGKILL" else f"crashed ({name})"
        return EngineError(f"llama.cpp {why} while {doing}\n{self._last_words()}")

    def _last_words(self) -> str:
        lines = self._log.read_text("utf-8", "replace").splitlines()
        return "\n".join(f"  llama.cpp: {line}" for line in [line for line in lines if line.strip()][-_LOG_LINES:])
