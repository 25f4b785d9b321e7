"""Check: read the plan, ask the views, judge the answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loracheck.ask import ask
from loracheck.cases.suite import Suite
from loracheck.engine import TIMEOUT, Engine, Settings
from loracheck.engine.architectures import why_not_known
from loracheck.engine.child import ChildEngine
from loracheck.engine.stored import StoredEngine
from loracheck.errors import InputError, ModelError
from loracheck.files import sha256_of
from loracheck.judge import judge
from loracheck.outlook import announce, look_ahead, outlook_in_words
from loracheck.plan import Plan, read
from loracheck.probes.probe import Step
from loracheck.progress import QuietProgress
from loracheck.quantized import quantized, requantizing
from loracheck.results import Report
from loracheck.store import Store


def check(
    suite: Suite,
    *,
    engine: Engine | None = None,
    store: Store | None = None,
    progress: QuietProgress | None = None,
    timeout: float = TIMEOUT,
    tell: Callable[[str], None] | None = None,
) -> Report:
    """Run a suite. A given engine stays open; without one, llama.cpp is opened in a child process and closed again.

    With a `store`, what it has is not computed again; when it has everything, no model is loaded. `tell` hears what is
    made on the way, such as a quantized model.
    """
    started = time.perf_counter()
    store, progress = store or Store(), progress or QuietProgress()
    if suite.defaults.quantize:
        # What else is wrong with the input is said before the work.
        read(suite, store)
    with candidate(suite, store, timeout, tell, no_cache=not store.is_on) as quantized:
        # Hashing a large model takes seconds, and loading it more.
        progress.stage("loading", 0)
        plan = read(suite, store, quantized)
        if engine is None:
            confirm_known(plan)
        with opened(engine, plan.settings, timeout) as source:
            stored = StoredEngine(store, source)
            announce(look_ahead(plan, stored), source, progress)
            answers = ask(plan, stored, progress)
        report = judge(plan, answers)
        confirm_unchanged(store, store.changed_files())
    timing = {**report.timing, "total_seconds": time.perf_counter() - started}
    warnings = (*report.warnings, *about_quantizing(suite), *store.warnings)
    return report.model_copy(update={"timing": timing, "warnings": warnings})


@contextmanager
def candidate(
    suite: Suite, store: Store, timeout: float, tell: Callable[[str], None] | None, *, no_cache: bool
) -> Iterator[Path | None]:
    """The base quantized, where the suite asks for that; None where it does not."""
    kind = suite.defaults.quantize
    if kind is None:
        yield None
        return
    threads, base = suite.defaults.threads, suite.models.base.gguf
    with quantized(
        base, kind, no_cache=no_cache, hash_of=store.sha256_of, threads=threads, timeout=timeout, tell=tell
    ) as path:
        yield path


def about_quantizing(suite: Suite) -> Iterator[str]:
    if suite.defaults.quantize and (warning := requantizing(suite.models.base.gguf)):
        yield warning


def confirm_known(plan: Plan) -> None:
    """A model that llama.cpp cannot load is told before another has answered everything."""
    for model in plan.formats:
        if model.exists() and (why := why_not_known(model)):
            raise ModelError(why)


def planned(suite: Suite, store: Store, engine: Engine | None = None) -> Iterator[str]:
    """What a check of the suite would ask, in lines to read; nothing is loaded, and nothing is asked."""
    plan = read(suite, store)
    if engine is None:
        confirm_known(plan)
    outlook = look_ahead(plan, StoredEngine(store, engine or ChildEngine(plan.settings)))
    yield from _formats(plan)
    if suite.defaults.trials:
        yield f"tries    {suite.defaults.trials} at each case, temperature {suite.defaults.temperature:g}"
    yield from (f"warning  {warning}" for warning in plan.warnings)
    for ahead in outlook.views:
        yield f"view     {ahead}"
        yield from (f"         {use} at scale {use.scale:g}" for use in ahead.view.adapters)
    yield from (f"ahead    {line}" for line in outlook_in_words(outlook, is_llama_cpp=engine is None))
    for step in plan.steps:
        yield from _cases(step, plan.views.base.model)


def _formats(plan: Plan) -> Iterator[str]:
    """How each model file is asked, and read."""
    for model, used in plan.formats.items():
        yield f"model    {model}"
        yield f"dialect  {used.asked.name}: {used.asked.why}"
        if plan.views.read_as:
            yield f"read as  {plan.views.read_as}"
        if thinking := used.template and used.template.thinking:
            yield f"thinking {'on' if thinking.on else 'off'}"
    if plan.views.no_drift:
        yield f"no drift {plan.views.no_drift}"


def _cases(step: Step[Any], base: Path) -> Iterator[str]:
    """Every prompt as the base is asked it, and as the candidate is where that is another."""
    alike = step.prompts.are_alike
    for model, prompts in step.prompts.by_model.items():
        if alike and model != base:
            continue
        whose = "" if alike else f" for {model}"
        yield f"probe    {step.entry.name} ({step.entry.kind}): {len(prompts)} cases{whose}"
        for prompt in prompts:
            yield f"case     {prompt.id}, at most {prompt.max_new_tokens} new tokens"
            yield from (f"    {line}" for line in prompt.text.split("\n"))


@contextmanager
def opened(engine: Engine | None, settings: Settings, timeout: float) -> Iterator[Engine]:
    """Whoever opens an engine closes it."""
    if engine is not None:
        yield engine
        return
    child = ChildEngine(settings, timeout=timeout)
    try:
        yield child
    finally:
        child.close()


def confirm_unchanged(store: Store, suspects: Iterable[Path]) -> None:
    """A verdict on a file that was written while it was used would be about no file at all."""
    for path in suspects:
        if not path.is_file() or sha256_of(path) != store.sha256_of(path):
            raise InputError(f"{path}: the file changed while it was being checked; run the command again")
