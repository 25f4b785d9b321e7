"""Contenders, each run in a process of its own, several times, in turns."""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from limit import Rates, limit_seconds

HERE = Path(__file__).parent
MOST_SECONDS = 1800.0

Command = tuple[object, ...]
"""A script beside this one, and its arguments."""
Contender = Callable[[int], Command]
"""What to run in which turn."""


@dataclass
class Runs:
    """What a contender told, once for each time it came to an end."""

    figures: list[dict[str, Any]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def median(self, name: str) -> float:
        """Not a number where there is none: that spoils the cells that depend on it, and no others."""
        return statistics.median(each[name] for each in self.figures) if self.figures else math.nan

    def check(self, number: int) -> Runs:
        """Of a process that ran several checks, one of them."""
        return Runs([{**each, **each["checks"][number]} for each in self.figures])

    def limit(self, rates: Runs) -> float:
        """Seconds that its work takes at the best rates."""
        if not self.figures or not rates.figures:
            return math.nan
        measured: Rates = rates.figures[0]
        return limit_seconds(self.figures[0]["needed"], measured)


def in_turns(times: int, contenders: Mapping[str, Contender], python: str) -> list[Runs]:
    """Each contender once, then each once more, so that a machine that gets slower does so for all of them.

    One that fails has its other turns all the same.
    """
    runs = [Runs() for _ in contenders]
    for turn in range(times):
        for (name, contender), those in zip(contenders.items(), runs, strict=True):
            say(f"{name}, {turn + 1} of {times}")
            try:
                those.figures.append(run(contender(turn), python))
            except ContenderError as failure:
                say(f"  failed: {failure}")
                those.failures.append(f"{name}: {failure}")
    return runs


class ContenderError(Exception):
    """A contender that did not come to its end, and its last words."""


def run(command: Command, python: str) -> dict[str, Any]:
    script, *arguments = map(str, command)
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false"}
    # Ours to set for ourselves only: see engine/native.py.
    environment.pop("GOMP_SPINCOUNT", None)
    began = time.perf_counter()
    try:
        done = subprocess.run(
            [python, str(HERE / script), *arguments],
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=MOST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ContenderError(f"not done after {MOST_SECONDS:g} s") from None
    process_seconds = time.perf_counter() - began
    if done.returncode:
        last_words = [line.strip() for line in done.stderr.splitlines() if line.strip()][-1:]
        raise ContenderError(f"exit code {done.returncode}; {''.join(last_words)[:200]}")
    say(f"  {process_seconds:.1f} s")
    return {**json.loads(done.stdout.splitlines()[-1]), "process_seconds": process_seconds}


def say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {line}", file=sys.stderr, flush=True)
