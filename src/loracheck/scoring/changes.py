"""What became of each answer between the base and the ft view."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def counts(outcomes: Iterable[str]) -> dict[str, int]:
    """How often each outcome came up, the most frequent first."""
    return dict(Counter(outcomes).most_common())


def transitions(base: Iterable[str], ft: Iterable[str]) -> dict[str, dict[str, int]]:
    """For each outcome in the base, what became of its cases in ft; without zeros."""
    table: dict[str, dict[str, int]] = {}
    for (was, became), number in Counter(zip(base, ft, strict=True)).most_common():
        table.setdefault(was, {})[became] = number
    return table


def differs_at(a: str, b: str) -> int | None:
    """How many characters two texts share from the start; None when they are the same."""
    if a == b:
        return None
    # Halving compares slices at memory speed, where a walk takes a step for each of a million characters.
    same, differs = 0, min(len(a), len(b)) + 1
    while differs - same > 1:
        middle = (same + differs) // 2
        if a[same:middle] == b[same:middle]:
            same = middle
        else:
            differs = middle
    return same
