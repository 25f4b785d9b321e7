"""What the cache folder holds: the store of answers and fetched models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from loracheck.errors import InputError
from loracheck.files import cache_folder
from loracheck.store import Store, database_files, store_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Cached:
    folder: Path
    answers: int
    store_bytes: int
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
    return Cached(
        folder=folder,
        answers=answers,
        store_bytes=sum(file.stat().st_size for file in database_files(path)),
        models={model.name: model.stat().st_size for model in _models(folder)},
        warnings=tuple(warnings),
    )


def remove(*, models: bool) -> list[Path]:
    """Remove the store, and the fetched models on demand; what was there."""
    folder, path = cache_folder(), store_path()
    found = [*database_files(path), *(_models(folder) if models else ())]
    for file in found:
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(f"{file}: cannot be removed: {error.strerror}") from None
    return found


def _models(folder: Path) -> Iterator[Path]:
    return (path for path in sorted((folder / "models").glob("*.gguf")) if path.is_file())
