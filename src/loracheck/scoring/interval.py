"""How sure the valid rate is: a percentile bootstrap."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

RESAMPLES = 1000

_MAX_DRAWS_AT_ONCE = 1_000_000


def bootstrap_ci_95(flags: Sequence[bool], seed: int) -> tuple[float, float] | None:
    """The 2.5 and 97.5 percentiles of the resampled mean; None without flags."""
    if not flags:
        return None
    if len(set(flags)) == 1:
        return float(flags[0]), float(flags[0])

    # Here, because numpy alone would double the start time of commands that never resample.
    import numpy as np

    rng = np.random.default_rng(seed)
    n = len(flags)
    values = np.array(flags, dtype=np.uint8)  # (n,)
    means = np.empty(RESAMPLES)  # (1000,)
    # Rows drawn in blocks continue one stream: the same numbers as one (1000, n) draw, in less
    # memory (a suite of 100,000 cases would need 800 MB at once).
    block = max(1, _MAX_DRAWS_AT_ONCE // n)
    for first in range(0, RESAMPLES, block):
        rows = min(block, RESAMPLES - first)
        picks = rng.integers(0, n, size=(rows, n))  # (rows, n)
        means[first : first + rows] = values[picks].sum(axis=1, dtype=np.int64) / n
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)
