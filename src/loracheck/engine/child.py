"""An engine in a process of its own: when native code crashes or hangs there, we live to tell."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import mkdtemp
from threading import Thread
from typing import TYPE_CHECKING, Any, cast

from loracheck.engine import TIMEOUT, Noise
from loracheck.errors import EngineError
from loracheck.processes import serving

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from loracheck.engine import Completion, Fingerprint, Prompt, Settings, View

_LOG_LINES = 6


class ChildEngine:
    """A GGUF model in a child process, by the same protocol. Close it."""

    def __init__(
        self, model: Path, settings: Settings, *, fixed_context: bool = False, timeout: float = TIMEOUT
    ) -> None:
        self._timeout = timeout
        self.folder = Path(mkdtemp(prefix="loracheck-"))
        """Where the child keeps its log and temporary files."""
        self._log = self.folder / "llama.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - ourselves
                serving("loracheck.engine.worker", str(self.folder)),
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
        try:
            list(self._ask(f"loading {model}", "load", model, settings, fixed_context))
        except BaseException:
            self.close()
            raise

    @property
    def process_id(self) -> int:
        return self._process.pid

    def answer(self, view: View, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        return self._ask(_answering(view), "answer", view, prompts)

    def fingerprint(self, view: View, text: str) -> Fingerprint:
        (found,) = self._ask(_answering(view), "fingerprint", view, text)
        return cast("Fingerprint", found)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.kill()
        self._process.wait()
        # What a dead child has not read cannot be flushed.
        with suppress(OSError):
            self._process.stdin.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _ask(self, doing: str, name: str, *arguments: Any) -> Iterator[Any]:
        assert self._process.stdin is not None
        try:
            pickle.dump((name, arguments), self._process.stdin)
            self._process.stdin.flush()
        except OSError:
            raise self._crash(doing) from None
        ended = False
        try:
            while not ended:
                kind, value = self._reply(doing)
                ended = kind in ("end", "error", "bug")
                if kind == "item":
                    yield value
                elif kind == "error":
                    raise value
                elif kind == "bug":
                    raise RuntimeError(f"while {doing}:\n{value}")
        finally:
            if not ended:
                # Nobody waits for the rest, and a later question must not get it for an answer.
                self._process.kill()

    def _reply(self, doing: str) -> tuple[str, Any]:
        try:
            reply = self._replies.get(timeout=self._timeout)
        except Empty:
            self._process.kill()
            raise EngineError(
                f"llama.cpp gave no sign of life for {self._timeout:g} s while {doing}; it was stopped. "
                f"--timeout allows more\n{self._last_words()}"
            ) from None
        if reply is None:
            raise self._crash(doing)
        return reply

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            try:
                while True:
                    self._replies.put(pickle.load(stream))  # noqa: S301 - from our own child
            except (EOFError, pickle.UnpicklingError, OSError):
                self._replies.put(None)

    def _crash(self, doing: str) -> EngineError:
        code = self._process.wait()
        why = f"ended with exit code {code}"
        if code < 0:
            name = signal.Signals(-code).name
            why = "was killed (SIGKILL), most likely for want of memory" if name == "SIGKILL" else f"crashed ({name})"
        return EngineError(f"llama.cpp {why} while {doing}\n{self._last_words()}")

    def _last_words(self) -> str:
        lines = self._log.read_text("utf-8", "replace").splitlines()
        return "\n".join(f"  llama.cpp: {line}" for line in [line for line in lines if line.strip()][-_LOG_LINES:])


def _answering(view: View) -> str:
    stack = ", ".join(
        f"noise like {use.source.like}" if isinstance(use.source, Noise) else str(use.source) for use in view.adapters
    )
    return f"computing the {view.name} view ({stack or 'no adapter'})"
