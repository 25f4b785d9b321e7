"""The noise baseline: random adapters shaped like the one under test answer two sentinel cases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from loracheck.engine import AdapterUse, Noise, Prompt, View
from loracheck.probes.base import NullSamples, Probe
from loracheck.report.model import ProbeReport
from loracheck.scoring import matches_schema, parse_tool_call

if TYPE_CHECKING:
    from loracheck.probes.base import Bench

SENTINELS: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "Search the web for the capital of France.",
        {
            "name": "search_web",
            "parameters": {
                "type": "object",
                "properties": {"query": {"type": "string"}},
                "required": ["query"],
            },
        },
    ),
    (
        "Add 2 and 2.",
        {
            "name": "calculator",
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
                "required": ["a", "b"],
            },
        },
    ),
)
SENTINEL_TOKENS = 256

# Two adapters of one shape in a stack must not get the same noise.
_SEED_STEP = 1_000_000


class NullAdapterProbe(Probe):
    kind: Literal["null_adapter"] = "null_adapter"
    runs: int = Field(default=3, ge=1, le=10)
    """Noise adapters to try for each rank multiplier."""
    init_scale: float = Field(default=0.02, gt=0, allow_inf_nan=False)
    """Standard deviation of the noise."""
    seed_base: int = Field(default=1000, ge=0)
    rank_multipliers: tuple[Annotated[float, Field(gt=0, allow_inf_nan=False)], ...] = Field(
        default=(1.0,), min_length=1
    )
    """Noise as strong as an adapter of so many times the rank would make it."""

    def run(self, bench: Bench) -> ProbeReport:
        prompts = [Prompt(spec["name"], text, SENTINEL_TOKENS) for text, spec in SENTINELS]
        samples = {
            multiplier: NullSamples(
                tuple(self._valid_answers(bench, prompts, multiplier, i) for i in range(self.runs)),
                len(SENTINELS),
            )
            for multiplier in self.rank_multipliers
        }
        bench.nulls, bench.no_nulls_why = samples, None
        return ProbeReport(
            name=self.name,
            kind=self.kind,
            verdict="skip",
            message=f"noise baseline from {self.runs} random adapters; no verdict of its own",
            evidence={
                "init_scale": self.init_scale,
                "seeds": [self.seed_base + i for i in range(self.runs)],
                "valid_by_rank": {f"rank_{m:.2f}": list(s.valid) for m, s in samples.items()},
                "cases_per_run": len(SENTINELS),
            },
        )

    def _valid_answers(self, bench: Bench, prompts: list[Prompt], multiplier: float, run: int) -> int:
        view = self._noise_view(bench, multiplier, run)
        answers = bench.answer(view, prompts, f"noise {run + 1}/{self.runs}")
        return sum(
            (call := parse_tool_call(answer.text)) is not None and matches_schema(call, spec)
            for answer, (_, spec) in zip(answers, SENTINELS, strict=True)
        )

    def _noise_view(self, bench: Bench, multiplier: float, run: int) -> View:
        """The base's own adapters stay; each one under test is replaced by noise of its shape, at its scale."""
        under_test = bench.ft.adapters[len(bench.base.adapters) :]
        noise = tuple(
            AdapterUse(
                Noise(
                    use.source,
                    seed=self.seed_base + run + place * _SEED_STEP,
                    init_scale=self.init_scale,
                    rank_multiplier=multiplier,
                ),
                use.scale,
            )
            for place, use in enumerate(under_test)
            if isinstance(use.source, Path)
        )
        return View(f"noise {run + 1}", bench.base.adapters + noise)
