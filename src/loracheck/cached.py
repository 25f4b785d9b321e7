"""What the cache folder holds: the store of answers, converted adapters and fetched models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from loracheck.errors import InputError
from loracheck.files import CONVERTED, cache_folder
from loracheck.store import Store, database_files, store_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Cached:
    folder: Path
    answers: int
    store_bytes: int
    converted: int
    """How many PEFT folders were converted."""
    converted_bytes: int
    models: Mapping[str, int]
    """The size of each fetched model."""
    warnings: tuple[str, ...]


def look() -> Cached:
    folder, path = cache_folder(), store_path()
    answers, warnings = 0, []
    # Looking must not make a store where there is none.
    if path.is_file():
        with Store(path) as store:
            answers, warnings = store.count("answer"), store.warnings
    adapters = list(_converted(folder))
    return Cached(
        folder=folder,
        answers=answers,
        store_bytes=sum(file.stat().st_size for file in database_files(path)),
        converted=len(adapters),
        converted_bytes=sum(adapter.stat().st_size for adapter in adapters),
        models={model.name: model.stat().st_size for model in _models(folder)},
        warnings=tuple(warnings),
    )


def remove(*, models: bool) -> list[Path]:
    """Remove the store and converted adapters, and the fetched models on demand; what was there."""
    folder, path = cache_folder(), store_path()
    found = [*database_files(path), *_converted(folder), *(_models(folder) if models else ())]
    for file in found:
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(f"{file}: cannot be removed: {error.strerror}") from None
    return found


def _models(folder: Path) -> Iterator[Path]:
    return _gguf_files(folder / "models")


def _converted(folder: Path) -> Iterator[Path]:
    return _gguf_files(folder / CONVERTED)


def _gguf_files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.glob("*.gguf")) if path.is_file())
