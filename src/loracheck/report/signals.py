"""The figures of a probe as rows of words, ready for any kind of table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from loracheck.report.evidence import count, number, part
from loracheck.report.text import cut, percent, points, signed, small, visible
from loracheck.scoring import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from loracheck.report.model import ProbeReport


@dataclass(frozen=True, slots=True)
class Signal:
    name: str
    base: str = ""
    ft: str = ""
    change: str = ""
    limit: str = ""
    """The limit, or why there is none, and what else is to be said."""
    kept: bool | None = None
    """None where nothing is judged."""


def signals(probe: ProbeReport) -> Iterator[Signal]:
    """The judged ones first, then what stands beside the verdict, as far as the report has it."""
    evidence = probe.evidence
    limits = part(evidence, "limits")
    delta, wrong = evidence.get("validity_delta"), evidence.get("hallucination_rate")
    yield Signal(
        "valid calls",
        percent(probe.base_value),
        percent(probe.ft_value),
        points(delta),
        *_at_least(points, limits.get("assert_validity_delta_gte"), delta),
    )
    yield Signal(
        "wrong tool names", "", percent(wrong), "", *_at_most(percent, limits.get("assert_hallucination_lte"), wrong)
    )
    yield _noise(probe)
    if (p_value := number(part(evidence, "null").get("p_value"))) is not None:
        yield Signal("p against noise", limit=f"not judged; exact, one-sided {small(p_value)}")
    pairs = count(evidence.get("num_arg_pairs_compared"))
    yield Signal(
        "argument drift",
        ft=percent(evidence.get("mean_arg_disagreement")),
        limit=f"not judged; {'–' if pairs is None else pairs} pairs compared",
    )
    if evidence.get("exact_arguments_ft") is not None:
        base, ft = evidence.get("exact_arguments_base"), evidence.get("exact_arguments_ft")
        yield _beside("exact arguments", base, ft, limits.get("assert_exact_arguments_gte"))
    if strict := part(evidence, "strict"):
        yield _beside("strict schema", strict.get("base"), strict.get("ft"))
    if abstention := part(evidence, "abstention"):
        base, ft, asked = abstention.get("base"), abstention.get("ft"), count(abstention.get("cases"))
        note = f"; {'–' if asked is None else asked} cases that fit no tool"
        yield _beside("abstains", base, ft, limits.get("assert_abstention_gte"), note)
    if probe.ci_95:
        low, high = probe.ci_95
        asked = count(evidence.get("num_cases"))
        of = len(probe.cases) if asked is None else asked
        yield Signal("95% interval", limit=f"{percent(low, 0)} to {percent(high, 0)} of {of} cases valid")


def transitions(probe: ProbeReport) -> tuple[list[str], list[tuple[str, list[int]]]] | None:
    """How many cases went from which outcome (a row each) to which (a column each); None when none changed."""
    found = {
        (before, after): many
        for before in get_args(Outcome)
        for after in get_args(Outcome)
        if (many := count(part(probe.evidence, "transitions", before).get(after)))
    }
    if all(before == after for before, after in found):
        return None
    columns = [outcome for outcome in get_args(Outcome) if any(outcome == after for _, after in found)]
    rows = [outcome for outcome in get_args(Outcome) if any(outcome == before for before, _ in found)]
    return columns, [(row, [found.get((row, column), 0) for column in columns]) for row in rows]


def _at_least(spelled: Callable[[Any], str], limit: Any, value: Any) -> tuple[str, bool | None]:
    floor, found = number(limit), number(value)
    return f"at least {spelled(limit)}", None if floor is None or found is None else found >= floor


def _at_most(spelled: Callable[[Any], str], limit: Any, value: Any) -> tuple[str, bool | None]:
    cap, found = number(limit), number(value)
    return f"at most {spelled(limit)}", None if cap is None or found is None else found <= cap


def _beside(name: str, base: Any, ft: Any, floor: Any = None, note: str = "") -> Signal:
    """What is judged only where the suite gave it a limit."""
    limit, kept = ("not judged", None) if number(floor) is None else _at_least(percent, floor, ft)
    return Signal(name, percent(base), percent(ft), "", f"{limit}{note}", kept)


def _noise(probe: ProbeReport) -> Signal:
    null = part(probe.evidence, "null")
    if probe.z_score is None:
        why = null.get("why")
        said = visible(cut(why, 300)) if why and isinstance(why, str) else "no noise baseline"
        return Signal("z against noise", ft="–", limit=f"not judged: {said}")
    floor = part(probe.evidence, "limits").get("assert_z_gte")
    limit, kept = _at_least(signed, floor, probe.z_score)
    noise = f"{percent(null.get('mean'), 0)} ± {percent(null.get('std'), 0)}"
    return Signal("z against noise", "", signed(probe.z_score), "", f"{limit}; noise: {noise}", kept)
