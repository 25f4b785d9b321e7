"""Read: suite, cases, GGUF headers and chat template become a Plan, all that can be known without a model.

Whatever is wrong with an input is found here, before anything is hashed or loaded.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from loracheck.cases.case import Case
from loracheck.cases.load import find_bad_schema
from loracheck.cases.suite import AdapterEntry, Defaults, Suite
from loracheck.engine import AdapterUse, Prompt, Settings, View
from loracheck.engine.identity import llama_cpp_version
from loracheck.errors import CasesError
from loracheck.models import GgufFile, LoraFile, chat_template, check_fits, read_lora, read_model_header
from loracheck.models.model import parts_of_model
from loracheck.models.peft import converted, is_peft_folder
from loracheck.probes import KINDS
from loracheck.probes.probe import Questions, Step, Views
from loracheck.prompts.format import PromptFormat, write_prompts
from loracheck.results import AdapterRecord, FileRecord, Provenance
from loracheck.store import Store

ANSWER_TOKENS = 256
THINKING_TOKENS = 1024


# A row that is alone in its step is rounded otherwise than in a tile of four.
_OTHER_WIDTH = 1


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


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that will be asked, and of whom."""

    suite: Suite
    views: Views
    prompts: PromptFormat
    """How the cases are put to the model."""
    adapters: tuple[AdapterFile, ...]
    """Every adapter of the tuned view, in its order."""
    settings: Settings
    steps: tuple[Step[Any], ...]
    """One for each entry of the suite."""
    provenance: Provenance
    loracheck_version: str

    @property
    def questions(self) -> tuple[Questions, ...]:
        """What each view is asked, all steps together and everything once: the base, the adapter, then the nulls."""
        merged: dict[View, Questions] = {}
        for questions in (each for step in self.steps for each in step.questions):
            known = merged.get(questions.view) or Questions(questions.view, ())
            merged[questions.view] = _merged(known, questions)
        first = (self.views.base, self.views.tuned)
        return tuple(sorted(merged.values(), key=lambda each: (*(each.view != view for view in first),)))

    @property
    def warnings(self) -> Iterator[str]:
        """What a reader must know about the prompts and the adapters."""
        yield from self.prompts.warnings
        for lora in (adapter.lora for adapter in self.adapters):
            if lora.ignored:
                more = " …" if len(lora.ignored) > 4 else ""
                yield (
                    f"{lora.path}: llama.cpp ignores {len(lora.ignored)} of its tensors: "
                    f"{', '.join(lora.ignored[:4])}{more}"
                )
            if lora.alora:
                yield f"{lora.path}: an activated LoRA; it is applied to every token here"


def read(suite: Suite, store: Store) -> Plan:
    """The plan of a suite. The store knows the hashes of files that have not changed since it last saw them."""
    model = read_model_header(suite.models.base.gguf)
    adapters = tuple(_adapter_file(entry, model) for entry in suite.adapters)
    if suite.defaults.schema_rules == "strict":
        _confirm_schemas(suite)
    # All cases at once: a chat template runs in a process of its own, which takes its time to start.
    cases = [case for entry in suite.entries for case in KINDS[entry.kind].cases(entry)]
    prompts, texts = write_prompts(chat_template(model), cases, suite.defaults, model.path, store)
    own_adapters = tuple(adapter.use for adapter in adapters[: len(suite.models.base.adapters)])
    views = Views(
        base=View("base", model.path, own_adapters),
        tuned=View("adapter", model.path, tuple(adapter.use for adapter in adapters)),
        asked=prompts.asked,
        read_as=None if suite.defaults.dialect == "auto" else suite.defaults.dialect,
        strict_schema=suite.defaults.schema_rules == "strict",
        seed=suite.defaults.seed,
        again=View("base again", model.path, own_adapters, width=_OTHER_WIDTH) if suite.defaults.flips else None,
    )
    return Plan(
        suite=suite,
        views=views,
        prompts=prompts,
        adapters=adapters,
        settings=engine_settings(suite.defaults),
        steps=tuple(_steps(suite, iter(texts), views, thinks=prompts.thinks)),
        # Last, because it reads every byte: what is wrong with an input has been said by now.
        provenance=_provenance(suite, adapters, store.sha256_of),
        loracheck_version=version("loracheck"),
    )


