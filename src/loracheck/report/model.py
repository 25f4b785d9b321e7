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


class CaseReport(_Part):
    id: str
    prompt: str
    sent: str
    """The exact text the model read."""
    gold_tool_name: str
    base: ViewAnswer
    ft: ViewAnswer


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
