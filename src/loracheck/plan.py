"""Read: suite, cases, GGUF headers and chat template become a Plan, all that can be known without a model.

Whatever is wrong with an input is found here, before anything is hashed or loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeAlias

from loracheck.cases.case import Case
from loracheck.cases.entries import Entry
from loracheck.cases.load import find_bad_schema
from loracheck.cases.suite import AdapterEntry, Defaults, Suite
from loracheck.engine import Prompt, Sampling, Settings, Try, View
from loracheck.errors import CasesError, ModelError, NoEffectError, SuiteError
from loracheck.models import (
    GgufFile,
    chat_template,
    is_same_tokenizer,
    read_model_header,
    vocabulary_difference,
)
from loracheck.models.model import parts_of_model
from loracheck.probes import KINDS
from loracheck.probes.probe import Prompts, Questions, Step, Views
from loracheck.prompts.format import PromptFormat, write_prompts
from loracheck.provenance import AdapterFile, adapter_file, provenance_of
from loracheck.results import Provenance
from loracheck.store import Store

ANSWER_TOKENS = 256
THINKING_TOKENS = 1024


Written: TypeAlias = Mapping[Path, tuple[PromptFormat, list[str]]]
"""How cases are put to each model file, and the texts of all of them."""

# A row that is alone in its step is rounded otherwise than in a tile of four.
_OTHER_WIDTH = 1


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that will be asked, and of whom."""

    suite: Suite
    views: Views
    formats: Mapping[Path, PromptFormat]
    """How the cases are put to each model file, the base first."""
    adapters: tuple[AdapterFile, ...]
    """Every adapter of the tuned view, in its order."""
    base_adapters: tuple[AdapterFile, ...]
    reads_alike: bool
    """Whether both views get to read the same tokens: one tokenizer, and the same prompts."""
    settings: Settings
    steps: tuple[Step[Any], ...]
    """One for each entry of the suite."""
    provenance: Provenance
    loracheck_version: str

    @property
    def files(self) -> frozenset[Path]:
        """Every file that its answers come from."""
        adapters = (adapter.lora.path for adapter in self.base_adapters)
        return frozenset((*parts_of_model(self.views.base.model), *adapters, *self.shipped_files))

    @property
    def shipped_files(self) -> frozenset[Path]:
        """Those of the view that is checked."""
        return frozenset((*parts_of_model(self.views.tuned.model), *(adapter.lora.path for adapter in self.adapters)))

    @property
    def questions(self) -> tuple[Questions, ...]:
        """What each view is asked, all steps together and everything once: the base, the adapter, then the nulls.

        All views of one model file come together, so that each file is loaded once.
        """
        merged: dict[View, Questions] = {}
        for questions in (each for step in self.steps for each in step.questions):
            known = merged.get(questions.view) or Questions(questions.view, ())
            merged[questions.view] = _merged(known, questions)
        base, tuned = self.views.base, self.views.tuned
        order = {view: (view.model != base.model, view != base, view != tuned) for view in merged}
        return tuple(sorted(merged.values(), key=lambda each: order[each.view]))

    @property
    def warnings(self) -> Iterator[str]:
        """What a reader must know about the prompts and the adapters."""
        yield from dict.fromkeys(warning for used in self.formats.values() for warning in used.warnings)
        for lora in {adapter.lora.path: adapter.lora for adapter in (*self.base_adapters, *self.adapters)}.values():
            if lora.ignored:
                more = " …" if len(lora.ignored) > 4 else ""
                yield (
                    f"{lora.path}: llama.cpp ignores {len(lora.ignored)} of its tensors: "
                    f"{', '.join(lora.ignored[:4])}{more}"
                )
            if lora.alora:
                yield f"{lora.path}: an activated LoRA; it is applied to every token here"

    @property
    def files_in_words(self) -> str:
        """The model of each view by content, a line each."""
        base, candidate = self.provenance.model, self.provenance.candidate or self.provenance.model
        records = (("base", base), ("candidate", candidate))
        return "\n".join(f"  {name} {each.path}, sha256 {', '.join(map(str, each.hashes))}" for name, each in records)


