"""The entries of a suite file, as data. What is done for one is found by its `kind`, elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from loracheck.cases.case import Case, Strict, named_apart
from loracheck.scoring.limits import Limits

_ADD = "add some, or take it out"


class Entry(Strict):
    """One entry of a suite: its settings are its fields."""

    name: str = Field(min_length=1)
    kind: str

    @property
    def is_baseline(self) -> bool:
        """Whether it serves the entries behind it, and has no verdict of its own."""
        return False

    @property
    def seeds(self) -> tuple[int, ...]:
        """Of whatever is random in it."""
        return ()

    @property
    def asks(self) -> tuple[Case, ...]:
        """The user's cases in it."""
        return ()

    @property
    def needs_tries(self) -> bool:
        """Whether it cannot be judged unless each case is asked several times."""
        return False

    def asking(self, cases: Sequence[Case]) -> Entry:  # noqa: ARG002 - for entries that have cases
        """A copy that asks these cases instead of its own; ValidationError when it needs others."""
        return self


class NullAdapterEntry(Entry):
    """The yardstick: null adapters, random noise in the shape of the adapter under test, answer two sentinel cases."""

    kind: Literal["null_adapter"] = "null_adapter"
    runs: int = Field(default=3, ge=1, le=10)
    """Null adapters to try for each rank multiplier."""
    init_scale: float = Field(default=0.02, gt=0, allow_inf_nan=False)
    """Standard deviation of their noise; not used with match: norm."""
    match: Literal["scale", "norm"] = "scale"
    """What sets the size of the noise: init_scale, or the update norm of each pair of the adapter under test."""
    seed_base: int = Field(default=1000, ge=0)
    """Seed of the first null adapter; the next has the next number."""
    rank_multipliers: tuple[Annotated[float, Field(gt=0, allow_inf_nan=False)], ...] = Field(
        default=(1.0,), min_length=1
    )
    """Noise as strong as that of an adapter with this many times the rank."""
    on: Literal["sentinels", "cases"] = "sentinels"
    """What the null adapters answer: two fixed questions, asked as the cases are, or each later probe's own cases."""

    @property
    def is_baseline(self) -> bool:
        return True

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(self.seed_base + run for run in range(self.runs))


class ToolUseEntry(Entry):
    """Does the adapter still call tools the way its base does?"""

    kind: Literal["tool_use_fidelity"] = "tool_use_fidelity"
    cases: Annotated[tuple[Case, ...], AfterValidator(named_apart)] = Field(min_length=1)
    """What both views are asked."""
    allowed_tools: tuple[str, ...] | None = None
    """Names of tools that exist. When left out, only the ones that each case expects."""
    assert_validity_delta_gte: float = Field(default=-0.05, allow_inf_nan=False)
    """Fail when the share of valid calls, adapter minus base, is lower."""
    assert_hallucination_lte: float = Field(default=0.10, allow_inf_nan=False)
    """Fail when more of the valid calls name a wrong tool."""
    assert_z_gte: float = Field(default=3.0, allow_inf_nan=False)
    """Fail when z against the null adapters is lower; not applied where they can't tell."""
    assert_exact_arguments_gte: float | None = Field(default=None, allow_inf_nan=False)
    """Fail when fewer of the adapter's calls have the gold arguments. Off when left out."""
    assert_abstention_gte: float | None = Field(default=None, allow_inf_nan=False)
    """Fail when the adapter makes no call in fewer of the no_call cases. Off when left out."""
    assert_all_calls_gte: float | None = Field(default=None, allow_inf_nan=False)
    """Fail when fewer of the adapter's answers to cases with gold_calls make all these calls and no other. Off when
    left out."""
    assert_pass_hat_k_delta_gte: float | None = Field(default=None, allow_inf_nan=False)
    """Fail when the share of cases whose tries are all right, adapter minus base, is lower. It needs `trials`. Off when
    left out."""
    weight: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    """How much this probe counts in the report's score."""

    @model_validator(mode="after")
    def _limits_have_cases(self) -> ToolUseEntry:
        expected = (call for case in self.cases for call in case.expected_calls)
        if self.assert_exact_arguments_gte is not None and all(call.arguments is None for call in expected):
            raise ValueError(f"assert_exact_arguments_gte needs cases with gold_arguments; {_ADD}")
        if self.assert_abstention_gte is not None and all(case.expects_call for case in self.cases):
            raise ValueError(f"assert_abstention_gte needs cases with expect: no_call; {_ADD}")
        if self.assert_all_calls_gte is not None and all(case.gold_calls is None for case in self.cases):
            raise ValueError(f"assert_all_calls_gte needs cases with gold_calls; {_ADD}")
        if self.needs_tries and not any(case.expects_call for case in self.cases):
            raise ValueError(f"assert_pass_hat_k_delta_gte needs cases that expect a call; {_ADD}")
        return self

    @property
    def needs_tries(self) -> bool:
        return self.assert_pass_hat_k_delta_gte is not None

    @property
    def asks(self) -> tuple[Case, ...]:
        return self.cases

    def asking(self, cases: Sequence[Case]) -> Entry:
        return type(self)(**{**dict(self), "cases": tuple(cases)})

    @property
    def limits(self) -> Limits:
        return Limits(**{field.name: getattr(self, field.name) for field in fields(Limits)})


ENTRIES: dict[str, type[Entry]] = {"null_adapter": NullAdapterEntry, "tool_use_fidelity": ToolUseEntry}
"""By kind."""
