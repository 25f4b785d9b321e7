"""How far the work is, on standard error: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, TaskID

# Without a terminal a long stage still says that it lives.
_PLAIN_SECONDS = 15.0


@dataclass(slots=True)
class _Stage:
    """One piece of work. Answers from the store say nothing of the speed."""

    name: str = ""
    total: int = 0
    done: int = 0
    computed: int = 0
    tokens: int = 0
    began: float = field(default_factory=time.monotonic)

    def count(self, tokens: int | None) -> None:
        self.done += 1
        self.computed += tokens is not None
        self.tokens += tokens or 0

    def __str__(self) -> str:
        if not self.computed:
            return "from the store" if self.done else ""
        seconds = max(time.monotonic() - self.began, 1e-3)
        left = seconds / self.computed * (self.total - self.done)
        ending = f"{left:.0f} s left" if self.done < self.total else f"{seconds:.0f} s"
        return f"{self.tokens / seconds:.0f} tokens/s, {ending}"


class QuietProgress:
    """Says nothing; the others say something in its place."""

    def __enter__(self) -> QuietProgress:
        return self

    def __exit__(self, *_: object) -> None: ...
    def stage(self, name: str, total: int) -> None: ...
    def done(self, tokens: int | None) -> None: ...
    def note(self, words: str) -> None:
        """What goes on at the moment."""


class PlainProgress(QuietProgress):
    """One line when a stage ends, and one now and then before."""

    def __init__(self) -> None:
        self._stage, self._spoke = _Stage(), 0.0

    def stage(self, name: str, total: int) -> None:
        self._stage, self._spoke = _Stage(name, total), time.monotonic()
        if not total:
            _say(name)

    def done(self, tokens: int | None) -> None:
        stage = self._stage
        stage.count(tokens)
        now = time.monotonic()
        if stage.done == stage.total or now - self._spoke > _PLAIN_SECONDS:
            self._spoke = now
            _say(f"{stage.name}: {stage.done}/{stage.total}, {stage}")

    def note(self, words: str) -> None:
        if words and time.monotonic() - self._spoke > _PLAIN_SECONDS:
            self._spoke = time.monotonic()
            _say(f"{self._stage.name}: {self._stage.done}/{self._stage.total}; {words}")


class BarProgress(QuietProgress):
    """A bar for the stage at hand, gone when the work is done."""

    def __init__(self) -> None:
        from rich.progress import MofNCompleteColumn, TextColumn

        self._stage = _Stage()
        self._task: TaskID | None = None
        self._bar = _bar(MofNCompleteColumn(), TextColumn("{task.fields[pace]}"))

    def __enter__(self) -> BarProgress:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def stage(self, name: str, total: int) -> None:
        # Not before: what is made on the way has a bar of its own.
        self._bar.start()
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._stage = _Stage(name, total)
        self._task = self._bar.add_task(name, total=total or None, pace="")

    def done(self, tokens: int | None) -> None:
        assert self._task is not None
        self._stage.count(tokens)
        self._bar.update(self._task, advance=1, pace=str(self._stage))

    def note(self, words: str) -> None:
        if self._task is not None:
            self._bar.update(self._task, pace=f"{self._stage}  {words}"[:100])


def _bar(*columns: ProgressColumn) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    title = TextColumn("{task.description:<12}")
    return Progress(title, BarColumn(bar_width=24), *columns, console=Console(stderr=True), transient=True)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201


def progress(*, quiet: bool) -> QuietProgress:
    """For the command line: a bar on a terminal, plain lines elsewhere."""
    if quiet:
        return QuietProgress()
    return BarProgress() if sys.stderr.isatty() else PlainProgress()


def notebook_or_terminal_progress(*, quiet: bool) -> QuietProgress:
    """For Python programs: a bar where somebody is watching, nothing elsewhere."""
    in_notebook = "ipykernel" in sys.modules
    if quiet or not (in_notebook or sys.stderr.isatty()):
        return QuietProgress()
    # Without its widgets a notebook has no bars, but it has lines.
    return BarProgress() if not in_notebook or find_spec("ipywidgets") else PlainProgress()


@contextmanager
def bytes_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for a download; elsewhere than on a terminal, a line every ten percent."""
    if sys.stderr.isatty():
        from rich.progress import DownloadColumn, TransferSpeedColumn

        with _bar(DownloadColumn(), TransferSpeedColumn()) as bar:
            task = bar.add_task(title)
            yield lambda done, total: bar.update(task, completed=done, total=total)
        return
    _say(title)
    spoke = 0

    def tell(done: int, total: int) -> None:
        nonlocal spoke
        tenth = 10 * done // total
        if tenth > spoke:
            spoke = tenth
            _say(f"  {10 * tenth}%")

    yield tell