def read(suite: Suite, store: Store, quantized: Path | None = None) -> Plan:
    """The plan of a suite. The store knows the hashes of files that have not changed since it last saw them.

    `quantized` is the file that the suite's `quantize` asks for. Until that is made, its place is taken by a name: all
    but what the file computes is known from the base.
    """
    base = read_model_header(suite.models.base.gguf)
    candidate = suite.models.ft.gguf or quantized
    tuned = base if candidate is None or _is_same_file(candidate, base.path) else read_model_header(candidate)
    on_base = _adapter_files(suite.adapters if suite.models.ft.gguf is None else suite.models.base.adapters, base)
    on_tuned = on_base if candidate is None else _adapter_files(suite.tuned_adapters, tuned)
    if suite.defaults.schema_rules == "strict":
        _confirm_schemas(suite)
    tuned_model = _to_be_made(suite) if suite.defaults.quantize and quantized is None else tuned.path
    written = _write(suite, base, tuned, tuned_model, store)
    no_drift = _why_no_drift(suite, base, tuned)
    views = _views(suite, base.path, tuned_model, on_base, on_tuned, written, no_drift)
    steps = tuple(_steps(suite, written, views))
    own = len(suite.models.base.adapters)
    plan = Plan(
        suite=suite,
        views=views,
        formats={model: used for model, (used, _) in written.items()},
        adapters=on_tuned,
        base_adapters=on_base[:own],
        reads_alike=is_same_tokenizer(base, tuned) and all(step.prompts.are_alike for step in steps),
        settings=engine_settings(suite.defaults),
        steps=steps,
        # Last, because it reads every byte: what is wrong with an input has been said by now.
        provenance=provenance_of(
            suite,
            candidate or (tuned_model if suite.defaults.quantize else None),
            on_base[:own],
            on_tuned[len(views.bare.adapters) :],
            store.sha256_of,
        ),
        loracheck_version=version("loracheck"),
    )
    _confirm_two_views(plan)
    return plan


def _is_same_file(one: Path, other: Path) -> bool:
    return one.exists() and one.samefile(other)


def _to_be_made(suite: Suite) -> Path:
    return Path(f"{suite.models.base.gguf} as {suite.defaults.quantize}")


def _adapter_files(entries: Iterable[AdapterEntry], model: GgufFile) -> tuple[AdapterFile, ...]:
    return tuple(adapter_file(entry, model) for entry in entries)


def _write(suite: Suite, base: GgufFile, tuned: GgufFile, tuned_model: Path, store: Store) -> Written:
    """The prompts of all cases, for each model file by its own chat template, unless all are to use the base's."""
    # All cases at once: a chat template runs in a process of its own, which takes its time to start.
    cases = [case for entry in suite.entries for case in KINDS[entry.kind].cases(entry)]
    template, other = chat_template(base), chat_template(tuned)
    written = {base.path: write_prompts(template, cases, suite.defaults, base.path, store)}
    if other == template or suite.defaults.template == "base":
        return written | {tuned_model: written[base.path]}
    return written | {tuned_model: write_prompts(other, cases, suite.defaults, tuned_model, store)}


def _views(
    suite: Suite,
    base: Path,
    tuned: Path,
    on_base: Sequence[AdapterFile],
    on_tuned: Sequence[AdapterFile],
    written: Written,
    no_drift: str | None,
) -> Views:
    full, uses = (tuple(adapter.use for adapter in adapters) for adapters in (on_base, on_tuned))
    own = full[: len(suite.models.base.adapters)]
    # A named candidate is without what belongs to the base.
    kept = uses[: len(own)] if suite.models.ft.gguf is None else ()
    is_adapted = len(uses) > len(kept)
    return Views(
        base=View("base", base, own),
        tuned=View("adapter" if is_adapted else "candidate", tuned, uses),
        bare=View("no adapter", tuned, kept),
        asked={model: used.asked for model, (used, _) in written.items()},
        read_as=None if suite.defaults.dialect == "auto" else suite.defaults.dialect,
        strict_schema=suite.defaults.schema_rules == "strict",
        seed=suite.defaults.seed,
        again=View("base again", base, own, width=_OTHER_WIDTH) if suite.defaults.flips else None,
        unquantized=View("unquantized", base, full) if suite.defaults.quantize and is_adapted else None,
        no_drift=no_drift,
        attempts=_attempts(suite),
    )


