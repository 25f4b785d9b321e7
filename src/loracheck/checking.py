"""Check: read the plan, ask the views, judge the answers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from loracheck.ask import Progress, ask
from loracheck.cases.suite import Suite
from loracheck.engine import TIMEOUT, Engine, Settings
from loracheck.engine.child import ChildEngine
from loracheck.engine.stored import StoredEngine
from loracheck.errors import InputError
from loracheck.files import sha256_of
from loracheck.judge import judge
from loracheck.plan import read
from loracheck.progress import QuietProgress
from loracheck.results import Report
from loracheck.store import Store


def check(
    suite: Suite,
    *,
    engine: Engine | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
    timeout: float = TIMEOUT,
) -> Report:
    """Run a suite. A given engine stays open; without one, llama.cpp is opened in a child process and closed again.

    With a `store`, what it has is not computed again; when it has everything, no model is loaded.
    """
    started = time.perf_counter()
    store, progress = store or Store(), progress or QuietProgress()
    # Hashing a large model takes seconds, and loading it more.
    progress.stage("loading", 0)
    plan = read(suite, store)
    with _open(engine, plan.settings, timeout) as source:
        answers = ask(plan, StoredEngine(store, source), progress)
    report = judge(plan, answers)
    _confirm_unchanged(store)
    timing = {**report.timing, "total_seconds": time.perf_counter() - started}
    return report.model_copy(update={"timing": timing, "warnings": (*report.warnings, *store.warnings)})


def planned(suite: Suite, store: Store, engine: Engine | None = None) -> Iterator[str]:
    """What a check of the suite would ask, in lines to read; nothing is loaded, and nothing is asked."""
    plan = read(suite, store)
    known = StoredEngine(store, engine or ChildEngine(plan.settings))
    yield f"model    {plan.provenance.model.path}"
    yield f"dialect  {plan.views.asked.name}: {plan.views.asked.why}"
    if plan.views.read_as:
        yield f"read as  {plan.views.read_as}"
    thinking = plan.prompts.template and plan.prompts.template.thinking
    if thinking:
        yield f"thinking {'on' if thinking.on else 'off'}"
    yield from (f"warning  {warning}" for warning in plan.warnings)
    for questions in plan.questions:
        kept = [answer for answer in known.kept(questions.view, questions.prompts) if answer]
        letters = sum(len(prompt.text) for prompt in questions.prompts)
        tokens = sum(answer.prompt_tokens for answer in kept)
        size = f"{tokens:,} tokens" if len(kept) == len(questions.prompts) else f"{letters:,} characters"
        most = sum(prompt.max_new_tokens for prompt in questions.prompts)
        yield (
            f"view     {questions.view.name}: {len(questions.prompts)} prompts, {size}, "
            f"at most {most:,} new tokens; in the store already: {len(kept)}"
        )
        yield from (f"         {use} at scale {use.scale:g}" for use in questions.view.adapters)
    for step in plan.steps:
        yield f"probe    {step.entry.name} ({step.entry.kind}): {len(step.prompts)} cases"
        for prompt in step.prompts:
            yield f"case     {prompt.id}, at most {prompt.max_new_tokens} new tokens"
            yield from (f"    {line}" for line in prompt.text.split("\n"))


@contextmanager
def _open(engine: Engine | None, settings: Settings, timeout: float) -> Iterator[Engine]:
    """Whoever opens an engine closes it."""
    if engine is not None:
        yield engine
        return
    child = ChildEngine(settings, timeout=timeout)
    try:
        yield child
    finally:
        child.close()


def _confirm_unchanged(store: Store) -> None:
    """A verdict on a file that was written while it was used would be about no file at all."""
    for path in store.changed_files():
        if not path.is_file() or sha256_of(path) != store.sha256_of(path):
            raise InputError(f"{path}: the file changed while it was being checked; run the command again")
