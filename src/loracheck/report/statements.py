"""What the statistics of a probe say, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loracheck.report.evidence import count, ends, number, part
from loracheck.report.text import cut, percent, points, signed, small, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loracheck.report.model import ProbeReport


def statements(probe: ProbeReport) -> Iterator[str]:
    """One sentence a line, for what the report has; safe to print."""
    evidence = probe.evidence
    validity, exact = part(evidence, "paired", "validity"), part(evidence, "paired", "exact_call")
    yield from _paired(validity)
    if _counts(exact) != _counts(validity):
        # Without its interval it fits a line; the JSON report has that too.
        yield from (f"Exact calls: {said[0].lower()}{said[1:]}" for said in _paired({**exact, "interval_95": None}))
    yield from _power(part(evidence, "power"), part(evidence, "limits").get("assert_validity_delta_gte"))
    yield from _ranks(part(evidence, "z_by_rank"))
    yield from _drift(part(evidence, "drift"))
    yield from _dialect(part(evidence, "dialect"))


def paired_sentence(lost: int, gained: int, of: int, p_value: Any, delta: Any, interval: Any) -> str:
    said = f"Lost {lost}, gained {gained} of {of}; exact McNemar p {small(p_value)}; change {points(delta, 0)}"
    found = ends(interval)
    return said if found is None else f"{said}, 95% {100 * found[0]:+.0f} to {100 * found[1]:+.0f}"


def _paired(found: dict[str, Any]) -> Iterator[str]:
    if counts := _counts(found):
        _, lost, gained, _ = counts
        p_value, delta, interval = (found.get(name) for name in ("mcnemar_p", "delta", "interval_95"))
        yield paired_sentence(lost, gained, sum(counts), p_value, delta, interval)


def _counts(found: dict[str, Any]) -> tuple[int, int, int, int] | None:
    both, lost, gained, neither = (count(found.get(name)) for name in ("both", "lost", "gained", "neither"))
    if both is None or lost is None or gained is None or neither is None:
        return None
    return both, lost, gained, neither


def _power(power: dict[str, Any], floor: Any) -> Iterator[str]:
    if power.get("inconclusive") is True:
        needed = count(power.get("cases_needed"))
        tell = "more cases" if needed is None else f"about {needed} cases"
        yield f"Valid calls inconclusive: interval holds {points(floor)}; {tell} would tell."
    if (drop := number(power.get("detectable_drop"))) is not None:
        yield f"These cases can show a drop of {100 * drop:.0f} points or more (80% power)."


def _ranks(scores: dict[str, Any]) -> Iterator[str]:
    """One rank is the z of the table."""
    if len(scores) > 1:
        ranks = [f"×{visible(cut(name, 20)).removeprefix('rank_')} {signed(z)}" for name, z in scores.items()]
        yield f"z by rank of the noise: {', '.join(ranks[:8])}"


def _drift(drift: dict[str, Any]) -> Iterator[str]:
    kinds = [
        f"{name} KL {small(drift.get(f'kl_{name}'))}, {percent(drift.get(f'changed_{name}'))}"
        for name in ("format", "values")
        if number(drift.get(f"kl_{name}")) is not None
    ]
    if kinds:
        yield f"Drift: {'; '.join(kinds)} of tokens changed"
    moved = drift.get("moved")
    most = moved[0] if isinstance(moved, list | tuple) and moved else None
    if isinstance(most, dict):
        case, before, after = (visible(cut(str(most.get(key)), 20)) for key in ("case", "base_top", "ft_top"))
        place = count(most.get("position"))
        yield f"Most moved: {case}, token {'–' if place is None else place}: “{before}” to “{after}”"


def _dialect(dialect: dict[str, Any]) -> Iterator[str]:
    said, title, why = (dialect.get(key) for key in ("message", "title", "why"))
    if isinstance(said, str) and said:
        yield f"Dialect: {visible(cut(said, 300))}"
    elif dialect.get("name") not in (None, "json") and isinstance(title, str):
        yield f"Dialect: {visible(cut(title, 80))}{f' ({visible(cut(why, 200))})' if isinstance(why, str) else ''}"
