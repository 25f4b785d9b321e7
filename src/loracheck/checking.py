"""The whole path: base, tuned and noise views answer, pure Python judges."""

from __future__ import annotations

import time
from contextlib import closing, nullcontext
from importlib.metadata import version
from typing import TYPE_CHECKING

from loracheck.adapters import chat_template, check_fits, read_adapter, read_model_header
from loracheck.engine.identity import llama_identity, model_identity
from loracheck.engine.stored import StoredEngine
from loracheck.errors import EngineError, ModelError, NoEffectError
from loracheck.probes.base import Bench
from loracheck.prompts import render_chat
from loracheck.provenance import provenance_of
from loracheck.report.model import Report, overall
from loracheck.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from loracheck.adapters import AdapterInfo, GgufFile
    from loracheck.engine import Engine, View
    from loracheck.probes.base import Progress
    from loracheck.suite.case import Case
    from loracheck.suite.suite import Suite

# Read by both views before any case is answered, to see whether the adapter computes anything at all.
EFFECT_TEXT = "Call the tool search_web to find the capital of France."


class _Silent:
    def stage(self, name: str, total: int) -> None: ...
    def done(self, tokens: int | None) -> None: ...


def check(
    suite: Suite, *, progress: Progress | None = None, engine: Engine | None = None, store: Store | None = None
) -> Report:
    """Run a suite. Without an `engine`, the suite's base model is loaded in llama.cpp; a given one is closed after use.

    With a `store`, what it has is not computed again; when it has everything, no model is loaded.
    """
    started = time.perf_counter()
    progress = progress or _Silent()
    store = store or Store()
    progress.stage("loading", 0)
    model = read_model_header(suite.models.base.gguf)
    adapters = [read_adapter(use.gguf) for use in suite.adapter_entries]
    for adapter in adapters:
        check_fits(adapter, model)
    with closing(engine) if engine else nullcontext(), closing(_stored(suite, model, engine, store)) as answers:
        _confirm_effect(answers, suite.base_view, suite.ft_view, adapters)
        bench = Bench(
            engine=answers,
            base=suite.base_view,
            ft=suite.ft_view,
            write_prompt=_prompt_writer(suite, model),
            max_new_tokens=suite.defaults.max_new_tokens,
            seed=suite.defaults.seed,
            progress=progress,
        )
        probes = tuple(probe.run(bench) for probe in suite.suite)
    verdict, score = overall(probes)
    return Report(
        loracheck_version=version("loracheck"),
        verdict=verdict,
        score=score,
        probes=probes,
        provenance=provenance_of(suite, store.sha256_of),
        timing={
            "load_seconds": answers.load_seconds,
            "total_seconds": time.perf_counter() - started,
            "answers_from_store": answers.from_store,
            "answers_computed": answers.computed,
        },
        warnings=(*_warnings(adapters), *store.warnings),
    )


def _stored(suite: Suite, model: GgufFile, given: Engine | None, store: Store) -> StoredEngine:
    """The engine behind the store; a given one's answers are never taken for llama.cpp's."""
    files = model_identity(model.path, suite.settings, store.sha256_of)
    if given is None:
        return StoredEngine(store, lambda: _load(suite, model), {**files, **llama_identity(store.sha256_of)})
    kind = type(given)
    return StoredEngine(store, lambda: given, {**files, "engine": f"{kind.__module__}.{kind.__qualname__}"})


def _load(suite: Suite, model: GgufFile) -> Engine:
    # llama.cpp is needed from here on, and not where an engine is given.
    from loracheck.engine.llama import LlamaEngine

    # LongRoPE models pick their numbers by the size of the context.
    fixed = any(tensor.name.startswith("rope_factors_long") for tensor in model.tensors)
    return LlamaEngine(model.path, suite.settings, fixed_context=fixed)


def _prompt_writer(suite: Suite, model: GgufFile) -> Callable[[Case], str]:
    template = chat_template(model)
    if suite.defaults.prompt == "raw" or (suite.defaults.prompt is None and template is None):
        return lambda case: case.prompt
    if template is None:
        raise ModelError(f"{model.path}: the model has no chat template; use --prompt raw")
    return lambda case: render_chat(template, [{"role": "user", "content": case.prompt}], [case.tool_spec.spec()])


def _confirm_effect(engine: Engine, base: View, ft: View, adapters: Sequence[AdapterInfo]) -> None:
    """An adapter that computes nothing is a common accident, and would pass every comparison with its base."""
    prints = []
    for view in (base, ft):
        found = engine.fingerprint(view, EFFECT_TEXT)
        if not found.finite:
            culprits = [name for adapter in adapters for name in adapter.non_finite]
            why = f"; NaN or infinity in {', '.join(culprits[:3])}" if culprits else ""
            raise EngineError(f"the {view.name} view computes numbers that are not finite{why}")
        prints.append(found.digest)
    if prints[0] == prints[1]:
        tried = "\n".join(
            f"  {adapter.path} at scale {use.scale:g}: {len(adapter.pairs)} tensor pairs matched, "
            f"norm of the update {_norm(adapter)}, {len(adapter.zero_pairs)} pairs all zero, "
            f"{len(adapter.ignored)} tensors ignored by llama.cpp"
            for adapter, use in zip(adapters, ft.adapters, strict=True)
        )
        raise NoEffectError(
            "the adapter has no effect: both views compute bitwise equal logits. Tried:\n"
            f"{tried}\n"
            "Was it exported before training, or trained on modules that llama.cpp does not adapt?"
        )


def _norm(adapter: AdapterInfo) -> str:
    return "not finite" if adapter.update_norm is None else f"{adapter.update_norm:.3g}"


def _warnings(adapters: Iterable[AdapterInfo]) -> Iterable[str]:
    for adapter in adapters:
        if adapter.ignored:
            yield (
                f"{adapter.path}: llama.cpp ignores {len(adapter.ignored)} of its tensors: "
                f"{', '.join(adapter.ignored[:4])}{' …' if len(adapter.ignored) > 4 else ''}"
            )
        if adapter.alora:
            yield f"{adapter.path}: an activated LoRA; it is applied to every token here"
