"""SIGKILL at random moments: whatever was kept is good, and nothing is left behind."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

from real import BASE, TOOLCALLER
from torture.running import ALONE, Tried, findings, finish, folder, leftovers, start, write_cases

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CASES = 12


def kills(place: Path, share: float) -> Iterator[Tried]:
    room, rng = folder(place / "run"), random.Random(0)
    report = room / "report.json"
    check = ("check", "--base", BASE, "--adapter", TOOLCALLER, "--cases", write_cases(room / "cases.jsonl", _CASES),
             "--no-null", "--prompt", "raw", "--max-new-tokens", "16", "--json", report, *ALONE)  # fmt: skip
    began = time.monotonic()
    finish(start(room, *check, "--no-cache"))
    whole_run = time.monotonic() - began
    undisturbed = findings(report)
    report.unlink()

    wanted = round(50 * share)
    killed = 0
    while killed < wanted:
        run = start(room, *check)
        try:
            run.wait(rng.uniform(0.05, whole_run))
        except subprocess.TimeoutExpired:
            run.kill()
            finish(run)
            killed += 1
            yield Tried("killed", leftovers(room) or _half_a_report(report))
        else:
            # It had all answers but a few, and was done before its hour.
            lost = finish(run).fault or leftovers(room) or _other(report, undisturbed)
            shutil.rmtree(room / "cache")
            yield Tried("went on to its end", lost)
        report.unlink(missing_ok=True)
    done = finish(start(room, *check))
    yield Tried("went on to its end", done.fault or _other(report, undisturbed))


def _half_a_report(report: Path) -> str | None:
    try:
        json.loads(report.read_text())
    except FileNotFoundError:
        return None
    except ValueError:
        return "half a report"
    return None


def _other(report: Path, undisturbed: object) -> str | None:
    return None if findings(report) == undisturbed else "the report is not the undisturbed one"
