"""A file of a few kilobytes that is known like the real models, and sources for it that do as they are told."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from loracheck.fetch import ModelFile
from loracheck.fetch.source import Source, SourceFailed, Tell

CONTENT = Random(0).randbytes(3000)
NAME = "small.gguf"


def known(*sources: Source) -> ModelFile:
    return ModelFile(NAME, len(CONTENT), hashlib.sha256(CONTENT).hexdigest(), "Apache-2.0", sources)


@dataclass
class Told:
    """The source called `name`. It brings this content up to each of its `stops`, one for each time it is asked."""

    name: str = "source"
    content: bytes = CONTENT
    stops: list[int] = field(default_factory=lambda: [len(CONTENT)])
    starts: list[int] = field(default_factory=list)
    """Where it was asked to begin, each time."""
    at_stop: Callable[[], None] = lambda: None

    def __str__(self) -> str:
        return self.name

    def by_hand(self) -> str:
        return f"ask for the {self.name}"

    def read(self, start: int, size: int, tell: Tell) -> Generator[bytes]:
        assert size == len(CONTENT)
        self.starts.append(start)
        stop = self.stops.pop(0) if self.stops else start
        for begin in range(start, stop, 500):
            yield self.content[begin : min(begin + 500, stop)]
        self.at_stop()
        if stop < size:
            raise SourceFailed(f"stopped at {stop}")


def ignore(done: int, total: int) -> None:
    assert 0 <= done <= total == len(CONTENT)


def kept(cache_folder: Path) -> dict[str, bytes]:
    """Every file in the cache, and every folder that should not be there."""
    files = {str(path.relative_to(cache_folder)): path for path in sorted(cache_folder.rglob("*"))}
    files.pop("models", None)
    return {name: path.read_bytes() if path.is_file() else b"a folder" for name, path in files.items()}
