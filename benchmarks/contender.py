"""What every contender starts from and ends with. Standard library only: a Python with PyTorch need not have loracheck.

A piece of work is one check as a JSON file: the suite for loracheck, and the prompts it makes for everybody else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Work:
    model: str
    adapter: str
    prompts: list[tuple[str, int]]
    """The texts that the bare model and the adapter answer, each with its longest answer in tokens."""
    n_ctx: int
    """Enough for the longest prompt and its answer."""
    threads: int
    suite: dict[str, Any]


def read_work(path: str) -> Work:
    return Work(**json.loads(Path(path).read_text(encoding="utf-8")))


def tell(**figures: Any) -> None:
    """A contender's result, for run.py."""
    print(json.dumps(figures))


def peak_mb() -> float:
    """The most memory this process has held so far."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no VmHWM in /proc/self/status")