def _why_no_drift(suite: Suite, base: GgufFile, tuned: GgufFile) -> str | None:
    """None where one view can read what the other wrote, token by token."""
    if suite.defaults.drift is False:
        return "it was switched off"
    difference = vocabulary_difference(base, tuned)
    if difference is None:
        return None
    if suite.defaults.drift:
        raise ModelError(
            f"{tuned.path}: drift can only be measured where both models have one vocabulary: {difference}; "
            "leave out --drift"
        )
    return f"the vocabularies differ: {difference}"


def _confirm_two_views(plan: Plan) -> None:
    """The same file with the same adapters is no candidate, whatever it is called."""
    provenance = plan.provenance
    if provenance.candidate is None:
        return
    own = [(adapter.sha256, adapter.scale) for adapter in provenance.base_adapters]
    added = [(adapter.sha256, adapter.scale) for adapter in provenance.ft_adapters]
    stack = (own if plan.views.bare.adapters else []) + added
    if provenance.candidate.hashes == provenance.model.hashes and stack == own:
        raise NoEffectError(
            "the candidate is its base: the same model with the same adapters, by content; "
            "was another file meant?\n" + plan.files_in_words
        )


def _place(suite: Suite, entry: Entry) -> str:
    return entry.name if suite.file is None else f"{suite.file}: {entry.name}"


def _confirm_schemas(suite: Suite) -> None:
    """With strict schemas, none of them may itself be invalid."""
    for entry in suite.entries:
        complaint = find_bad_schema(entry.asks)
        if complaint is not None:
            raise CasesError(f"{_place(suite, entry)}: {complaint}; mend it, or leave out the strict schema")


def _attempts(suite: Suite) -> tuple[Try | None, ...]:
    """The tries that each case gets; at temperature 0 they are the greedy answer."""
    defaults = suite.defaults
    if defaults.trials is None or defaults.temperature is None:
        for entry in suite.entries:
            if entry.needs_tries:
                needed = "assert_pass_hat_k_delta_gte needs trials and a temperature"
                raise SuiteError(f"{_place(suite, entry)}: {needed}; give both, or take it out")
        return ()
    if defaults.temperature == 0:
        return (None,) * defaults.trials
    sampling = Sampling(defaults.temperature, defaults.top_p, defaults.min_p, defaults.top_k)
    return tuple(Try(sampling, defaults.seed, number) for number in range(defaults.trials))


def engine_settings(defaults: Defaults) -> Settings:
    return Settings(
        n_ctx=defaults.n_ctx, threads=defaults.threads, gpu_layers=defaults.gpu_layers, parallel=defaults.parallel
    )


def _steps(suite: Suite, written: Written, views: Views) -> Iterator[Step[Any]]:
    """One for each entry; what is written are the prompts of all their cases."""
    nulls = None
    texts = {model: iter(prompts) for model, (_, prompts) in written.items()}
    for entry in suite.entries:
        probe = KINDS[entry.kind]
        by_model = {
            model: tuple(
                Prompt(case.id, next(texts[model]), longest_answer(case, suite.defaults, thinks=used.thinks))
                for case in probe.cases(entry)
            )
            for model, (used, _) in written.items()
        }
        step = probe.plan(entry, Prompts(by_model), views, nulls)
        nulls = step.nulls or nulls
        yield step


def longest_answer(case: Case, defaults: Defaults, *, thinks: bool) -> int:
    """In tokens: as the case or the suite says, and otherwise by whether the model may think before it answers."""
    given = case.max_new_tokens or defaults.max_new_tokens
    return given or (THINKING_TOKENS if thinks else case.answer_tokens or ANSWER_TOKENS)


def _merged(known: Questions, more: Questions) -> Questions:
    # Within one probe, too, cases may differ in nothing that the model gets to read.
    merged: dict[Any, tuple[Prompt, Prompt | None]] = {}
    for questions in (known, more):
        for prompt, asked_of_base in zip_longest(questions.prompts, questions.follows):
            first, followed = merged.get(prompt.question, (prompt, None))
            merged[prompt.question] = (first, followed or asked_of_base)
    follows = tuple(followed for _, followed in merged.values())
    return replace(
        known,
        prompts=tuple(prompt for prompt, _ in merged.values()),
        traced=known.traced or more.traced,
        follows=follows if any(follows) else (),
    )
