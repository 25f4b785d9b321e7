"""The whole path: base, tuned and noise views answer, pure Python judges."""

from __future__ import annotations

import time
from contextlib import closing, nullcontext
from importlib.metadata import version
from typing import TYPE_CHECKING

from loracheck.adapters import chat_template, check_fits, read_adapter, read_model_header
from loracheck.engine import TIMEOUT
from loracheck.engine.child import ChildEngine
from loracheck.engine.identity import llama_identity, model_identity
from loracheck.engine.stored import StoredEngine
from loracheck.preflight import (
    confirm_effect,
    confirm_schemas,
    confirm_unchanged,
    warnings_about,
    with_converted_adapters,
)
from loracheck.probes.base import Bench
from loracheck.prompts.asking import way_of_asking
from loracheck.provenance import provenance_of
from loracheck.report.model import Report, overall
from loracheck.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from loracheck.adapters import GgufFile
    from loracheck.engine import Engine
    from loracheck.probes.base import Progress
    from loracheck.suite.suite import Suite


class _Silent:
    def stage(self, name: str, total: int) -> None: ...
    def done(self, tokens: int | None) -> None: ...


def check(
    suite: Suite,
    *,
    progress: Progress | None = None,
    engine: Engine | None = None,
    store: Store | None = None,
    isolated: bool = True,
    timeout: float = TIMEOUT,
) -> Report:
    """Run a suite. Without an `engine`, the suite's base model is loaded in llama.cpp; a given one is closed after use.

    llama.cpp runs in a child process, which a crash or `timeout` seconds without a sign of life end, unless it should
    not be `isolated`. With a `store`, what it has is not computed again; when it has everything, no model is loaded.
    """
    started = time.perf_counter()
    progress = progress or _Silent()
    store = store or Store()
    progress.stage("loading", 0)
    suite = with_converted_adapters(suite)
    model = read_model_header(suite.models.base.gguf)
    adapters = [read_adapter(use.gguf) for use in suite.adapter_entries]
    for adapter in adapters:
        check_fits(adapter, model)
    confirm_schemas(suite)
    # Taken now, so that a file that changes on the way is noticed at the end.
    provenance = provenance_of(suite, store.sha256_of)
    asking = way_of_asking(chat_template(model), suite.defaults.prompt, suite.defaults.dialect, model.path)
    with (
        closing(engine) if engine else nullcontext(),
        closing(_stored(suite, model, lambda: _load(suite, model, isolated, timeout), engine, store)) as answers,
    ):
        confirm_effect(answers, suite.base_view, suite.ft_view, adapters)
        bench = Bench(
            engine=answers,
            base=suite.base_view,
            ft=suite.ft_view,
            write_prompts=asking.write,
            dialect=asking.dialect,
            strict_schema=suite.defaults.schema_rules == "strict",
            max_new_tokens=suite.defaults.max_new_tokens,
            seed=suite.defaults.seed,
            progress=progress,
        )
        probes = tuple(probe.run(bench) for probe in suite.suite)
    confirm_unchanged(store)
    verdict, score = overall(probes)
    return Report(
        loracheck_version=version("loracheck"),
        verdict=verdict,
        score=score,
        probes=probes,
        provenance=provenance,
        timing={
            "load_seconds": answers.load_seconds,
            "total_seconds": time.perf_counter() - started,
            "answers_from_store": answers.from_store,
            "answers_computed": answers.computed,
        },
        warnings=(*bench.warnings, *warnings_about(adapters), *store.warnings),
    )


def _stored(
    suite: Suite, model: GgufFile, load: Callable[[], Engine], given: Engine | None, store: Store
) -> StoredEngine:
    """The engine behind the store; a given one's answers are never taken for llama.cpp's."""
    files = model_identity(model.path, suite.settings, store.sha256_of)
    if given is None:
        return StoredEngine(store, load, {**files, **llama_identity(store.sha256_of)})
    kind = type(given)
    return StoredEngine(store, lambda: given, {**files, "engine": f"{kind.__module__}.{kind.__qualname__}"})


def _load(suite: Suite, model: GgufFile, isolated: bool, timeout: float) -> Engine:
    fixed = _depends_on_context(model)
    if isolated:
        return ChildEngine(model.path, suite.settings, fixed_context=fixed, timeout=timeout)
    # llama.cpp is needed from here on, and nowhere else in this process.
    from loracheck.engine.llama import LlamaEngine

    return LlamaEngine(model.path, suite.settings, fixed_context=fixed)


def _depends_on_context(model: GgufFile) -> bool:
    """LongRoPE models pick their numbers by the size of the context."""
    return any(tensor.name.startswith("rope_factors_long") for tensor in model.tensors)
