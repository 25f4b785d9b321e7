"""Damaged adapters and models through the real engine: a verdict or a refusal, and never a pass for a broken file."""

from __future__ import annotations

import resource
from itertools import count, islice
from typing import TYPE_CHECKING

from loracheck.demo import adapter_file
from loracheck.errors import InputError
from loracheck.models import read_header, write_null
from real import BASE, TOOLCALLER
from torture.damage import damaged, subject
from torture.running import ALONE, Tried, folder, leftovers, loracheck, write_cases

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from torture.damage import Damaged, Subject

# Damaged numbers may ask for any amount of memory, and the machine has other work.
_MEMORY = 8 << 30


def adapters(place: Path, share: float) -> Iterator[Tried]:
    yield from _each(place, TOOLCALLER, round(90 * share))


def null_adapters(place: Path, share: float) -> Iterator[Tried]:
    null = write_null(adapter_file("chatty"), place / "whole.gguf", seed=1)
    yield from _each(place, null, round(50 * share))


def models(place: Path, share: float) -> Iterator[Tried]:
    yield from _each(place, BASE, round(60 * share))


def _each(place: Path, whole: Path, wanted: int) -> Iterator[Tried]:
    room = folder(place / "run")
    sound, bad_file = subject(whole), room / "damaged.gguf"
    cases = write_cases(room / "cases.jsonl", 2)
    base, adapter = (bad_file, TOOLCALLER) if whole == BASE else (BASE, bad_file)
    for bad in islice(_mostly_readable(sound, bad_file), wanted):
        yield _tried(room, bad, "--base", base, "--adapter", adapter, "--cases", cases)


def _mostly_readable(sound: Subject, path: Path) -> Iterator[Damaged]:
    """Damage that our own look at the header does not find, and some that it does; each is in the file at `path`."""
    for seed in count():
        bad = damaged(sound, seed)
        path.write_bytes(bad.content)
        try:
            read_header(path)
        except InputError:
            if seed % 20:
                continue
        yield bad


def _tried(room: Path, bad: Damaged, *files: str | Path) -> Tried:
    quick = ("--no-null", "--no-cache", "--prompt", "raw", "--max-new-tokens", "8", "--timeout", "30", *ALONE)
    done = loracheck(room, "check", *files, *quick, preexec_fn=_limit_memory)
    lost = done.fault or leftovers(room)
    if not lost and bad.broken and done.code == 0:
        lost = "a broken file passed"
    return Tried(done.how, lost and f"{bad.what}: {lost}")


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
