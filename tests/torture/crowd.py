"""Four runs at once on one store: each ends as it would alone, and nobody hears of locks."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from loracheck.demo import adapter_file
from models.factory import lora_tensors, write_adapter
from real import BASE, TOOLCALLER
from suite_factory import write_files
from torture.running import ALONE, Tried, findings, finish, folder, loracheck, start, write_cases

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


def canned(place: Path, share: float) -> Iterator[Tried]:
    room = folder(place / "run")
    base, first = write_files(room).base, room / "adapter.gguf"
    others = [write_adapter(room / f"{seed}.gguf", lora_tensors(seed=seed)) for seed in (1, 2, 3)]
    cases = write_cases(room / "cases.jsonl", 40)
    for _ in range(max(1, round(6 * share))):
        for adapters in ([first] * 4, [first, *others]):
            yield from _together(room, base, adapters, "--cases", cases, "--null-runs", "2", fake=True)


def real(place: Path, share: float) -> Iterator[Tried]:
    room = folder(place / "run")
    cases = write_cases(room / "cases.jsonl", max(2, round(8 * share)))
    options = ("--cases", cases, *ALONE, "--null-runs", "1", "--max-new-tokens", "12", "--prompt", "raw")
    names = [str(adapter_file(name)) for name in ("renamer", "chatty")]
    for adapters in ([TOOLCALLER] * 4, [TOOLCALLER, f"{TOOLCALLER}@0.5", *names]):
        yield from _together(room, BASE, adapters, *options)


def _together(room: Path, base: Path, adapters: Sequence[Any], *options: Any, fake: bool = False) -> Iterator[Tried]:
    checks = [("check", "--base", base, "--adapter", adapter, *options) for adapter in adapters]
    shutil.rmtree(room / "cache")
    runs = [
        start(room, *check, "--json", room / f"{number}.json", fake=fake, env={"TORTURE_PAUSE": "0.002"})
        for number, check in enumerate(checks)
    ]
    alone: dict[str, dict[str, Any]] = {}
    for number, (run, check) in enumerate(zip(runs, checks, strict=True)):
        done = finish(run, 600)
        lost = done.fault
        if "lock" in done.err or "store" in done.err.replace("from the store", ""):
            lost = lost or f"it speaks of the store: {done.err[-300:]}"
        name = str(adapters[number])
        if not lost and name not in alone:
            lost = loracheck(room, *check, "--no-cache", "--json", room / "alone.json", fake=fake).fault
            alone[name] = findings(room / "alone.json")
        if not lost and findings(room / f"{number}.json") != alone[name]:
            lost = "not the report that it gives alone"
        yield Tried(done.how, lost)
