"""What only the page reads of the evidence, with the same care."""

from __future__ import annotations

from typing import Any

from loracheck.report.evidence import count, number, part


def rate(value: Any) -> float | None:
    found = number(value)
    return found if found is not None and 0 <= found <= 1 else None


def words(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def counts(evidence: Any, *path: str) -> dict[str, int]:
    """How often each of some names was met, most often first."""
    found = {name: many for name, value in part(evidence, *path).items() if (many := count(value))}
    return dict(sorted(found.items(), key=lambda item: -item[1]))
