"""The figures of two probes as rows of words, ready for any kind of table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loracheck.report.evidence import number, part
from loracheck.report.text import percent, points, signed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loracheck.report.diff.compare import Diff, ProbeDiff


def figures(probe: ProbeDiff) -> Iterator[tuple[str, str, str, str]]:
    """Name, A, B and the change; rates are those of all cases of each report."""
    a, b = probe.a, probe.b
    yield _rate("valid calls, base", a.base_value, b.base_value)
    yield _rate("valid calls, ft", a.ft_value, b.ft_value)
    yield _rate("wrong tool names", a.evidence.get("hallucination_rate"), b.evidence.get("hallucination_rate"))
    for name, path, key in (
        ("exact arguments, ft", (), "exact_arguments_ft"),
        ("strict schema, ft", ("strict",), "ft"),
        ("abstains, ft", ("abstention",), "ft"),
    ):
        before, after = part(a.evidence, *path).get(key), part(b.evidence, *path).get(key)
        if number(before) is not None or number(after) is not None:
            yield _rate(name, before, after)
    yield "z against noise", signed(a.z_score), signed(b.z_score), signed(_change(a.z_score, b.z_score))
    yield "score", _score(a.score), _score(b.score), _score(_change(a.score, b.score), "+")


def verdict_in_words(found: Diff) -> str:
    return "B is worse than A" if found.worse else "B is not worse than A by the limits"


def _rate(name: str, before: Any, after: Any) -> tuple[str, str, str, str]:
    return name, percent(before), percent(after), points(_change(before, after))


def _change(before: Any, after: Any) -> float | None:
    first, second = number(before), number(after)
    return None if first is None or second is None else second - first


def _score(value: float | None, sign: str = "") -> str:
    found = number(value)
    return "–" if found is None else f"{found:{sign}.2f}"
