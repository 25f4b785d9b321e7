"""Ask: who is asked what, in which order, and what is read beside the answers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from loracheck.ask import EFFECT_TEXT, ask
from loracheck.engine import Fingerprint, Trace
from loracheck.engine.fake import FakeEngine
from loracheck.errors import EngineError, NoEffectError
from loracheck.plan import read
from loracheck.probes.probe import Prompts, Questions
from loracheck.progress import QuietProgress
from loracheck.store import Store
from suite_factory import answering, call, failing_from, make_case, make_suite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loracheck.cases.suite import Suite
    from loracheck.engine import Prompt, View
    from loracheck.plan import Plan
    from loracheck.probes.probe import Answers
    from suite_factory import Files

TRACE = Trace((1,), (1,), ((1, 2), (2, 1)), ((-0.1, -2.0), (-0.2, -2.0)), ("a", ""))


class Tracing(FakeEngine):
    """Traces what it is asked to, and keeps the prompts of every view."""

    def __init__(self, reply: Any = lambda view, prompt: call()) -> None:
        super().__init__(reply)
        self.seen: dict[str, list[Prompt]] = {}

    def answer(self, view: View, prompts: Sequence[Prompt]) -> Any:
        self.seen[view.name] = list(prompts)
        for index, completion in super().answer(view, prompts):
            yield index, replace(completion, trace=TRACE if prompts[index].traced else None)


class Listener:
    def __init__(self) -> None:
        self.told: list[Any] = []

    def stage(self, name: str, total: int) -> None:
        self.told.append((name, total))

    def done(self, tokens: int | None) -> None:
        self.told.append(tokens)


def plan_of(suite: Suite) -> Plan:
    return read(suite, Store())


def asked(plan: Plan, engine: FakeEngine) -> Answers:
    return ask(plan, engine, QuietProgress())


def test_every_view_answers_its_prompts_and_every_answer_is_found_by_its_question(files: Files) -> None:
    plan = plan_of(make_suite(files, cases=3).with_nulls(2))
    answers = asked(plan, FakeEngine(lambda view, prompt: f"{view.name}: {prompt.text}"))
    assert len(answers) == len(list(answers)) == 2 * 3 + 2 * 2
    for questions in plan.questions:
        texts = [answer.text for answer in answers.of(questions.view, questions.prompts)]
        assert texts == [f"{questions.view.name}: {prompt.text}" for prompt in questions.prompts]


def test_answers_may_come_in_any_order(files: Files) -> None:
    class Backwards(FakeEngine):
        def answer(self, view: View, prompts: Sequence[Prompt]) -> Any:
            yield from reversed(list(super().answer(view, prompts)))

    plan = plan_of(make_suite(files, cases=3))
    answers = asked(plan, Backwards(lambda view, prompt: prompt.id))
    texts = [answer.text for answer in answers.of(plan.views.base, plan.steps[0].prompts.of(plan.views.base))]
    assert texts == ["case1", "case2", "case3"]


def test_a_question_that_was_not_asked_has_no_answer(files: Files) -> None:
    plan = plan_of(make_suite(files, cases=1))
    answers = asked(plan, answering())
    (prompt,) = plan.steps[0].prompts.of(plan.views.base)
    assert answers.find(plan.views.tuned, prompt) == answers.of(plan.views.tuned, [prompt])[0]
    assert answers.find(plan.views.tuned, replace(prompt, text="Something else.")) is None
    assert answers.find(plan.views.tuned, replace(prompt, max_new_tokens=1)) is None
    assert answers.find(replace(plan.views.tuned, adapters=()), prompt) is not None
    assert answers.find(replace(plan.views.tuned, model=files.adapter), prompt) is None


def test_an_adapter_without_effect_ends_it_before_anything_is_asked(files: Files) -> None:
    engine = FakeEngine(lambda view, prompt: call(), inert=True)
    with pytest.raises(NoEffectError, match="both views compute bitwise equal logits"):
        asked(plan_of(make_suite(files).with_nulls()), engine)
    assert engine.asked == []


@pytest.mark.parametrize("spoilt", ["base", "adapter"])
def test_numbers_that_are_not_finite_end_it_before_anything_is_asked(files: Files, spoilt: str) -> None:
    class NotFinite(FakeEngine):
        def fingerprint(self, view: View, text: str) -> Fingerprint:
            assert text == EFFECT_TEXT
            return Fingerprint(view.name, finite=view.name != spoilt)

    engine = NotFinite(lambda view, prompt: call())
    with pytest.raises(
        EngineError, match=f"^the {spoilt} view computes numbers that are not finite; is the model damaged"
    ):
        asked(plan_of(make_suite(files)), engine)
    assert engine.asked == []


def test_progress_hears_of_every_view_and_of_every_answer(files: Files) -> None:
    listener = Listener()
    ask(plan_of(make_suite(files, cases=2).with_nulls(1)), answering("ab", "cde", "f"), listener)
    assert listener.told == [("base", 2), 2, 2, ("adapter", 2), 3, 3, ("null 1/1", 2), 1, 1]


def test_progress_counts_a_shared_question_once(files: Files) -> None:
    listener = Listener()
    cases = [make_case(1), make_case(2, prompt="Search for 1.")]
    ask(plan_of(make_suite(files).with_cases(cases)), answering("ab", "cde"), listener)
    assert listener.told == [("base", 1), 2, ("adapter", 1), 3]


def test_the_time_that_loading_took_goes_with_the_answers(files: Files) -> None:
    engine = answering()
    engine.load_seconds = 1.5
    assert asked(plan_of(make_suite(files)), engine).load_seconds == 1.5


def test_the_adapter_reads_the_calls_of_the_base_and_nothing_else_is_traced(files: Files) -> None:
    engine = Tracing(lambda view, prompt: failing_from(2)(prompt) if view.name == "base" else "no idea")
    plan = plan_of(make_suite(files, cases=2).with_nulls(1))
    answers = asked(plan, engine)
    assert [(prompt.traced, prompt.follow) for prompt in engine.seen["base"]] == [(True, None)] * 2
    # In its second answer the base made no call.
    assert [(prompt.traced, prompt.follow) for prompt in engine.seen["adapter"]] == [(False, TRACE), (False, None)]
    assert [(prompt.traced, prompt.follow) for prompt in engine.seen["null 1/1"]] == [(False, None)] * 2
    assert [answer.trace for answer in answers.of(plan.views.base, plan.steps[-1].prompts.of(plan.views.base))] == [
        TRACE,
        TRACE,
    ]


def test_where_the_base_was_not_traced_there_is_nothing_to_follow(files: Files) -> None:
    class Untraced(Tracing):
        def answer(self, view: View, prompts: Sequence[Prompt]) -> Any:
            for index, completion in super().answer(view, prompts):
                yield index, replace(completion, trace=None)

    engine = Untraced()
    asked(plan_of(make_suite(files, cases=2)), engine)
    assert [prompt.follow for prompt in engine.seen["adapter"]] == [None, None]


def test_what_only_the_adapter_is_asked_follows_nobody(files: Files) -> None:
    plan = plan_of(make_suite(files, cases=1))
    (step,) = plan.steps
    alone = replace(step.prompts.of(plan.views.base)[0], id="alone", text="Something else.")
    other = replace(
        step, prompts=Prompts({plan.views.base.model: (alone,)}), questions=(Questions(plan.views.tuned, (alone,)),)
    )
    for steps in ((step, other), (other, step)):
        engine = Tracing()
        answers = asked(replace(plan, steps=steps), engine)
        assert {prompt.id: prompt.follow for prompt in engine.seen["adapter"]} == {"case1": TRACE, "alone": None}
        assert answers.find(plan.views.base, alone) is None
        assert answers.find(plan.views.tuned, alone) is not None


def test_an_error_of_the_engine_goes_on_its_way(files: Files) -> None:
    def unwell(view: View, prompt: Prompt) -> str:
        raise EngineError("llama.cpp is unwell")

    with pytest.raises(EngineError, match=r"^llama\.cpp is unwell$"):
        asked(plan_of(make_suite(files)), FakeEngine(unwell))
