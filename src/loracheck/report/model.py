"""The report: what a check found, as it is written to JSON and read back."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from loracheck.scoring import Outcome

Verdict = Literal["pass", "fail", "warn", "skip", "error"]

SCHEMA_VERSION = 1

_WORST_FIRST: tuple[Verdict, ...] = ("error", "fail", "warn", "pass", "skip")


class _Part(BaseModel):
    # A report of a newer loracheck may say more than this one knows: it is shown all the same.
    model_config = ConfigDict(extra="ignore", frozen=True)


class ViewAnswer(_Part):
    text: str
    call: Any
    """The call as it was parsed, None where there was none."""
    valid: bool
    outcome: Outcome
    tokens: int
    more_calls: tuple[Any, ...] = ()
    """What else was called in the same answer; only the first call is judged."""
    dialect: str | None = None
    """The dialect the answer is in when that is not the one it was read with."""
    strict_valid: bool | None = None
    """Valid by the whole JSON Schema; None when strict schemas are off."""
    arguments_correct: bool | None = None
    """A valid call with the case's gold arguments; None where the case has none."""


class CaseReport(_Part):
    id: str
    prompt: str
    sent: str
    """The exact text the model read."""
    gold_tool_name: str | None
    """None where no tool should be called."""
    expect: Literal["call", "no_call"] = "call"
    gold_arguments: dict[str, Any] | None = None
    base: ViewAnswer
    ft: ViewAnswer
    differs_at: int | None = None
    """How many characters both answers have in common from the start; None when they are the same."""


class ProbeReport(_Part):
    name: str
    kind: str
    verdict: Verdict
    score: float | None = None
    raw: float | None = None
    z_score: float | None = None
    base_value: float | None = None
    ft_value: float | None = None
    ci_95: tuple[float, float] | None = None
    message: str
    evidence: dict[str, Any] = Field(default_factory=dict)
    cases: tuple[CaseReport, ...] = ()


class Report(_Part):
    schema_version: int = SCHEMA_VERSION
    loracheck_version: str
    verdict: Verdict
    score: float | None
    probes: tuple[ProbeReport, ...]
    provenance: dict[str, Any]
    timing: dict[str, float]
    warnings: tuple[str, ...] = ()


def overall(probes: tuple[ProbeReport, ...]) -> tuple[Verdict, float | None]:
    """The worst verdict and the weighted mean of the scores."""
    found = {probe.verdict for probe in probes}
    verdict: Verdict = next((verdict for verdict in _WORST_FIRST if verdict in found), "skip")
    weighed = [(probe.score, float(probe.evidence.get("weight", 1.0))) for probe in probes if probe.score is not None]
    total = sum(weight for _, weight in weighed)
    score = sum(score * weight for score, weight in weighed) / total if total else None
    return verdict, score
