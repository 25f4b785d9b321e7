"""docs/benchmark.md: the figures as tables."""

from __future__ import annotations

import math
import os
import platform
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from limit import Rates
from runs import Runs, say

from loracheck.cases.suite import default_threads
from loracheck.engine.identity import llama_cpp_version

MAIN = ("what", "loracheck", "baseline", "ratio", "target", "of the limit")
GROWTH = ("growth", "time", "against the first row", "memory", "of the limit")

HEAD = """\
# Benchmark

Written by `make bench`. The baseline is sequential llama-cpp-python with one `Llama` for each view, if nothing else is
said. Contenders ran in processes of their own and in turns, {times} each if the row does not say otherwise, and the
median counts; growth was measured once. Loading is included. Memory is that of all processes of a contender.

A ratio of times is the baseline's over loracheck's, so more is better; a ratio of memory is loracheck's over the
baseline's, so less is better.

"Of the limit" tells how much there is left to gain on this machine. The limit is the time to read every prompt token
(a prefix that prompts share only once) and to write every answer token, at the best rates measured in the same run;
they are in the last table. 100 % can't be reached where there are fewer answers to write than the best width has rows.

Machine: {machine}. llama-cpp-python {version}. Load average when it began: {load:.2f}."""


@dataclass
class Page:
    times: int
    missing: list[str]
    """What is not measured yet."""
    rows: list[tuple[str, ...]] = field(default_factory=list)
    growth_rows: list[tuple[str, ...]] = field(default_factory=list)
    rates: dict[str, Runs] = field(default_factory=lambda: defaultdict(Runs))
    """By model."""
    notes: list[str] = field(default_factory=list)
    load: float = field(default_factory=lambda: os.getloadavg()[0])

    def speed(self, what: str, ours: Runs, theirs: Runs, target: float | None = None, model: str | None = None) -> None:
        """`model` is the one whose rates are the limit."""
        time, baseline = ours.median("seconds"), theirs.median("seconds")
        limit = ours.limit(self.rates[model]) if model else math.nan
        ratio = baseline / time
        wanted = _target(ratio, target, f"{target} at least") if target else ""
        self.row(what, seconds(time), seconds(baseline), _number(ratio), wanted, _share(limit / time))

    def memory(self, what: str, ours: Runs, theirs: Runs, target: float | None = None) -> None:
        peak, baseline = ours.median("peak_mb"), theirs.median("peak_mb")
        ratio = peak / baseline
        wanted = _target(-ratio, -target, f"{target} at most") if target else ""
        self.row(what, _megabytes(peak), _megabytes(baseline), _number(ratio), wanted)

    def seconds(self, what: str, runs: Runs, target: float) -> None:
        time = runs.median("seconds")
        self.row(what, seconds(time), "", "", _target(-time, -target, f"{target:g} s at most"))

    def share(self, what: str, runs: Runs, target: float) -> None:
        share = runs.median("share")
        shown = "failed" if math.isnan(share) else f"{share * 100:.1f} %"
        self.row(what, shown, "", "", _target(-share, -target, f"{target * 100:g} % at most"))

    def row(self, *cells: str) -> None:
        self.rows.append(cells)
        say("  ".join(filter(None, cells)))

    def growth(
        self, what: str, time: float, relative: float, unit: str, *, memory: float = math.nan, limit: float
    ) -> None:
        cells = (
            what,
            seconds(time),
            "" if math.isnan(relative) else f"{relative:.2f} of its time {unit}",
            "" if math.isnan(memory) else _megabytes(memory),
            _share(limit / time),
        )
        self.growth_rows.append(cells)
        say("  ".join(filter(None, cells)))

    def note(self, *notes: str) -> None:
        """Said below the tables, once."""
        self.notes += [note for note in dict.fromkeys(notes) if note not in self.notes]

    def __str__(self) -> str:
        head = HEAD.format(
            times="once" if self.times == 1 else f"{self.times} times",
            machine=_machine(),
            version=llama_cpp_version(),
            load=self.load,
        )
        measured = [(model, runs.figures[0]) for model, runs in self.rates.items() if runs.figures]
        parts = [head, _table(MAIN, self.rows)]
        if self.growth_rows:
            parts.append(_table(GROWTH, self.growth_rows))
        if measured:
            parts.append(_table(_rates_head(measured[0][1]), _rates_rows(measured)))
        if self.missing:
            parts.append(f"The run was stopped before it came to {', '.join(self.missing)}.")
        if self.notes:
            parts.append("\n".join(f"- {note}" for note in self.notes))
        return "\n\n".join(parts) + "\n"


def _rates_head(rates: Rates) -> Iterator[str]:
    yield "tokens a second"
    yield from (f"read {batch} at once" for batch in rates["bare"]["read"])
    yield from (f"steps of {width}" for width in rates["bare"]["written"])


def _rates_rows(measured: Iterable[tuple[str, Rates]]) -> Iterator[tuple[str, ...]]:
    for model, rates in measured:
        for view, name in (("bare", model), ("adapter", f"{model} with an adapter")):
            of_view = rates[view]
            yield (name, *(f"{rate:.0f}" for verb in ("read", "written") for rate in of_view[verb].values()))


def _table(head: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    names = tuple(head)
    filled = (tuple(cell.replace("|", "\\|") for cell in row) + ("",) * (len(names) - len(row)) for row in rows)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (names, ("---",) * len(names), *filled))


def _target(value: float, target: float, words: str) -> str:
    """More is better; who has it the other way round turns the signs."""
    return words if math.isnan(value) or value >= target else f"{words}: missed"


def seconds(value: float) -> str:
    return "failed" if math.isnan(value) else f"{value:.2f} s" if value < 1 else f"{value:.1f} s"


def _megabytes(value: float) -> str:
    return "failed" if math.isnan(value) else f"{value:.0f} MB"


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}"


def _share(value: float) -> str:
    return "" if math.isnan(value) else f"{value * 100:.0f} %"


def _machine() -> str:
    names = [line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")]
    processor = names[0] if names else platform.processor()
    return f"{processor}, {os.cpu_count()} cores, {platform.system()}; {default_threads()} threads"


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.is_file() else []
