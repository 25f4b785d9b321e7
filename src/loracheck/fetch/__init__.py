"""How a model file that we know by its SHA-256 gets onto this machine: found there or fetched, whole or not at all.

A source is asked only for the bytes that are still missing. So an interrupted fetch goes on where it stopped, even when
it goes on from another source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from io import BufferedWriter
from pathlib import Path

from loracheck.errors import InputError
from loracheck.fetch.source import Source, SourceFailed, Tell
from loracheck.files import cache_folder, only_here, sha256_of
from loracheck.progress import bytes_bar
from loracheck.windows import refuse_on_windows

UNFINISHED = ".part"
"""What a file's name ends with until it is whole."""

Progress = Callable[[int, int], None]
"""Told how many bytes of how many are there."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    name: str
    size: int
    sha256: str
    license: str
    sources: tuple[Source, ...]
    """In the order they are asked."""


def checkout_folder() -> Path:
    return Path(__file__).parents[3] / "models"


def cached_models() -> Path:
    return cache_folder() / "models"


def find(model: ModelFile) -> Path | None:
    """The file in a checkout's models/ folder or in the cache; None when it is in neither."""
    for folder in (checkout_folder(), cached_models()):
        path = folder / model.name
        if _is_whole(path, model):
            return path
    return None


def _is_whole(path: Path, model: ModelFile) -> bool:
    # A fetched file was hashed before it got its name; the size guards against a copy cut short.
    return path.is_file() and path.stat().st_size == model.size


def find_or_fetch(model: ModelFile) -> Path:
    """The file, with its hash checked; fetched first, with a bar on standard error, when it is not there yet."""
    path = find(model)
    if path is None:
        with bytes_bar(f"fetching {model.name} ({model.license})") as progress:
            return fetch(model, progress)
    digest = sha256_of(path)
    if digest != model.sha256:
        raise InputError(f"{path}: this has sha256 {digest}, expected {model.sha256}; remove it and try again")
    return path


def fetch(model: ModelFile, progress: Progress) -> Path:
    """Get the file from the first source that has it, check it, and put it in the cache."""
    refuse_on_windows("fetching a model")
    target = cached_models() / model.name
    unfinished = target.with_name(f"{target.name}{UNFINISHED}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _brought_so_far(unfinished, lambda done: progress(done, model.size)) as file:
            # Another process may have brought it while we waited.
            if not _is_whole(target, model):
                _complete(file, model, progress)
                unfinished.replace(target)
    except OSError as error:
        raise InputError(f"{target}: {error.strerror or error}; LORACHECK_CACHE moves it") from None
    return target


@contextmanager
def _brought_so_far(unfinished: Path, tell: Tell) -> Iterator[BufferedWriter]:
    """What earlier attempts brought, open to go on; nothing is left behind when nothing came."""
    with only_here(unfinished, tell) as file:
        try:
            yield file
        finally:
            if not file.tell():
                unfinished.unlink(missing_ok=True)


def _complete(file: BufferedWriter, model: ModelFile, progress: Progress) -> None:
    """Ask one source after the other, until the file is the one we know."""
    failures = []
    try:
        for source in model.sources:
            failure = _append(file, source, model.size, progress) or _mismatch(file, model.sha256)
            if failure is None:
                return
            failures.append(f"  {source}: {failure}")
    except KeyboardInterrupt:
        raise KeyboardInterrupt(*_what_is_kept(file, model)) from None
    raise InputError(
        "\n".join(
            (
                f"{model.name} is not on this machine and could not be fetched:",
                *failures,
                *_what_is_kept(file, model),
                f"Where there is no network: on another machine {model.sources[0].by_hand()}, "
                f"and put it at {cached_models() / model.name}",
            )
        )
    )


def _append(file: BufferedWriter, source: Source, size: int, progress: Progress) -> str | None:
    """Take from a source as long as it brings something; why the file is not whole then."""
    furthest = file.tell()

    def tell(done: int) -> None:
        nonlocal furthest
        # What a source has at hand counts before it is ours, and must not be seen to go back.
        furthest = max(furthest, done)
        progress(furthest, size)

    failure = "nothing came"
    while (start := file.tell()) < size:
        tell(start)
        try:
            with closing(source.read(start, size, tell)) as chunks:
                for chunk in chunks:
                    file.write(chunk)
                    tell(file.tell())
        except SourceFailed as failed:
            failure = str(failed)
        if file.tell() == start:
            return failure
    return None


def _mismatch(file: BufferedWriter, sha256: str) -> str | None:
    """What is wrong with a whole file, which is emptied then."""
    file.flush()
    digest = sha256_of(Path(file.name))
    if digest == sha256:
        return None
    file.seek(0)
    file.truncate()
    return f"what came has sha256 {digest}, expected {sha256}; it was thrown away"


def _what_is_kept(file: BufferedWriter, model: ModelFile) -> list[str]:
    kept = file.tell()
    return [f"{kept:,} of {model.size:,} bytes are kept; the next attempt goes on from there."] if kept else []
