"""The adapters of one loaded model: each is made if need be, loaded once, and kept for the next view."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from loracheck.engine import AdapterPart, AdapterSource, NullAdapter
from loracheck.engine.native import forget_log, last_words, llama_cpp
from loracheck.errors import AdapterError
from loracheck.models.null import write_null
from loracheck.models.padded import write_padded
from loracheck.models.part import write_part

_MOST = 16


class LoadedAdapters:
    def __init__(self, model: Any, *, fill_up: bool) -> None:
        """`fill_up` those of a small rank: where kernels are known to like that."""
        self._model = model
        self._fill_up = fill_up
        self._loaded: dict[AdapterSource, Any] = {}

    def close(self) -> None:
        for adapter in self._loaded.values():
            llama_cpp.llama_adapter_lora_free(adapter)
        self._loaded.clear()

    def handles(self, sources: Sequence[AdapterSource]) -> list[Any]:
        self._make_room(sources)
        for source in sources:
            if source not in self._loaded:
                self._loaded[source] = self._load(source) if isinstance(source, Path) else self._load_made(source)
        return [self._loaded[source] for source in sources]

    def _make_room(self, needed: Sequence[AdapterSource]) -> None:
        """Drop the adapters that were loaded first: a sweep goes through hundreds."""
        # All parts of an adapter together are no larger than it is.
        whole = [source for source in self._loaded if not isinstance(source, AdapterPart)]
        for source in [source for source in whole if source not in needed][: max(0, len(whole) - _MOST + 1)]:
            llama_cpp.llama_adapter_lora_free(self._loaded.pop(source))

    def _load_made(self, source: NullAdapter | AdapterPart) -> Any:
        """llama.cpp takes adapters from files; it needs this one no longer once it is loaded."""
        with TemporaryDirectory(prefix="loracheck-") as folder:
            path = Path(folder) / "made.gguf"
            if isinstance(source, AdapterPart):
                return self._load_part(write_part(source.of, path, source.pairs), source)
            write_null(
                source.like,
                path,
                seed=source.seed,
                init_scale=source.init_scale,
                rank_multiplier=source.rank_multiplier,
                match=source.match,
            )
            return self._load(path)

    def _load_part(self, path: Path, part: AdapterPart) -> Any:
        try:
            return self._load(path)
        except AdapterError:
            raise AdapterError(
                f"{part.of}: llama.cpp refuses {', '.join(part.pairs[:3])} as an adapter of its own, so what it does "
                f"cannot be told from what the rest does\n{last_words()}"
            ) from None

    def _load(self, path: Path) -> Any:
        with TemporaryDirectory(prefix="loracheck-") as folder:
            file = self._with_a_rank_for_kernels(path, Path(folder) / "padded.gguf")
            forget_log()
            adapter = llama_cpp.llama_adapter_lora_init(self._model, os.fsencode(file))
        if not adapter:
            raise AdapterError(f"{path}: llama.cpp refused the adapter\n{last_words()}")
        return adapter

    def _with_a_rank_for_kernels(self, path: Path, out: Path) -> Path:
        """The file to load: `out`, with the rank filled up, or the adapter as it is where that does not help."""
        if not self._fill_up:
            return path
        try:
            return write_padded(path, out) or path
        except AdapterError:
            # llama.cpp is asked anyway, and tells what it thinks of the file.
            return path
