"""Where a report comes from: the files of a suite by content, its settings and seeds, the machine."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from loracheck.cases.suite import AdapterEntry, Suite
from loracheck.engine import AdapterUse
from loracheck.engine.identity import llama_cpp_version
from loracheck.models import GgufFile, LoraFile, check_fits, parts_of_model, read_lora
from loracheck.models.peft import converted, is_peft_folder
from loracheck.results import AdapterRecord, FileRecord, Provenance

HashOf = Callable[[Path], str]


@dataclass(frozen=True, slots=True)
class AdapterFile:
    """An adapter of the suite, as the GGUF file that llama.cpp is given."""

    entry: AdapterEntry
    lora: LoraFile
    sources: dict[str, str] | None
    """Of a PEFT folder, the sha256 of each file that it was converted from."""

    @property
    def use(self) -> AdapterUse:
        return AdapterUse(self.lora.path, self.entry.scale)


def adapter_file(entry: AdapterEntry, model: GgufFile) -> AdapterFile:
    """An adapter that fits the model, converted for it if need be."""
    gguf, sources = entry.gguf, None
    if is_peft_folder(gguf):
        conversion = converted(gguf, model.path)
        gguf, sources = conversion.gguf, conversion.sources
    lora = read_lora(gguf)
    check_fits(lora, model)
    return AdapterFile(entry, lora, sources)


def provenance_of(
    suite: Suite,
    candidate: Path | None,
    base_adapters: Sequence[AdapterFile],
    under_test: Sequence[AdapterFile],
    hash_of: HashOf,
) -> Provenance:
    """Every file is read whole, unless its hash is known. A candidate that is yet to be made has none."""
    return Provenance(
        suite_file=None if suite.file is None else str(suite.file),
        outside_suite_folder=tuple(_outside(suite)),
        model=model_record(suite.models.base.gguf, hash_of),
        candidate=None if candidate is None else model_record(candidate, hash_of),
        base_adapters=tuple(_adapter_record(adapter, hash_of) for adapter in base_adapters),
        ft_adapters=tuple(_adapter_record(adapter, hash_of) for adapter in under_test),
        settings=suite.defaults.model_dump(),
        suite=suite.model_dump(mode="json"),
        seeds={
            "bootstrap": suite.defaults.seed,
            **({"tries": suite.defaults.seed} if suite.defaults.trials else {}),
            "null": [seed for entry in suite.entries for seed in entry.seeds],
        },
        llama_cpp=llama_cpp_version(),
        python=platform.python_version(),
        machine=f"{platform.system()} {platform.machine()}",
    )


def model_record(path: Path, hash_of: HashOf) -> FileRecord:
    """A model by content, every part of it where it is split; by name alone where it is not there."""
    if not path.exists():
        return FileRecord(path=str(path))
    parts = parts_of_model(path)
    records = tuple(FileRecord(path=str(part), sha256=hash_of(part)) for part in parts)
    return records[0].model_copy(update={"parts": records if len(parts) > 1 else ()})


def _adapter_record(adapter: AdapterFile, hash_of: HashOf) -> AdapterRecord:
    return AdapterRecord(
        path=str(adapter.entry.gguf),
        sha256=hash_of(adapter.lora.path),
        scale=adapter.entry.scale,
        peft=adapter.sources,
    )


def _outside(suite: Suite) -> Iterator[str]:
    if suite.file is None:
        return
    folder = suite.file.resolve().parent
    for path in suite.files:
        if not path.resolve().is_relative_to(folder):
            yield str(path.resolve())
