"""Ask: every view of a plan answers its prompts. The only step that needs an engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from loracheck.engine import Engine, Prompt, View
from loracheck.errors import EngineError, NoEffectError
from loracheck.models import measure_adapter
from loracheck.plan import Plan
from loracheck.probes.probe import Answers, Questions
from loracheck.probes.reading import answer_to, having_heard_the_base
from loracheck.provenance import AdapterFile

EFFECT_TEXT = "Call the tool search_web to find the capital of France."
"""Read by both views before any case is answered, to see whether the adapter computes anything at all."""


_AGAIN = "train or export the adapter again"


class Progress(Protocol):
    """Who is told how far the work is: what `QuietProgress` has of that."""

    def stage(self, name: str, total: int) -> None: ...
    def done(self, tokens: int | None) -> None: ...


def ask(plan: Plan, engine: Engine, progress: Progress) -> Answers:
    answers = Answers()
    proof = _Proof(plan, engine)
    for questions in plan.questions:
        # Here, and not before everything else: two models may not fit in memory, and to load one twice takes long.
        proof.look_at(questions.view.model)
        prompts = list(prompts_of(plan, questions, answers))
        progress.stage(questions.view.name, len(prompts))
        for index, completion in engine.answer(questions.view, prompts):
            answers.add(questions.view, prompts[index], completion)
            progress.done(None if completion.stored else len(completion.tokens))
    answers.load_seconds = engine.load_seconds
    return answers


def prompts_of(plan: Plan, questions: Questions, answers: Answers) -> Iterator[Prompt]:
    """The prompts, with what is to be read beside answering them."""
    if not questions.follows:
        for prompt in questions.prompts:
            # Drift is told by greedy answers alone.
            yield replace(prompt, traced=questions.traced and prompt.attempt is None)
        return
    base = plan.views.base
    reader = having_heard_the_base(plan.views, plan.steps, answers).reader_of(base)
    for prompt, asked in zip(questions.prompts, questions.follows, strict=True):
        answer = asked and answers.find(base, asked)
        makes_call = asked and answer and answer.trace and reader.reads_a_call(answer_to(asked, answer))
        yield replace(
            prompt, follow=answer.trace if answer and makes_call else None, draft=answer.tokens if answer else ()
        )


class _Proof:
    """That the two views do not compute the same, as soon as that can be told.

    An adapter that computes nothing is a common accident, and would pass every comparison with its base.
    """

    def __init__(self, plan: Plan, engine: Engine) -> None:
        self._plan = plan
        self._engine = engine
        self._digests: dict[View, str] = {}

    def look_at(self, model: Path) -> None:
        """What the views of a model file compute; NoEffectError when that is nothing new."""
        views = self._plan.views
        seen = [view for view in (views.base, views.tuned, views.bare) if view.model == model]
        if all(view in self._digests for view in seen):
            return
        for view in seen:
            if view not in self._digests:
                self._digests[view] = self._compute(view)
        base, bare, tuned = (self._digests.get(view) for view in (views.base, views.bare, views.tuned))
        if tuned is None:
            return
        if views.under_test and bare == tuned:
            tried = "\n".join(f"  {_in_words(adapter)}" for adapter in self._plan.adapters)
            raise NoEffectError(
                "the adapter has no effect: both views compute bitwise equal logits. Tried:\n"
                f"{tried}\n"
                "Was it exported before training, or trained on modules that llama.cpp does not adapt?"
            )
        # By its chat template alone a candidate is another model.
        if base == tuned and self._plan.reads_alike:
            raise NoEffectError(
                "the candidate has no effect: from the same prompts it computes bit for bit what its base computes; "
                "was another file meant?\n" + self._plan.files_in_words
            )

    def _compute(self, view: View) -> str:
        fingerprint = self._engine.fingerprint(view, EFFECT_TEXT)
        if not fingerprint.finite:
            used = self._plan.base_adapters if view == self._plan.views.base else self._plan.adapters
            culprits = [name for adapter in used for name in measure_adapter(adapter.lora).non_finite]
            why = f"NaN or infinity in {', '.join(culprits[:3])}; {_AGAIN}" if culprits else "is the model damaged?"
            raise EngineError(f"the {view.name} view computes numbers that are not finite; {why}")
        return fingerprint.digest


def _in_words(adapter: AdapterFile) -> str:
    """What there is to an adapter that does nothing. Its numbers are read only now, as nobody else asks for them."""
    info = measure_adapter(adapter.lora)
    norm = "not finite" if info.update_norm is None else f"{info.update_norm:.3g}"
    return (
        f"{adapter.entry.gguf} at scale {adapter.entry.scale:g}: {len(adapter.lora.pairs)} tensor pairs matched, "
        f"norm of the update {norm}, {len(info.zero_pairs)} pairs all zero, "
        f"{len(adapter.lora.ignored)} tensors ignored by llama.cpp"
    )
