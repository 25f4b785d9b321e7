"""What the cache folder holds: the store of answers, converted adapters, quantized and fetched models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from loracheck.errors import InputError
from loracheck.fetch import UNFINISHED, cached_models
from loracheck.files import CONVERTED, cache_folder, sweep
from loracheck.quantized import quantized_folder, unfinished_files
from loracheck.store import Store, database_files, store_path


@dataclass(frozen=True, slots=True)
class Cached:
    folder: Path
    answers: int
    store_bytes: int
    converted: dict[str, int]
    """The size of each adapter that was converted from a PEFT folder."""
    quantized: dict[str, int]
    """The size of each model that was quantized for a check."""
    unquantized: dict[str, int]
    """How much there is of each that is being quantized, or was when its process was killed."""
    models: dict[str, int]
    """The size of each fetched model."""
    unfinished: dict[str, int]
    """How much there is of each model whose fetching was interrupted."""
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
        converted=_sizes(_gguf_files(folder / CONVERTED)),
        quantized=_sizes(_gguf_files(quantized_folder())),
        unquantized=_sizes(unfinished_files()),
        models=_sizes(_gguf_files(cached_models())),
        unfinished=_sizes(_gguf_files(cached_models(), UNFINISHED)),
        warnings=tuple(warnings),
    )


def remove(*, models: bool) -> list[Path]:
    """Remove all that can be made again, and the fetched models on demand, whole or not; what was there."""
    found = [
        *database_files(store_path()),
        *_gguf_files(cache_folder() / CONVERTED),
        *_gguf_files(quantized_folder()),
    ]
    if models:
        found += [*_gguf_files(cached_models()), *_gguf_files(cached_models(), UNFINISHED)]
    for file in found:
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(f"{file}: cannot be removed: {error.strerror}; remove it by hand") from None
    parts = unfinished_files()
    # What another process is quantizing right now stays.
    sweep(parts)
    return [*found, *(part for part in parts if not part.exists())]


def _gguf_files(folder: Path, ending: str = "") -> list[Path]:
    return [path for path in sorted(folder.glob(f"*.gguf{ending}")) if path.is_file()]


def _sizes(files: list[Path]) -> dict[str, int]:
    return {file.name: file.stat().st_size for file in files}
