"""The noise baseline: random adapters shaped like the one under test answer two sentinel cases."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from loracheck.engine import AdapterUse, Noise, Prompt, View
from loracheck.probes.base import NullSamples, Probe
from loracheck.report.model import ProbeReport
from loracheck.scoring import Answer, Expectation, read_answer
from loracheck.scoring.dialects import PLAIN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    """Standard deviation of the noise; not used with match: norm."""
    match: Literal["scale", "norm"] = "scale"
    """What sets the noise's size: init_scale, or the update norm of each pair of the adapter under test."""
    seed_base: int = Field(default=1000, ge=0)
    """Seed of the first noise adapter; the next has the next number."""
    rank_multipliers: tuple[Annotated[float, Field(gt=0, allow_inf_nan=False)], ...] = Field(
        default=(1.0,), min_length=1
    )
    """Noise as strong as an adapter of so many times the rank would make it."""
    on: Literal["sentinels", "cases"] = "sentinels"
    """What the noise adapters answer: two fixed questions sent as bare text, or each later probe's own cases."""

    def run(self, bench: Bench) -> ProbeReport:
        measured = self._on_sentinels(bench) if self.on == "sentinels" else None
        bench.baseline = Baseline(self, measured)
        answered = ", which answer the cases of each probe" if measured is None else ""
        return ProbeReport(
            name=self.name,
            kind=self.kind,
            verdict="skip",
            message=f"noise baseline from {self.runs} random adapters{answered}; no verdict of its own",
            evidence={
                "on": self.on,
                "match": self.match,
                "init_scale": self.init_scale,
                "seeds": [self.seed_base + i for i in range(self.runs)],
                "valid_by_rank": measured and {f"rank_{m:.2f}": list(s.valid) for m, s in measured.items()},
                "cases_per_run": measured and len(SENTINELS),
            },
        )

    def samples(
        self, bench: Bench, prompts: Sequence[Prompt], expected: Sequence[Expectation], dialect: str
    ) -> Mapping[float, NullSamples]:
        """How the noise adapters answer these cases, by rank multiplier."""
        return {
            multiplier: NullSamples(
                tuple(
                    self._valid_answers(bench, prompts, expected, dialect, multiplier, run) for run in range(self.runs)
                ),
                len(prompts),
            )
            for multiplier in self.rank_multipliers
        }

    def _on_sentinels(self, bench: Bench) -> Mapping[float, NullSamples]:
        prompts = [Prompt(spec["name"], text, SENTINEL_TOKENS) for text, spec in SENTINELS]
        return self.samples(bench, prompts, [Expectation(spec, spec["name"]) for _, spec in SENTINELS], PLAIN)

    def _valid_answers(
        self,
        bench: Bench,
        prompts: Sequence[Prompt],
        expected: Sequence[Expectation],
        dialect: str,
        multiplier: float,
        run: int,
    ) -> int:
        view = self._noise_view(bench, multiplier, run)
        answers = bench.answer(view, prompts, f"noise {run + 1}/{self.runs}")
        return sum(
            read_answer(case, Answer(answer.text, answer.truncated), None, dialect).valid
            for case, answer in zip(expected, answers, strict=True)
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
                    match=self.match,
                ),
                use.scale,
            )
            for place, use in enumerate(under_test)
            if isinstance(use.source, Path)
        )
        return View(f"noise {run + 1}", bench.base.adapters + noise)


@dataclass(frozen=True, slots=True)
class Baseline:
    """The noise that later probes are held against: measured once on the sentinels, or anew on each probe's cases."""

    probe: NullAdapterProbe
    on_sentinels: Mapping[float, NullSamples] | None

    def samples(
        self, bench: Bench, prompts: Sequence[Prompt], expected: Sequence[Expectation]
    ) -> Mapping[float, NullSamples]:
        if self.on_sentinels is not None:
            return self.on_sentinels
        return self.probe.samples(bench, prompts, expected, bench.dialect.name)
