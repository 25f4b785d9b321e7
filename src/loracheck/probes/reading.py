"""A case's answer, read: once, for everybody who needs to know what it was."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

from loracheck.cases.case import Case
from loracheck.engine import Completion, Prompt, View
from loracheck.probes.probe import Answers, Step, Views
from loracheck.results import CaseReport, ViewAnswer
from loracheck.scoring import Answer, Expectation
from loracheck.scoring.dialects import opens_thinking
from loracheck.scoring.outcome import differs_at
from loracheck.scoring.spoken import spoken_in


def expectation_of(case: Case) -> Expectation:
    tools = tuple(tool.spec() for tool in case.surface)
    wanted = next((tool for tool in tools if tool["name"] == case.gold), tools[0])
    return Expectation(
        wanted,
        case.gold,
        tools,
        case.gold_arguments,
        accepted_names=case.accepted_names,
        several=case.expected_calls if case.gold_calls is not None else None,
        order=case.order,
    )


def answer_to(prompt: Prompt, completion: Completion) -> Answer:
    return Answer(completion.text, completion.truncated, opens_thinking(prompt.text))


def having_heard_the_base(views: Views, steps: Iterable[Step[Any]], answers: Answers) -> Views:
    """With the dialect that the base speaks, in all cases of a plan that expect a call."""
    asked = (
        prompt
        for step in steps
        # Null adapters have prompts, and no cases of the user's.
        for case, prompt in zip(step.entry.asks, step.prompts.of(views.base), strict=False)
        if case.expects_call
    )
    spoken = (answer_to(prompt, answer) for prompt in asked if (answer := answers.find(views.base, prompt)))
    return replace(views, spoken=spoken_in(spoken, views.asked[views.base.model].name))


def read_view(
    view: View,
    step: Step[Any],
    answers: Answers,
    views: Views,
    allowed_tools: Collection[str] | None,
    *,
    with_tries: bool = False,
) -> list[ViewAnswer]:
    """What a view made of each case of a step; with the tries at it, where the view was asked for them."""
    prompts, reader = step.prompts.of(view), views.reader_of(view)

    def read(case: Case, prompt: Prompt, completion: Completion, tries: Sequence[Prompt] = ()) -> ViewAnswer:
        answer = answer_to(prompt, completion)
        reading = reader.read(expectation_of(case), answer, allowed_tools, strict=views.strict_schema)
        facts = {field.name: getattr(reading, field.name) for field in fields(reading)}
        drawn = tuple(
            read(case, attempt, answer) for attempt, answer in zip(tries, answers.of(view, tries), strict=True)
        )
        return ViewAnswer(text=completion.text, tokens=len(completion.tokens), tries=drawn, **facts)

    tries = [views.tries_at(prompt) if with_tries else () for prompt in prompts]
    return list(map(read, step.entry.asks, prompts, answers.of(view, prompts), tries))


def case_report(case: Case, sent: str, sent_ft: str, base: ViewAnswer, tuned: ViewAnswer) -> CaseReport:
    """A case, what each view got to read, and what it made of it."""
    return CaseReport(
        id=case.id,
        prompt=case.question,
        sent=sent,
        sent_ft=None if sent == sent_ft else sent_ft,
        gold_tool_name=case.gold,
        expect=case.expect,
        gold_arguments=case.gold_arguments,
        gold_calls=case.expected_calls if case.gold_calls is not None else None,
        base=base,
        ft=tuned,
        differs_at=differs_at(base.text, tuned.text),
    )
