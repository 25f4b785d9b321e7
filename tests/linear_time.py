"""Whether time grows with the input as it should, on a machine of any speed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# A busy machine adds its own to the shorter time.
_LEAST_SECONDS = 0.02


def takes_linear_time(run: Callable[[], object], run_on_four_times_as_much: Callable[[], object]) -> bool:
    """Quadratic time would take sixteen times as long. What one try in three shows is no accident."""
    return any(_seconds(run_on_four_times_as_much) < 10 * max(_seconds(run), _LEAST_SECONDS) for _ in range(3))


def _seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start
