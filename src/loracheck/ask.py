"""Ask: every view of a plan answers its prompts. The only step that needs an engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

from loracheck.engine import Engine, Prompt
from loracheck.errors import EngineError, NoEffectError
from loracheck.models import measure_adapter
from loracheck.plan import AdapterFile, Plan
from loracheck.probes.probe import Answers, Questions
from loracheck.probes.reading import answer_to, having_heard_the_base

EFFECT_TEXT = "Call the tool search_web to find the capital of France."
"""Read by both views before any case is answered, to see whether the adapter computes anything at all."""


class Progress(Protocol):
    """Who is told how far the work is."""

    def stage(self, name: str, total: int) -> None:
        """A new piece of work begins: `total` answers, or 0 when that has no meaning."""
        ...

    def done(self, tokens: int | None) -> None:
        """One answer is there; so many tokens were generated for it, None when it was in the store."""
        ...


def ask(plan: Plan, engine: Engine, progress: Progress) -> Answers:
    _confirm_effect(plan, engine)
    answers = Answers()
    for questions in plan.questions:
        prompts = list(_prompts(plan, questions, answers))
        progress.stage(questions.view.name, len(prompts))
        for index, completion in engine.answer(questions.view, prompts):
            answers.add(questions.view, prompts[index], completion)
            progress.done(None if completion.stored else len(completion.tokens))
    answers.load_seconds = engine.load_seconds
    return answers


def _prompts(plan: Plan, questions: Questions, answers: Answers) -> Iterator[Prompt]:
    """The prompts, with what is to be read beside answering them."""
    if questions.follows is None:
        yield from (replace(prompt, traced=questions.traced) for prompt in questions.prompts)
        return
    views = having_heard_the_base(plan.views, plan.steps, answers)
    for prompt in questions.prompts:
        # None where only another probe asks it, which has no use for that view.
        answer = answers.find(questions.follows, prompt)
        makes_call = answer and answer.trace and views.reader.reads_a_call(answer_to(prompt, answer))
        yield replace(prompt, follow=answer.trace if answer and makes_call else None)


def _confirm_effect(plan: Plan, engine: Engine) -> None:
    """An adapter that computes nothing is a common accident, and would pass every comparison with its base."""
    digests = []
    for view in (plan.views.base, plan.views.tuned):
        fingerprint = engine.fingerprint(view, EFFECT_TEXT)
        if not fingerprint.finite:
            culprits = [name for adapter in plan.adapters for name in measure_adapter(adapter.lora).non_finite]
            why = f"; NaN or infinity in {', '.join(culprits[:3])}" if culprits else ""
            raise EngineError(f"the {view.name} view computes numbers that are not finite{why}")
        digests.append(fingerprint.digest)
    if digests[0] == digests[1]:
        tried = "\n".join(f"  {_in_words(adapter)}" for adapter in plan.adapters)
        raise NoEffectError(
            "the adapter has no effect: both views compute bitwise equal logits. Tried:\n"
            f"{tried}\n"
            "Was it exported before training, or trained on modules that llama.cpp does not adapt?"
        )


def _in_words(adapter: AdapterFile) -> str:
    """What there is to an adapter that does nothing. Its numbers are read only now, as nobody else asks for them."""
    info = measure_adapter(adapter.lora)
    norm = "not finite" if info.update_norm is None else f"{info.update_norm:.3g}"
    return (
        f"{adapter.entry.gguf} at scale {adapter.entry.scale:g}: {len(adapter.lora.pairs)} tensor pairs matched, "
        f"norm of the update {norm}, {len(info.zero_pairs)} pairs all zero, "
        f"{len(adapter.lora.ignored)} tensors ignored by llama.cpp"
    )
