"""How far the work is, on standard error: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from loracheck.pace import Pace, Spent, Stretch
from loracheck.status_line import StatusLine, can_draw
from loracheck.text import byte_size, duration, visible

# Without a terminal a long run still says that it lives.
_PLAIN_SECONDS = 15.0
# A run that is shorter than this is not worth a forecast.
_LONG_SECONDS = 10.0


class QuietProgress:
    """Says nothing; the others say something in its place."""

    def __enter__(self) -> QuietProgress:
        return self

    def __exit__(self, *_: object) -> None: ...

    def say(self, line: str) -> None:
        """A line to stay."""

    def run(self, stretches: Sequence[Stretch]) -> None:
        """What lies ahead, a stretch for each stage that will come; otherwise each stage is a run of its own."""

    def stage(self, name: str, total: int) -> None:
        """A new piece of work begins: `total` answers, or 0 when that has no meaning."""

    def done(self, tokens: int | None) -> None:
        """One answer is there; so many tokens were written for it, None when it was in the store."""

    def spend(self, more: Spent) -> None:
        """What the engine has done since it last spoke, in answers that are not there yet as well."""

    def note(self, words: str) -> None:
        """What goes on at the moment."""


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

    @property
    def outcome(self) -> str:
        """Of a stage that is over."""
        if not self.computed:
            return "from the store"
        seconds = max(time.monotonic() - self.began, 1e-3)
        return f"{self.tokens / seconds:.0f} tokens/s, {seconds:.0f} s"


class _Telling(QuietProgress):
    """What is told, put together; those below show it."""

    def __init__(self) -> None:
        self._stage = _Stage()
        self._pace = Pace(())
        self._stages = 0
        """In the whole run; 0 where nobody said."""

    def run(self, stretches: Sequence[Stretch]) -> None:
        self._pace, self._stages = Pace(stretches), len(stretches)

    def stage(self, name: str, total: int) -> None:
        if self._pace.place + 1 >= self._stages:
            # The run is over, or there is none: what comes now is counted by itself.
            self._pace, self._stages = Pace([Stretch(total)]), 0
        self._stage = _Stage(name, total)
        if total:
            self._pace.begin()

    def done(self, tokens: int | None) -> None:
        self._stage.count(tokens)
        if tokens is not None:
            self._pace.answered(tokens)

    def spend(self, more: Spent) -> None:
        # What has not said how much it reads is told by its answers alone.
        if self._stages:
            self._pace.spend(more)

    @property
    def _left(self) -> str:
        seconds = self._pace.seconds_left
        return "" if seconds is None else f"{duration(seconds)} left"


class PlainProgress(_Telling):
    """One line when a stage ends, and one now and then before."""

    def __init__(self) -> None:
        super().__init__()
        self._spoke = time.monotonic()
        self._forecast = False

    def say(self, line: str) -> None:
        _say(line)

    def run(self, stretches: Sequence[Stretch]) -> None:
        super().run(stretches)
        self._forecast = True

    def stage(self, name: str, total: int) -> None:
        super().stage(name, total)
        self._spoke = time.monotonic()
        if not total:
            _say(name)

    def done(self, tokens: int | None) -> None:
        super().done(tokens)
        stage = self._stage
        if stage.done == stage.total:
            _say(f"{stage.name}: {stage.done}/{stage.total}, {stage.outcome}")
        else:
            self._say_now_and_then(self._left)

    def spend(self, more: Spent) -> None:
        super().spend(more)
        seconds = self._pace.seconds_left
        if self._forecast and seconds is not None:
            self._forecast = False
            if seconds >= _LONG_SECONDS:
                _say(f"about {duration(seconds)} for all of it")
        self._say_now_and_then(self._left)

    def note(self, words: str) -> None:
        self._say_now_and_then(words)

    def _say_now_and_then(self, words: str) -> None:
        if time.monotonic() - self._spoke > _PLAIN_SECONDS:
            self._spoke = time.monotonic()
            count = f"{self._stage.name}: {self._stage.done}/{self._stage.total}"
            _say(f"{count}, {words}" if words else count)


class BarProgress(_Telling):
    """One bar for the whole run, gone when the work is done."""

    def __init__(self) -> None:
        super().__init__()
        self._line = StatusLine()
        self._note = ""

    def __exit__(self, *_: object) -> None:
        self._line.clear()

    def say(self, line: str) -> None:
        self._line.clear()
        _say(line)
        self._show()

    def stage(self, name: str, total: int) -> None:
        super().stage(name, total)
        self._note = ""
        self._show()

    def done(self, tokens: int | None) -> None:
        super().done(tokens)
        # Whatever the store has comes at once.
        if tokens is not None:
            self._show(can_wait=True)

    def spend(self, more: Spent) -> None:
        super().spend(more)
        self._show(can_wait=True)

    def note(self, words: str) -> None:
        self._note = visible(words)
        self._show(can_wait=True)

    def _show(self, *, can_wait: bool = False) -> None:
        stage = self._stage
        if not stage.name:
            return
        if not stage.total:
            self._line.show([[stage.name]], can_wait=can_wait)
            return
        place = f"view {self._pace.place + 1}/{self._stages}: " if self._stages else ""
        share = self._pace.share if self._stages else stage.done / stage.total
        count = f"{stage.done}/{stage.total}"
        figures = (f"{share:.0%}", self._left)
        forms = [
            [f"{place}{stage.name}, case {count}", *figures, self._note],
            [f"{place}{stage.name}, case {count}", *figures],
            [f"{stage.name} {count}", *figures],
        ]
        self._line.show(forms, share, can_wait=can_wait)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201


def progress(*, quiet: bool) -> QuietProgress:
    """For the command line: a bar on a terminal, plain lines elsewhere."""
    if quiet:
        return QuietProgress()
    return BarProgress() if can_draw() else PlainProgress()


def notebook_or_terminal_progress(*, quiet: bool) -> QuietProgress:
    """For Python programs: a bar where somebody is watching, nothing elsewhere."""
    is_watched = "ipykernel" in sys.modules or can_draw()
    return BarProgress() if is_watched and not quiet else QuietProgress()


@contextmanager
def bytes_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for a download; elsewhere than on a terminal, a line every ten percent."""
    if can_draw():
        line, began, before = StatusLine(), time.monotonic(), -1

        def show(done: int, total: int) -> None:
            nonlocal before
            # An earlier attempt may have brought some of it.
            before = done if before < 0 else before
            seconds = time.monotonic() - began
            left = f"{duration(seconds / (done - before) * (total - done))} left" if done > before else ""
            figures = (f"{byte_size(done)} of {byte_size(total)}", left)
            line.show([[title, *figures], figures], done / total if total else None, can_wait=True)

        try:
            yield show
        finally:
            line.clear()
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
