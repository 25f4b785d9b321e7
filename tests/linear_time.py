"""Whether time grows with the input as it should, on a machine of any speed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# A busy machine adds its own to the shorter time.
_LEAST_SECONDS = 0.005


def takes_linear_time(run: Callable[[], object], run_on_four_times_as_much: Callable[[], object]) -> bool:
    """Quadratic time would take sixteen times as long. What one try in five shows is no accident."""
    return any(_is_below_ten_times(_seconds(run_on_four_times_as_much), run) for _ in range(5))


def _is_below_ten_times(seconds: float, run: Callable[[], object]) -> bool:
    # What takes next to no time need not be compared.
    return seconds < 10 * _LEAST_SECONDS or seconds < 10 * _seconds(run)


def _seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start