def _adapter_file(entry: AdapterEntry, model: GgufFile) -> AdapterFile:
    gguf, sources = entry.gguf, None
    if is_peft_folder(gguf):
        conversion = converted(gguf, model.path)
        gguf, sources = conversion.gguf, conversion.sources
    lora = read_lora(gguf)
    check_fits(lora, model)
    return AdapterFile(entry, lora, sources)


def _confirm_schemas(suite: Suite) -> None:
    """With strict schemas, none of them may itself be invalid."""
    for entry in suite.entries:
        complaint = find_bad_schema(entry.asks)
        if complaint is not None:
            raise CasesError(f"{entry.name}: {complaint}")


def engine_settings(defaults: Defaults) -> Settings:
    return Settings(
        n_ctx=defaults.n_ctx, threads=defaults.threads, gpu_layers=defaults.gpu_layers, parallel=defaults.parallel
    )


def _steps(suite: Suite, texts: Iterator[str], views: Views, *, thinks: bool) -> Iterator[Step[Any]]:
    """One for each entry; `texts` are the prompts of all their cases."""
    nulls = None
    for entry in suite.entries:
        probe = KINDS[entry.kind]
        asked = tuple(
            Prompt(case.id, next(texts), longest_answer(case, suite.defaults, thinks=thinks))
            for case in probe.cases(entry)
        )
        step = probe.plan(entry, asked, views, nulls)
        nulls = step.nulls or nulls
        yield step


def longest_answer(case: Case, defaults: Defaults, *, thinks: bool) -> int:
    """In tokens: as the case or the suite says, and otherwise by whether the model may think before it answers."""
    given = case.max_new_tokens or defaults.max_new_tokens
    return given or (THINKING_TOKENS if thinks else case.answer_tokens or ANSWER_TOKENS)


def _merged(known: Questions, more: Questions) -> Questions:
    # Within one probe, too, cases may differ in nothing that the model gets to read.
    prompts: dict[tuple[str, int], Prompt] = {}
    for prompt in (*known.prompts, *more.prompts):
        prompts.setdefault((prompt.text, prompt.max_new_tokens), prompt)
    return replace(
        known,
        prompts=tuple(prompts.values()),
        traced=known.traced or more.traced,
        follows=known.follows or more.follows,
    )


def _provenance(suite: Suite, adapters: Sequence[AdapterFile], hash_of: Callable[[Path], str]) -> Provenance:
    own = len(suite.models.base.adapters)
    records = [
        AdapterRecord(
            path=str(adapter.entry.gguf),
            sha256=hash_of(adapter.lora.path),
            scale=adapter.entry.scale,
            peft=adapter.sources,
        )
        for adapter in adapters
    ]
    return Provenance(
        suite_file=None if suite.file is None else str(suite.file),
        outside_suite_folder=tuple(_outside(suite)),
        model=model_record(suite.models.base.gguf, hash_of),
        base_adapters=tuple(records[:own]),
        ft_adapters=tuple(records[own:]),
        settings=suite.defaults.model_dump(),
        suite=suite.model_dump(mode="json"),
        seeds={
            "bootstrap": suite.defaults.seed,
            "null": [seed for entry in suite.entries for seed in entry.seeds],
        },
        llama_cpp=llama_cpp_version(),
        python=platform.python_version(),
        machine=f"{platform.system()} {platform.machine()}",
    )


def model_record(path: Path, hash_of: Callable[[Path], str]) -> FileRecord:
    """A model by content, every part of it where it is split."""
    parts = parts_of_model(path)
    records = tuple(FileRecord(path=str(part), sha256=hash_of(part)) for part in parts)
    return records[0].model_copy(update={"parts": records if len(parts) > 1 else ()})


def _outside(suite: Suite) -> Iterator[str]:
    if suite.file is None:
        return
    folder = suite.file.resolve().parent
    for path in (suite.models.base.gguf, *(entry.gguf for entry in suite.adapters)):
        if not path.resolve().is_relative_to(folder):
            yield str(path.resolve())
