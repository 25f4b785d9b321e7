"""Does the adapter still call tools the way its base does?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator, model_validator

from loracheck.probes import evidence
from loracheck.probes.base import Probe
from loracheck.probes.trial import Trial, expectation_of, read_side
from loracheck.report.model import ProbeReport
from loracheck.scoring import Limits, calibrate, judge
from loracheck.scoring.dialects import read_calls
from loracheck.suite.case import Case, named_apart

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from loracheck.engine import Completion, Prompt
    from loracheck.probes.base import Bench, NullSamples
    from loracheck.scoring import Judgement


class ToolUseFidelityProbe(Probe):
    kind: Literal["tool_use_fidelity"] = "tool_use_fidelity"
    cases: tuple[Case, ...] = Field(min_length=1)
    """What both views are asked."""
    allowed_tools: tuple[str, ...] | None = None
    """Names that exist. Left out, only each case's own gold_tool_name does."""
    assert_validity_delta_gte: float = Field(default=-0.05, allow_inf_nan=False)
    """Fail when the share of valid calls, adapter minus base, is lower."""
    assert_hallucination_lte: float = Field(default=0.10, allow_inf_nan=False)
    """Fail when more of the valid calls name a wrong tool."""
    assert_z_gte: float = Field(default=3.0, allow_inf_nan=False)
    """Fail when z against noise is lower; not asked where noise can't tell."""
    assert_exact_arguments_gte: float | None = Field(default=None, allow_inf_nan=False)
    """Fail when fewer of the tuned view's calls have the gold arguments. Off when left out."""
    assert_abstention_gte: float | None = Field(default=None, allow_inf_nan=False)
    """Fail when the tuned view makes no call in fewer of the no_call cases. Off when left out."""
    weight: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    """How much this probe counts in the report's score."""

    @field_validator("cases")
    @classmethod
    def _named_apart(cls, cases: tuple[Case, ...]) -> tuple[Case, ...]:
        return named_apart(cases)

    @model_validator(mode="after")
    def _limits_have_cases(self) -> ToolUseFidelityProbe:
        if self.assert_exact_arguments_gte is not None and all(case.gold_arguments is None for case in self.cases):
            raise ValueError("assert_exact_arguments_gte needs cases with gold_arguments")
        if self.assert_abstention_gte is not None and all(case.expect == "call" for case in self.cases):
            raise ValueError("assert_abstention_gte needs cases with expect: no_call")
        return self

    def run(self, bench: Bench) -> ProbeReport:
        prompts = bench.prompts(self.cases)
        base = bench.answer(bench.base, [replace(prompt, traced=True) for prompt in prompts], "base")
        # The tuned view also reads the base's own calls, to see how far its expectations have moved.
        calls = [answer.trace if read_calls(answer.text, bench.dialect.name).calls else None for answer in base]
        followed = [replace(prompt, follow=trace) for prompt, trace in zip(prompts, calls, strict=True)]
        ft = bench.answer(bench.ft, followed, "ft")
        trials = [self._trial(bench, *parts) for parts in zip(self.cases, prompts, base, ft, strict=True)]
        # Whether a call is valid is no question where none should be made.
        asked = [trial for trial in trials if trial.expects_call]
        samples = self._noise(bench, asked)
        return self._report(bench, self._judge(bench, asked, samples), trials, asked, samples)

    def _trial(self, bench: Bench, case: Case, prompt: Prompt, base: Completion, ft: Completion) -> Trial:
        expected = expectation_of(case)
        sides = (
            read_side(case, expected, answer, self.allowed_tools, bench.dialect.name, strict=bench.strict_schema)
            for answer in (base, ft)
        )
        return Trial(case, expected, prompt, *sides)

    def _noise(self, bench: Bench, asked: Sequence[Trial]) -> Mapping[float, NullSamples]:
        if bench.baseline is None or not asked:
            return {}
        prompts = [trial.prompt for trial in asked]
        return bench.baseline.samples(bench, prompts, [trial.expected for trial in asked])

    def _judge(self, bench: Bench, asked: Sequence[Trial], samples: Mapping[float, NullSamples]) -> Judgement:
        return judge(
            [trial.expected for trial in asked],
            [trial.base.answer for trial in asked],
            [trial.ft.answer for trial in asked],
            calibrations={
                multiplier: calibrate(sample.valid, sample.cases, self.assert_z_gte)
                for multiplier, sample in samples.items()
            },
            no_calibration_why="the suite has no null_adapter probe" if bench.baseline is None else None,
            allowed_tools=self.allowed_tools,
            limits=Limits(self.assert_validity_delta_gte, self.assert_hallucination_lte, self.assert_z_gte),
            seed=bench.seed,
            dialect=bench.dialect.name,
        )

    def _report(
        self,
        bench: Bench,
        judgement: Judgement,
        trials: Sequence[Trial],
        asked: Sequence[Trial],
        samples: Mapping[float, NullSamples],
    ) -> ProbeReport:
        found = {
            **judgement.evidence,
            **evidence.changes(asked, self.assert_validity_delta_gte),
            **evidence.accuracy(trials),
            "drift": evidence.drift(trials),
            "dialect": evidence.dialect(trials, bench.dialect),
            "weight": self.weight,
            "limits": {name: value for name, value in dict(self).items() if name.startswith("assert_")},
            "allowed_tools": self.allowed_tools,
        }
        noise = bench.baseline.probe if bench.baseline else None
        found["null"] |= {
            "p_value": evidence.null_p(asked, samples),
            "on": noise and noise.on,
            "match": noise and noise.match,
        }
        missed = tuple(self._missed(found))
        bench.warnings += [f"{self.name}: {doubt}" for doubt in evidence.doubts(trials, found)]
        return ProbeReport(
            name=self.name,
            kind=self.kind,
            verdict="fail" if missed and judgement.verdict == "pass" else judgement.verdict,
            score=judgement.score,
            raw=judgement.raw,
            z_score=judgement.z_score,
            base_value=judgement.base_value,
            ft_value=judgement.ft_value,
            ci_95=judgement.ci_95,
            message="; missed: ".join((judgement.message, *missed)),
            evidence=found,
            cases=tuple(trial.report() for trial in trials),
        )

    def _missed(self, found: Mapping[str, Any]) -> Iterator[str]:
        """The limits beside the verdict's own, where they were asked for."""
        abstention = found["abstention"] or {}
        for what, value, floor in (
            ("exact arguments", found["exact_arguments_ft"], self.assert_exact_arguments_gte),
            ("abstention", abstention.get("ft"), self.assert_abstention_gte),
        ):
            if floor is not None and value is not None and not value >= floor:
                yield f"{what} {value:.1%} is under the limit of {floor:.1%}"
