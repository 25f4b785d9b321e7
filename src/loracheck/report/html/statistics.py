"""How sure the numbers are, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loracheck.report.evidence import count, ends, number, part
from loracheck.report.html.evidence import rate, words
from loracheck.report.html.shown import points
from loracheck.report.text import percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loracheck.report.model import ProbeReport


def caution(probe: ProbeReport) -> str | None:
    """Says so where too few cases were asked to tell whether valid calls keep their limit."""
    power = part(probe.evidence, "power")
    if power.get("inconclusive") is not True:
        return None
    floor = part(probe.evidence, "limits").get("assert_validity_delta_gte")
    between = ends(part(probe.evidence, "paired", "validity").get("interval_95"))
    reach = f", {points(between[0])} to {points(between[1])}," if between else ""
    said = f"Too few cases to be sure: the 95% interval of the change{reach} has the limit of {points(floor)} inside."
    needed = count(power.get("cases_needed"))
    return f"{said} About {needed:,} cases would settle it." if needed else said


def paired(probe: ProbeReport) -> dict[str, dict[str, Any]]:
    """The paired counts by what they count; exact calls are left out where they are no other than the valid ones."""
    valid, exact = (part(probe.evidence, "paired", name) for name in ("validity", "exact_call"))
    return {"Valid calls": valid} if exact == valid else {"Valid calls": valid, "Exact calls": exact}


def sentences(probe: ProbeReport) -> Iterator[str]:
    """What the paired counts say, and how small a drop they could show."""
    for what, found in paired(probe).items():
        if said := " ".join(_paired(found, what)):
            yield said
    drop = rate(part(probe.evidence, "power").get("detectable_drop"))
    if drop is not None:
        yield f"With this many cases, a drop of {100 * drop:.0f} points or more is found four times out of five."
    if method := words(part(probe.evidence, "paired", "validity").get("method")):
        yield f"Method: {method}."


def _paired(found: dict[str, Any], what: str) -> Iterator[str]:
    both, lost, gained, neither = (count(found.get(key)) for key in ("both", "lost", "gained", "neither"))
    if None not in (both, lost, gained, neither):
        yield f"{what}: {lost} lost and {gained} gained; {both} in both views, {neither} in neither."
    between, delta = ends(found.get("interval_95")), number(found.get("delta"))
    if between and delta is not None:
        yield f"Change {points(delta)}, 95% interval {points(between[0])} to {points(between[1])}."
    p = rate(found.get("mcnemar_p"))
    if p is not None:
        often = "fewer than 0.1%" if p < 0.001 else percent(p)
        yield f"If the adapter changed nothing, a split this uneven would come up in {often} of checks (McNemar)."


def p_value(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
