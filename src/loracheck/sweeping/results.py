"""A sweep as data: what each cell came to, as it is written to JSON and read back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from loracheck.results import Report, Verdict
from loracheck.scoring.evidence import Drift
from loracheck.scoring.part import Count, Number, Part, Share
from loracheck.scoring.statistics import SIGNIFICANT, wilson

SCHEMA_VERSION = 1
UNQUANTIZED = "unquantized"

Interval = tuple[Share, Share]


class Figures(Part):
    """What the table shows of a cell; of several probes, over all their cases together."""

    cases: Count | None = None
    """Those that should bring a call."""
    valid_calls: Share | None = None
    valid_calls_base: Share | None = None
    valid_calls_ci_95: Interval | None = None
    valid_calls_floor: Number | None = None
    """As many must be valid by the limit; None where probes differ in it."""
    wrong_names: Share | None = None
    wrong_names_base: Share | None = None
    wrong_names_ci_95: Interval | None = None
    wrong_names_ceiling: Number | None = None
    right_calls: Share | None = None
    """Cases that are answered as they ask for: a valid call of a tool that exists, or none where no tool fits."""
    right_calls_base: Share | None = None
    exact_arguments: Share | None = None
    exact_arguments_base: Share | None = None
    drift_format: Number | None = None
    """How far expectations moved on the base's own calls, in nats: on braces, quotes and names."""
    drift_values: Number | None = None
    """The same on the arguments."""

    def of_base(self) -> Figures:
        """What a cell shows that computes what its base does."""
        return Figures(
            cases=self.cases,
            valid_calls=self.valid_calls_base,
            valid_calls_base=self.valid_calls_base,
            valid_calls_ci_95=_interval(self.valid_calls_base, self.cases),
            valid_calls_floor=self.valid_calls_floor,
            wrong_names=self.wrong_names_base,
            wrong_names_base=self.wrong_names_base,
            wrong_names_ceiling=self.wrong_names_ceiling,
            right_calls=self.right_calls_base,
            right_calls_base=self.right_calls_base,
            exact_arguments=self.exact_arguments_base,
            exact_arguments_base=self.exact_arguments_base,
            drift_format=None if self.drift_format is None else 0.0,
            drift_values=None if self.drift_values is None else 0.0,
        )


class SweepCell(BaseModel):
    """One check: where it stands on each axis, and what it came to."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    base: str
    quantization: str | None = None
    """What the base was quantized to; None is the base as it is."""
    adapter: str
    scale: float
    run: str | None = None
    """The training run that the adapter comes from."""
    checkpoint: int | None = None
    """The step of that run; None is its end."""
    verdict: Verdict
    reason: str | None = None
    """Why there is no report."""
    size_bytes: Count | None = None
    """Of the model file, quantized where it is, and the adapters on it."""
    figures: Figures = Figures()
    page: str | None = None
    """Its own page, beside the sweep's."""
    report: Report | None = None

    @property
    def key(self) -> tuple[str, str | None, str, float]:
        """What it is known by."""
        return self.base, self.quantization, self.adapter, self.scale

    @property
    def passed(self) -> bool:
        return self.verdict in ("pass", "warn")

    @property
    def has_effect(self) -> bool:
        """Whether there was anything to judge: a cell that computes what its base does has no report."""
        return not (self.verdict == "skip" and self.report is None)


class Step(Part):
    """From one cell of a curve to the next: the cases that are no longer answered right, and those that now are."""

    lost: Count
    gained: Count
    mcnemar_p: Number

    @property
    def is_noise(self) -> bool:
        """Whether chance alone splits so many cases like this one time in twenty."""
        return self.mcnemar_p >= SIGNIFICANT


Axis = Literal["scale", "checkpoint", "quantization"]
Shape = Literal["flat", "falls", "rises", "not monotone"]


class Curve(Part):
    """The cells along one axis, with everything else the same."""

    axis: Axis
    of: str
    """What is the same in all of them."""
    cells: tuple[Count, ...]
    """By their number among the sweep's cells, from 0."""
    steps: tuple[Step, ...] = ()
    """From each cell that was judged to the next one."""
    whole: Step | None = None
    """From the first to the last."""
    shape: Shape | None = None
    """Of right calls; None where fewer than two cells were judged."""


