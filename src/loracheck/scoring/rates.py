"""The rates over all cases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .compare import field_disagreement
from .outcome import WRONG_TOOL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .outcome import Reading


@dataclass(frozen=True, slots=True)
class Rates:
    """Named as in the report. Without cases the valid rates and their delta are None."""

    json_valid_rate_base: float | None
    json_valid_rate_ft: float | None
    validity_delta: float | None
    mean_arg_disagreement: float
    hallucination_rate: float
    num_cases: int
    num_arg_pairs_compared: int


def measure(base: Sequence[Reading], ft: Sequence[Reading]) -> Rates:
    base_rate = _share([reading.valid for reading in base])
    ft_rate = _share([reading.valid for reading in ft])
    disagreements = [
        field_disagreement(mine.call, theirs.call)
        for mine, theirs in zip(base, ft, strict=True)
        if mine.valid and theirs.valid and mine.call is not None and theirs.call is not None
    ]
    pairs = len(disagreements)
    return Rates(
        json_valid_rate_base=base_rate,
        json_valid_rate_ft=ft_rate,
        validity_delta=None if base_rate is None or ft_rate is None else ft_rate - base_rate,
        # fsum, because sum() of floats rounds differently from Python 3.12 on.
        mean_arg_disagreement=math.fsum(disagreements) / pairs if pairs else 0.0,
        hallucination_rate=_share([reading.outcome == WRONG_TOOL for reading in ft if reading.valid]) or 0.0,
        num_cases=len(ft),
        num_arg_pairs_compared=pairs,
    )


def _share(flags: Sequence[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None
