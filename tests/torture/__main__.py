"""Run the rounds and print one table: what was tried, what survived, what was lost."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from torture import crowd, faults, headers, hostile, kills, large

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torture.running import Tried

    Round = Callable[[Path, float], Iterator[Tried]]

ROUNDS: dict[str, Round] = {
    "damaged headers": headers.headers,
    "damaged adapters, real engine": hostile.adapters,
    "damaged null adapters, real engine": hostile.null_adapters,
    "damaged models, real engine": hostile.models,
    "disk full": faults.disk_full,
    "files changed while running, real engine": faults.files_changed,
    "cache folder gone": faults.cache_gone,
    "clock jumps": faults.clock_jumps,
    "output closed": faults.output_closed,
    "killed, real engine": kills.kills,
    "four at once": crowd.canned,
    "four at once, real engine": crowd.real,
    "5,000 cases": large.canned,
    "300 cases, real engine": large.real,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument("only", nargs="*", help="words from the names of the rounds to run; all without")
    parser.add_argument("--share", type=float, default=1.0, help="how much of each round to run, 0 to 1")
    asked = parser.parse_args()
    table = Table("what", "tried", "survived", "lost", "seconds", "how they ended", box=None, pad_edge=False)
    losses = 0
    for name, trials in ROUNDS.items():
        if asked.only and not any(word in name for word in asked.only):
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="torture-") as place:
            ends, lost = _run(name, trials(Path(place), asked.share))
        losses += lost
        tried = sum(ends.values())
        how = ", ".join(f"{end} {count}" for end, count in ends.most_common())
        seconds = f"{time.monotonic() - began:.0f}"
        table.add_row(name, str(tried), str(tried - lost), str(lost), seconds, how)
    Console(width=160, highlight=False).print(table)
    return 1 if losses else 0


def _run(name: str, trials: Iterator[Tried]) -> tuple[Counter[str], int]:
    ends: Counter[str] = Counter()
    lost = 0
    for tried in trials:
        ends[tried.how] += 1
        if tried.lost:
            lost += 1
            print(f"LOST {name}: {tried.lost}", file=sys.stderr)
        if ends.total() % 25 == 1:
            print(f"{name}: {ends.total()} tried, {lost} lost", file=sys.stderr)
    return ends, lost


if __name__ == "__main__":
    sys.exit(main())