class Sweep(BaseModel):
    """What a sweep found."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    kind: Literal["sweep"] = "sweep"
    schema_version: int = SCHEMA_VERSION
    loracheck_version: str
    verdict: Verdict
    """The worst of its cells'; skip when none has an effect."""
    findings: tuple[str, ...] = ()
    """What one wants to know, a sentence each."""
    cells: tuple[SweepCell, ...] = Field(min_length=1)
    curves: tuple[Curve, ...] = ()
    warnings: tuple[str, ...] = ()
    """What the reports of all cells warn of."""
    timing: dict[str, float] = Field(default_factory=dict)

    def best(self) -> SweepCell | None:
        """The cell to ship: of those that pass, the best score, then the largest scale, then the smallest files."""
        passing = [cell for cell in self.cells if cell.passed]
        return max(passing, key=_worth, default=None)

    @property
    def passed(self) -> bool:
        """Whether no cell failed, and one has an effect."""
        return self.verdict in ("pass", "warn")

    def count(self, verdict: Verdict) -> int:
        return sum(cell.verdict == verdict for cell in self.cells)

    def varied(self, axis: str) -> list[Any]:
        """The values along an axis (`base`, `quantization`, `adapter` or `scale`), in order."""
        return list(dict.fromkeys(getattr(cell, axis) for cell in self.cells))

    @property
    def axes(self) -> list[str]:
        """Those along which the sweep has more than one value."""
        return [axis for axis in ("base", "quantization", "adapter", "scale") if len(self.varied(axis)) > 1]

    def name_of(self, cell: SweepCell) -> str:
        """What tells the cell from the others, in words."""
        parts = [cell.base] if "base" in self.axes else []
        parts += [cell.quantization or UNQUANTIZED] if "quantization" in self.axes else []
        parts += [cell.adapter] if "adapter" in self.axes else []
        if "scale" in self.axes or not parts:
            parts.append(f"scale {cell.scale:g}")
        return ", ".join(parts)


def _worth(cell: SweepCell) -> tuple[float, float, int]:
    score = cell.report.score if cell.report else None
    return (score or 0.0, cell.scale, -(cell.size_bytes or 0))


# Figures of a report


def figures_of(report: Report) -> Figures:
    probes = [probe for probe in report.judged if probe.comparison.num_cases is not None]
    evidence = [probe.comparison for probe in probes]
    asked = [each.num_cases or 0 for each in evidence]
    golden = [sum(case.ft.arguments_correct is not None for case in probe.asked) for probe in probes]
    calls = [sum(case.ft.valid for case in probe.asked) for probe in probes]
    calls_base = [sum(case.base.valid for case in probe.asked) for probe in probes]
    drifts = [each.drift or Drift() for each in evidence]
    positions = [drift.positions or 0 for drift in drifts]
    cases = [case for probe in probes for case in probe.cases]
    valid = _mean([probe.ft_value for probe in probes], asked)
    valid_base = _mean([probe.base_value for probe in probes], asked)
    wrong = _mean([each.hallucination_rate for each in evidence], calls)
    floor = _common(each.limits.assert_validity_delta_gte for each in evidence)
    return Figures(
        cases=sum(asked),
        valid_calls=valid,
        valid_calls_base=valid_base,
        valid_calls_ci_95=_interval(valid, sum(asked)),
        valid_calls_floor=None if floor is None or valid_base is None else valid_base + floor,
        wrong_names=wrong,
        wrong_names_base=_mean([each.hallucination_rate_base for each in evidence], calls_base),
        wrong_names_ci_95=_interval(wrong, sum(calls)),
        wrong_names_ceiling=_common(each.limits.assert_hallucination_lte for each in evidence),
        right_calls=_share([case.is_right(case.ft) for case in cases]),
        right_calls_base=_share([case.is_right(case.base) for case in cases]),
        exact_arguments=_mean([each.exact_arguments_ft for each in evidence], golden),
        exact_arguments_base=_mean([each.exact_arguments_base for each in evidence], golden),
        drift_format=_mean([drift.kl_format for drift in drifts], positions),
        drift_values=_mean([drift.kl_values for drift in drifts], positions),
    )


def _common(values: Iterable[float]) -> float | None:
    """The one value that all have; None where they differ."""
    known = set(values)
    return known.pop() if len(known) == 1 else None


def _mean(values: Sequence[float | None], weights: Sequence[int]) -> float | None:
    known = [(value, weight) for value, weight in zip(values, weights, strict=True) if value is not None]
    if len(known) == 1:
        # One probe's own number stays as it is, to the last bit.
        return known[0][0]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if total else None


def _share(flags: Sequence[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None


def _interval(share: float | None, n: int | None) -> Interval | None:
    return wilson(share, n) if share is not None and n else None


def right_answers(report: Report, *, base: bool = False) -> Mapping[tuple[str, str], bool]:
    """Which cases are answered as they ask for, by probe and case; those of the base where wanted."""
    return {
        (probe.name, case.id): case.is_right(case.base if base else case.ft)
        for probe in report.judged
        for case in probe.cases
    }


def worst(cells: Sequence[SweepCell]) -> Verdict:
    verdicts = {cell.verdict for cell in cells}
    order: tuple[Verdict, ...] = ("error", "fail", "warn", "pass")
    return next((verdict for verdict in order if verdict in verdicts), "skip")
