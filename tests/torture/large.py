"""Many cases: memory stays flat, reports stay small enough to send, the page stays usable."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from real import BASE, TOOLCALLER
from report.chromium import FOUND, Chromium
from suite_factory import write_files
from torture.running import ALONE, VERDICTS, Tried, folder, memory_of, start, workers, write_cases

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator
    from pathlib import Path

MAX_REPORT = 50_000_000
MAX_MEMORY = 300_000
"""kB, of 5,000 cases with all their answers."""
MAX_GROWTH = 1.1
MAX_PAGE_SECONDS = 10.0


def canned(place: Path, share: float) -> Iterator[Tried]:
    room = folder(place / "run")
    files, cases = write_files(room), write_cases(room / "cases.jsonl", max(100, round(5000 * share)))
    outputs = _outputs(room)
    check = ("check", "--base", files.base, "--adapter", files.adapter, "--cases", cases, "--null-runs", "1", *outputs)
    said, memory = _watched(room, check, lambda run: [run.pid], fake=True)
    yield said
    peak = max(memory)
    yield Tried(f"{peak // 1000} MB of memory", f"{peak} kB of memory" if peak > MAX_MEMORY else None)
    yield from _sizes(outputs)
    yield from _page(room, place)


def real(place: Path, share: float) -> Iterator[Tried]:
    room = folder(place / "run")
    outputs = _outputs(room)
    cases = write_cases(room / "cases.jsonl", max(20, round(300 * share)))
    quick = ("--no-null", "--prompt", "raw", "--max-new-tokens", "8", *ALONE)
    check = ("check", "--base", BASE, "--adapter", TOOLCALLER, "--cases", cases, *quick, *outputs)
    said, memory = _watched(room, check, lambda _: workers(room))
    yield said
    quarter = len(memory) // 4
    early, late = max(memory[quarter : 2 * quarter], default=0), max(memory[-quarter:], default=0)
    lost = f"{early} kB of memory became {late}" if late > early * MAX_GROWTH else None
    yield Tried(f"{late // 1000} MB of memory", lost)
    yield from _sizes(outputs)


def _outputs(room: Path) -> tuple[Any, ...]:
    return tuple(
        option for form in ("json", "html", "markdown", "junit") for option in (f"--{form}", room / f"r.{form}")
    )


def _watched(
    room: Path, check: tuple[Any, ...], whom: Callable[[subprocess.Popen[str]], list[int]], **how: Any
) -> tuple[Tried, list[int]]:
    """How the run ended, and the memory in kB that it had twice a second."""
    memory = []
    # To files, for nobody reads a pipe here until it is over.
    with (room / "out").open("w") as out, (room / "err").open("w") as err:
        run = start(room, *check, stdout=out, stderr=err, **how)
        while run.poll() is None:
            memory.append(memory_of(whom(run)))
            time.sleep(0.5)
    said = (room / "err").read_text()[-500:]
    lost = None if run.returncode in VERDICTS else f"exit code {run.returncode}: {said}"
    return Tried("run", lost), [size for size in memory if size]


def _sizes(outputs: tuple[Any, ...]) -> Iterator[Tried]:
    for path in outputs[1::2]:
        size = path.stat().st_size
        yield Tried(
            f"{path.suffix[1:]} {size / 1e6:.1f} MB", f"{path.name}: {size} bytes" if size > MAX_REPORT else None
        )
    json.loads(outputs[1].read_text())


def _page(room: Path, place: Path) -> Iterator[Tried]:
    if FOUND is None:
        return
    browser = Chromium(place / "profile")
    try:
        seconds = browser.open((room / "r.html").as_uri())
        said = list(browser.said)
    finally:
        browser.close()
    lost = f"{seconds:.1f} s to open, {said}" if seconds > MAX_PAGE_SECONDS or said else None
    yield Tried(f"page opens in {seconds:.1f} s", lost)
