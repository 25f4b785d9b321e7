"""Does the adapter still call tools the way its base does?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field, field_validator

from loracheck.probes.base import Probe
from loracheck.report.model import CaseReport, ProbeReport, ViewAnswer
from loracheck.scoring import Answer, Expectation, Limits, calibrate, judge, same_value
from loracheck.suite.case import Case, named_apart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loracheck.engine import Completion, Prompt
    from loracheck.probes.base import Bench
    from loracheck.scoring import Judgement, Reading


class ToolUseFidelityProbe(Probe):
    kind: Literal["tool_use_fidelity"] = "tool_use_fidelity"
    cases: tuple[Case, ...] = Field(min_length=1)
    allowed_tools: tuple[str, ...] | None = None
    """Names that exist. Left out, only each case's own gold_tool_name does."""
    assert_validity_delta_gte: float = Field(default=-0.05, allow_inf_nan=False)
    assert_hallucination_lte: float = Field(default=0.10, allow_inf_nan=False)
    assert_z_gte: float = Field(default=3.0, allow_inf_nan=False)
    weight: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    """How much this probe counts in the report's score."""

    @field_validator("cases")
    @classmethod
    def _named_apart(cls, cases: tuple[Case, ...]) -> tuple[Case, ...]:
        return named_apart(cases)

    def run(self, bench: Bench) -> ProbeReport:
        prompts = bench.prompts(self.cases)
        base = bench.answer(bench.base, prompts, "base")
        ft = bench.answer(bench.ft, prompts, "ft")
        judgement = judge(
            [Expectation(case.tool_spec.spec(), case.gold) for case in self.cases],
            [Answer(answer.text, answer.truncated) for answer in base],
            [Answer(answer.text, answer.truncated) for answer in ft],
            calibrations={
                multiplier: calibrate(sample.valid, sample.cases, self.assert_z_gte)
                for multiplier, sample in bench.nulls.items()
            },
            no_calibration_why=bench.no_nulls_why,
            allowed_tools=self.allowed_tools,
            limits=Limits(self.assert_validity_delta_gte, self.assert_hallucination_lte, self.assert_z_gte),
            seed=bench.seed,
        )
        return self._report(judgement, prompts, base, ft)

    def _report(
        self,
        judgement: Judgement,
        prompts: Sequence[Prompt],
        base: Sequence[Completion],
        ft: Sequence[Completion],
    ) -> ProbeReport:
        return ProbeReport(
            name=self.name,
            kind=self.kind,
            verdict=judgement.verdict,
            score=judgement.score,
            raw=judgement.raw,
            z_score=judgement.z_score,
            base_value=judgement.base_value,
            ft_value=judgement.ft_value,
            ci_95=judgement.ci_95,
            message=judgement.message,
            evidence={
                **judgement.evidence,
                "weight": self.weight,
                "limits": {
                    "assert_validity_delta_gte": self.assert_validity_delta_gte,
                    "assert_hallucination_lte": self.assert_hallucination_lte,
                    "assert_z_gte": self.assert_z_gte,
                },
                "allowed_tools": self.allowed_tools,
                "exact_arguments_base": self._exact_arguments(judgement.base),
                "exact_arguments_ft": self._exact_arguments(judgement.ft),
            },
            cases=tuple(
                CaseReport(
                    id=case.id,
                    prompt=case.prompt,
                    sent=prompt.text,
                    gold_tool_name=case.gold,
                    base=_answer(base_answer, base_reading),
                    ft=_answer(ft_answer, ft_reading),
                )
                for case, prompt, base_answer, base_reading, ft_answer, ft_reading in zip(
                    self.cases, prompts, base, judgement.base, ft, judgement.ft, strict=True
                )
            ),
        )

    def _exact_arguments(self, readings: Sequence[Reading]) -> float | None:
        """Share of the cases with gold arguments that were called with exactly those; None without such cases."""
        exact = [
            reading.call is not None and reading.valid and same_value(reading.call["arguments"], case.gold_arguments)
            for case, reading in zip(self.cases, readings, strict=True)
            if case.gold_arguments is not None
        ]
        return sum(exact) / len(exact) if exact else None


def _answer(completion: Completion, reading: Reading) -> ViewAnswer:
    return ViewAnswer(
        text=completion.text,
        call=reading.call,
        valid=reading.valid,
        outcome=reading.outcome,
        tokens=len(completion.tokens),
    )
