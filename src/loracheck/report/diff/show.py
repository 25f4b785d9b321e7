"""The diff for a terminal and as JSON, and the words that its HTML page has too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from rich.console import Console
from rich.text import Text

from loracheck.report.console import COLOURS, plain_console, plain_table
from loracheck.report.diff import Diff, Match, ProbeDiff
from loracheck.report.diff.probe import SharedFigures
from loracheck.report.json import json_text
from loracheck.report.outcomes import outcome_name
from loracheck.results import ProbeReport
from loracheck.scoring import Evidence
from loracheck.scoring.evidence import BothRates
from loracheck.text import counted, percent, points, signed, visible

Row: TypeAlias = tuple[str, str, str, str]


def show_diff(diff: Diff, console: Console | None = None, *, examples: int = 10, color: bool | None = None) -> None:
    """Print the diff, with at most `examples` of the cases that flipped each way."""
    console = console or plain_console(color)
    for difference in diff.differences:
        console.print(Text(f"NOT THE SAME: {visible(difference)}", "bold yellow"))
    for label, compared in zip("AB", diff.compared, strict=True):
        console.print(Text(f"{label}: {visible(compared)}"))
    console.print()
    for probe in diff.probes:
        _print_probe(probe, console, examples)
    for note in judged_again_notes(diff):
        console.print(Text(visible(note)))
    reasons = [f"worse: {why}" for why in diff.worse] + [f"better: {why}" for why in diff.better]
    colour = "bold red" if diff.worse else "bold green"
    console.print(Text(f"{verdict_in_words(diff)}{':' if reasons else '.'}", colour))
    for reason in reasons:
        console.print(Text(f"  {visible(reason)}"))


def verdict_in_words(diff: Diff) -> str:
    if diff.worse:
        return "B is worse than A in some ways, better in others" if diff.better else "B is worse than A"
    return "B is better than A" if diff.better else "B is not worse than A by the limits"


def judged_again_notes(diff: Diff) -> list[str]:
    both = (("A", diff.a.judged_again_note), ("B", diff.b.judged_again_note))
    return [f"{label}: {note}" for label, note in both if note]


def figures(probe: ProbeDiff) -> Iterator[Row]:
    """Name, A, B and the change; on the shared cases, but z and the score are those of all cases of each report."""
    a, b = probe.a, probe.b
    of_all = "" if probe.shares_all else ", all cases"
    if isinstance(a.evidence, Evidence) and isinstance(b.evidence, Evidence):
        yield from _shared_figures(probe)
        z_change = signed(_change(a.z_score, b.z_score))
        yield f"z above null adapters{of_all}", signed(a.z_score), signed(b.z_score), z_change
    yield f"score{of_all}", _score(a.score), _score(b.score), signed(_change(a.score, b.score), 2)


def _shared_figures(probe: ProbeDiff) -> Iterator[Row]:
    (a, b), (was, is_now) = probe.shared, (figures.evidence for figures in probe.shared)
    subject = probe.subject
    yield _rate_row("valid calls, base", was.json_valid_rate_base, is_now.json_valid_rate_base)
    yield _rate_row(f"valid calls, {subject}", was.json_valid_rate_ft, is_now.json_valid_rate_ft)
    yield f"{subject} less base", points(a.validity.delta), points(b.validity.delta), points(probe.validity_change)
    yield _rate_row("wrong tool names, base", a.hallucination_rate_base, b.hallucination_rate_base)
    yield _rate_row(f"wrong tool names, {subject}", was.hallucination_rate, is_now.hallucination_rate)
    for name, *rates in (
        (f"exact arguments, {subject}", was.exact_arguments_ft, is_now.exact_arguments_ft),
        (f"strict schema, {subject}", _adapter_rate(was.strict), _adapter_rate(is_now.strict)),
        (f"abstains, {subject}", _adapter_rate(was.abstention), _adapter_rate(is_now.abstention)),
    ):
        # They are there only where the suite asks for them.
        if rates != [None, None]:
            yield _rate_row(name, *rates)


def _rate_row(name: str, before: float | None, after: float | None) -> Row:
    return name, percent(before), percent(after), points(_change(before, after))


def _adapter_rate(rates: BothRates | None) -> float | None:
    return rates.ft if rates else None


def _change(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _score(score: float | None) -> str:
    return "–" if score is None else f"{score:.2f}"


def _print_probe(probe: ProbeDiff, console: Console, examples: int) -> None:
    head = Text(probe.a.verdict.upper(), COLOURS[probe.a.verdict]).append(" → ", "not bold default")
    head.append(probe.b.verdict.upper(), COLOURS[probe.b.verdict])
    console.print(head.append(f"  {visible(probe.b.name)}", "not bold default"))
    console.print()
    table = plain_table(counted(len(probe.matches), "shared case"), ("A", "B", "change"))
    for row in figures(probe):
        table.add_row(*row)
    console.print(table)
    console.print()
    for sentence in probe.sentences:
        console.print(Text(sentence))
    _print_flips("broke", probe.broke, console, examples)
    _print_flips("mended", probe.mended, console, examples)
    console.print()


def _print_flips(label: str, flips: Sequence[Match], console: Console, examples: int) -> None:
    if flips:
        console.print(f"{counted(len(flips), 'case')} {label}:")
    width = console.width
    for match in flips[:examples]:
        lines = [f"  {visible(f'{match.a.id}: {match.a.prompt}'[:width])}"]
        for side, case in (("A", match.a), ("B", match.b)):
            name = outcome_name(case, case.ft)
            lines.append(f"    {side} {name:<15} {visible(case.ft.text.strip()[:width]) or '(empty)'}")
        for line in lines:
            console.print(Text(line), no_wrap=True, overflow="ellipsis")
    if len(flips) > examples:
        console.print(f"  … and {len(flips) - examples} more; --json FILE lists them all")


# As JSON


def to_json(diff: Diff) -> str:
    return json_text(
        {
            "schema_version": 1,
            "compared": dict(zip("ab", diff.compared, strict=True)),
            "verdict": {"a": diff.a.verdict, "b": diff.b.verdict},
            "worse": diff.worse,
            "better": diff.better,
            "differences": diff.differences,
            "probes": [_probe_as_data(probe) for probe in diff.probes],
        }
    )


def _probe_as_data(probe: ProbeDiff) -> dict[str, Any]:
    return {
        "name": probe.b.name,
        "a": _side_as_data(probe.a),
        "b": _side_as_data(probe.b),
        "shared": {name: _shared_as_data(figures) for name, figures in zip("ab", probe.shared, strict=True)},
        "validity_change": probe.validity_change,
        "paired": probe.paired.model_dump(exclude={"method"}),
        "paired_names": probe.paired_names.model_dump(exclude={"method"}),
        "inconclusive": probe.inconclusive,
        "cases_needed": probe.cases_needed,
        "worse": probe.worse,
        "better": probe.better,
        "broke": [_match_as_data(match) for match in probe.broke],
        "mended": [_match_as_data(match) for match in probe.mended],
        "only_in_a": probe.only_a,
        "only_in_b": probe.only_b,
    }


def _side_as_data(probe: ProbeReport) -> dict[str, Any]:
    kept = probe.model_dump(include={"verdict", "score", "z_score", "base_value", "ft_value"})
    return {**kept, "hallucination_rate": probe.comparison.hallucination_rate}


def _shared_as_data(figures: SharedFigures) -> dict[str, Any]:
    kept = figures.evidence.model_dump(include={"num_cases", "json_valid_rate_base", "json_valid_rate_ft"})
    return {
        **kept,
        "validity_delta": figures.validity.delta,
        "hallucination_rate_base": figures.hallucination_rate_base,
        "hallucination_rate": figures.evidence.hallucination_rate,
    }


def _match_as_data(match: Match) -> dict[str, Any]:
    return {
        "id": match.a.id,
        "prompt": match.a.prompt,
        "a": {"outcome": match.a.ft.outcome, "text": match.a.ft.text},
        "b": {"outcome": match.b.ft.outcome, "text": match.b.ft.text},
    }
