"""One case as both views answered it, and what each answer turned out to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from loracheck.report.model import CaseReport, ViewAnswer
from loracheck.scoring import Answer, Expectation, read_answer
from loracheck.scoring.changes import differs_at
from loracheck.scoring.dialects import other_dialect
from loracheck.scoring.gold import arguments_match

if TYPE_CHECKING:
    from collections.abc import Collection

    from loracheck.engine import Completion, Prompt
    from loracheck.scoring import Reading
    from loracheck.suite.case import Case


def expectation_of(case: Case) -> Expectation:
    tools = tuple(tool.spec() for tool in case.surface)
    return Expectation(next((tool for tool in tools if tool["name"] == case.gold), tools[0]), case.gold, tools)


@dataclass(frozen=True, slots=True)
class Side:
    """One view's answer, read."""

    completion: Completion
    reading: Reading
    other_dialect: str | None
    """The dialect it speaks when that is not the one it was read with."""
    strict_valid: bool | None
    arguments_correct: bool | None

    @property
    def answer(self) -> Answer:
        return Answer(self.completion.text, self.completion.truncated)

    @property
    def exact(self) -> bool:
        """The call that was expected: the right tool with the right arguments, as far as the case tells."""
        return self.reading.outcome == "valid" and self.arguments_correct is not False

    def report(self) -> ViewAnswer:
        return ViewAnswer(
            text=self.completion.text,
            call=self.reading.call,
            valid=self.reading.valid,
            outcome=self.reading.outcome,
            tokens=len(self.completion.tokens),
            more_calls=self.reading.more_calls,
            dialect=self.other_dialect,
            strict_valid=self.strict_valid,
            arguments_correct=self.arguments_correct,
        )


def read_side(
    case: Case,
    expected: Expectation,
    completion: Completion,
    allowed_tools: Collection[str] | None,
    dialect: str,
    *,
    strict: bool,
) -> Side:
    reading = read_answer(expected, Answer(completion.text, completion.truncated), allowed_tools, dialect)
    call = reading.call if reading.valid else None
    strict_valid = None
    if strict:
        # It brings a library that nobody needs otherwise.
        from loracheck.scoring.strict import strictly_valid

        strict_valid = call is not None and strictly_valid(call, expected.spec_for(call))
    correct = None
    if case.gold_arguments is not None:
        parameters = expected.tool_spec.get("parameters")
        correct = call is not None and arguments_match(case.gold_arguments, call["arguments"], parameters)
    return Side(
        completion=completion,
        reading=reading,
        other_dialect=other_dialect(completion.text, dialect) if reading.call is None else None,
        strict_valid=strict_valid,
        arguments_correct=correct,
    )


@dataclass(frozen=True, slots=True)
class Trial:
    case: Case
    expected: Expectation
    prompt: Prompt
    base: Side
    ft: Side

    @property
    def expects_call(self) -> bool:
        return self.case.expect == "call"

    def report(self) -> CaseReport:
        return CaseReport(
            id=self.case.id,
            prompt=self.case.question,
            sent=self.prompt.text,
            gold_tool_name=self.case.gold,
            expect=self.case.expect,
            gold_arguments=self.case.gold_arguments,
            base=self.base.report(),
            ft=self.ft.report(),
            differs_at=differs_at(self.base.completion.text, self.ft.completion.text),
        )
