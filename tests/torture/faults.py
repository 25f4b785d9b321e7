"""Trouble in the middle of a run: the next run must find nothing broken, and end as if nothing had happened."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loracheck.store import Store
from real import BASE, TOOLCALLER
from suite_factory import write_files
from torture.running import ALONE, Done, Tried, findings, finish, folder, leftovers, loracheck, start, write_cases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CASES = 40
FORMS = ("json", "html", "markdown", "junit")


def disk_full(place: Path, share: float) -> Iterator[Tried]:
    room, check = _toy(place)
    reference = _reference(room, check)
    for form in FORMS:
        done = loracheck(room, *check, f"--{form}", "/dev/full", fake=True)
        yield Tried(f"{done.how}, report", done.fault or (done.code != 2 and "not refused") or None)
    with Path("/dev/full").open("w") as full:
        done = loracheck(room, *check, fake=True, stdout=full)
        yield Tried(f"{done.how}, screen", done.fault)
    # Where no file may grow over a limit, writing fails in the middle, in the store, its log or a report.
    for kilobytes in range(0, round(160 * share), 4):
        limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (kilobytes << 10, kilobytes << 10))
        yield _recovering(room, check, reference, preexec_fn=limit)
    for kilobytes in (16, 64, 256):
        with _small_disk(place / "disk", kilobytes) as mounted:
            if not mounted:
                continue
            yield _recovering(room, check, reference, env={"LORACHECK_CACHE": str(place / "disk")})
            done = loracheck(
                room, *check, "--json", place / "disk" / "r.json", "--html", place / "disk" / "r.html", fake=True
            )
            yield Tried(f"{done.how}, report", done.fault)
    with _small_disk(place / "disk", 1024) as mounted:
        if mounted:
            # The null adapter, a temporary file, has five megabytes.
            with_nulls = _real_check(room, "--null-runs", "1", "--no-cache")
            done = loracheck(room, *with_nulls, env={"TMPDIR": str(place / "disk")})
            yield Tried(f"{done.how}, temporary files", done.fault)


def files_changed(place: Path, share: float) -> Iterator[Tried]:
    room = folder(place / "run")
    files = {"base.gguf": BASE, "adapter.gguf": TOOLCALLER}
    for name, whole in files.items():
        shutil.copyfile(whole, room / name)
    check = _real_check(room, "--null-runs", "1", base=room / "base.gguf", adapter=room / "adapter.gguf")
    reference = _reference(room, check, fake=False)
    harms: list[Callable[[Path], Any]] = [_halve, _empty, _overwrite, Path.unlink, _replace]
    plans = [(name, harm) for name in files for harm in harms]
    for name, harm in plans[: max(1, round(len(plans) * share))]:
        shutil.rmtree(room / "cache")
        run = start(room, *check, "--json", room / "disturbed.json")
        _when_answers_are_kept(room, run)
        harm(room / name)
        done = finish(run)
        lost = done.fault or leftovers(room)
        if not lost and done.code in (0, 1):
            lost = _judged_something_else(room / "disturbed.json", reference)
        (room / name).unlink(missing_ok=True)
        shutil.copyfile(files[name], room / name)
        lost = lost or _differs(room, check, reference, fake=False)
        yield Tried(done.how, lost and f"{harm.__name__.strip('_')} {name}: {lost}")


def cache_gone(place: Path, share: float) -> Iterator[Tried]:
    room, check = _toy(place)
    reference = _reference(room, check)
    for number in range(round(12 * share)):
        run = start(room, *check, "--json", room / "r.json", fake=True, env={"TORTURE_PAUSE": "0.01"})
        _when_answers_are_kept(room, run, at_least=number)
        shutil.rmtree(room / "cache", ignore_errors=True)
        if number % 2:
            (room / "cache").write_text("not a folder")
        done = finish(run)
        lost = done.fault or _report_differs(room / "r.json", reference)
        if number % 2:
            (room / "cache").unlink(missing_ok=True)
        yield Tried(done.how, lost or _differs(room, check, reference))


def clock_jumps(place: Path, share: float) -> Iterator[Tried]:
    room, check = _toy(place)
    reference = _reference(room, check)
    for seed in range(round(12 * share)):
        done = loracheck(room, *check, "--json", room / "r.json", fake=True, env={"TORTURE_CLOCK": str(seed)})
        yield Tried(done.how, done.fault or _report_differs(room / "r.json", reference))
    adapter = room / "adapter.gguf"
    for bit, stamp in enumerate((0, time.time() + 10**9, time.time() - 10**9)):
        # Trained again, equal in size, and back under its old date: no old answer may be taken for a new one.
        content = adapter.read_bytes()
        adapter.write_bytes(content[:-1] + bytes([content[-1] ^ 1 << bit]))
        os.utime(adapter, (stamp, stamp))
        done = loracheck(room, *check, "--json", room / "r.json", fake=True)
        old = not done.fault and findings(room / "r.json", but=())["timing"]["answers_computed"] < CASES
        yield Tried(done.how, done.fault or ("answers of the old file" if old else None))


def output_closed(place: Path, share: float) -> Iterator[Tried]:
    room, check = _toy(place)
    _reference(room, check)
    shutil.copyfile(room / "reference.json", room / "saved.json")
    commands = [
        (*check, "--json", room / "r.json"), ("report", room / "saved.json"), ("inspect", room / "adapter.gguf"),
        ("report", room / "saved.json", "--format", "html"), ("cases", "show", "core", "--json"), ("check", "--help"),
    ]  # fmt: skip
    for command in commands[: max(1, round(len(commands) * share))]:
        for lines in (0, 1, 5):
            yield _read_only(room, command, lines)
        for closed in ((1,), (2,), (1, 2), (0, 1, 2)):
            done = loracheck(room, *command, fake=True, preexec_fn=partial(_close, closed))
            yield Tried("closed", _cut_short(done, command))


def _read_only(room: Path, command: tuple[Any, ...], lines: int) -> Tried:
    run = start(room, *command, fake=True)
    assert run.stdout is not None
    for _ in range(lines):
        run.stdout.readline()
    run.stdout.close()
    run.stdout = None
    return Tried("cut short", _cut_short(finish(run), command))


def _cut_short(done: Done, command: tuple[Any, ...]) -> str | None:
    lost = None if done.code == 141 and "Traceback" not in done.err else done.fault
    return lost and f"{' '.join(map(str, command[:2]))}: {lost}"


def _close(descriptors: tuple[int, ...]) -> None:
    for number in descriptors:
        os.close(number)


def _toy(place: Path) -> tuple[Path, tuple[Any, ...]]:
    """A run with toy files and canned answers."""
    room = folder(place / "run")
    files, cases = write_files(room), write_cases(room / "cases.jsonl", CASES)
    return room, ("check", "--base", files.base, "--adapter", files.adapter, "--cases", cases, "--null-runs", "2")


def _real_check(room: Path, *more: str, base: Path = BASE, adapter: Path = TOOLCALLER) -> tuple[Any, ...]:
    files = ("--base", base, "--adapter", adapter, "--cases", write_cases(room / "few.jsonl", 4))
    return ("check", *files, "--prompt", "raw", "--max-new-tokens", "12", *ALONE, *more)


def _reference(room: Path, check: tuple[Any, ...], *, fake: bool = True) -> dict[str, Any]:
    """What the undisturbed run finds."""
    done = loracheck(room, *check, "--no-cache", "--json", room / "reference.json", fake=fake)
    assert done.code in (0, 1), done
    return findings(room / "reference.json")


def _recovering(room: Path, check: tuple[Any, ...], reference: dict[str, Any], **trouble: Any) -> Tried:
    """A run in trouble, and one without on what the first has left."""
    written = [option for form in FORMS for option in (f"--{form}", room / f"out.{form}")]
    shutil.rmtree(room / "cache", ignore_errors=True)
    done = loracheck(room, *check, *written, fake=True, **trouble)
    lost = done.fault
    if (room / "out.json").exists():
        lost = lost or _report_differs(room / "out.json", reference)
    halves = [file.name for file in room.glob("*.part")] + [file.name for file in room.glob(".*.part")]
    lost = lost or (f"left {halves}" if halves else None)
    return Tried(done.how, lost or _differs(room, check, reference))


def _differs(room: Path, check: tuple[Any, ...], reference: dict[str, Any], *, fake: bool = True) -> str | None:
    """A second run, with the store the first has left."""
    done = loracheck(room, *check, "--json", room / "again.json", fake=fake)
    return done.fault or _report_differs(room / "again.json", reference)


def _report_differs(report: Path, reference: dict[str, Any]) -> str | None:
    # That the store was off is said in a warning, and is all that may differ.
    found = findings(report, but=("timing", "warnings"))
    keys = [key for key in found if found[key] != reference[key]]
    return f"the report differs in {keys}" if keys else None


def _judged_something_else(report: Path, reference: dict[str, Any]) -> str | None:
    """What was computed from a file that changes may be anything, but must not be given out as a finding."""
    told = any("has changed" in warning for warning in findings(report)["warnings"])
    return None if told else _report_differs(report, reference)


def _when_answers_are_kept(room: Path, run: subprocess.Popen[str], at_least: int = 1) -> None:
    path = room / "cache" / "answers.sqlite"
    while run.poll() is None:
        if path.is_file():
            with Store(path) as store:
                if store.count("answer") >= at_least:
                    return
        time.sleep(0.02)


def _halve(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _empty(path: Path) -> None:
    os.truncate(path, 0)


def _overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(os.urandom(1 << 20))


def _replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes()[:-64] + bytes(64))
    other.replace(path)


@contextmanager
def _small_disk(path: Path, kilobytes: int) -> Iterator[bool]:
    """A disk that is soon full, where we may make one."""
    path.mkdir(exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "torture", str(path)], capture_output=True
    )
    try:
        yield mounted.returncode == 0
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", "-l", str(path)], check=True)
