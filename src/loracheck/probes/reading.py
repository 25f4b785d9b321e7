"""A case's answer, read: once, for everybody who needs to know what it was."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields, replace

from loracheck.cases.case import Case
from loracheck.engine import Completion, Prompt
from loracheck.results import CaseReport, ViewAnswer
from loracheck.scoring import Answer, Expectation, read_answer
from loracheck.scoring.dialects import other_dialect
from loracheck.scoring.outcome import differs_at


def expectation_of(case: Case) -> Expectation:
    tools = tuple(tool.spec() for tool in case.surface)
    wanted = next((tool for tool in tools if tool["name"] == case.gold), tools[0])
    return Expectation(wanted, case.gold, tools, case.gold_arguments)


def read_case(
    case: Case,
    prompt: Prompt,
    base: Completion,
    tuned: Completion,
    *,
    allowed_tools: Collection[str] | None,
    dialect: str,
    strict: bool,
) -> CaseReport:
    """What both views made of a case."""
    expected = expectation_of(case)
    return CaseReport(
        id=case.id,
        prompt=case.question,
        sent=prompt.text,
        gold_tool_name=case.gold,
        expect=case.expect,
        gold_arguments=case.gold_arguments,
        base=_read(expected, base, allowed_tools, dialect, strict=strict),
        ft=_read(expected, tuned, allowed_tools, dialect, strict=strict),
        differs_at=differs_at(base.text, tuned.text),
    )


def _read(
    expected: Expectation, answer: Completion, allowed_tools: Collection[str] | None, dialect: str, *, strict: bool
) -> ViewAnswer:
    reading = read_answer(expected, Answer(answer.text, answer.truncated), allowed_tools, dialect, strict=strict)
    if reading.call is None:
        reading = replace(reading, dialect=other_dialect(answer.text, dialect))
    read = {field.name: getattr(reading, field.name) for field in fields(reading)}
    return ViewAnswer(text=answer.text, tokens=len(answer.tokens), **read)
