"""The diff for a terminal and as JSON, and the words that its HTML page has too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from loracheck.report.diff import Diff, Match, ProbeDiff
from loracheck.report.json import json_text
from loracheck.report.terminal import COLOURS, plain_console, plain_table
from loracheck.results import ProbeReport
from loracheck.scoring import Evidence
from loracheck.text import counted, percent, points, signed, visible

_ALWAYS = ("valid calls, base", "valid calls, adapter", "wrong tool names")


def show_diff(diff: Diff, console: Console | None = None, *, examples: int = 10, color: bool | None = None) -> None:
    """Print the diff, with at most `examples` of the cases that flipped each way."""
    console = console or plain_console(color)
    for difference in diff.differences:
        console.print(Text(f"NOT THE SAME: {visible(difference)}", "bold yellow"))
    if diff.differences:
        console.print()
    for probe in diff.probes:
        _print_probe(probe, console, examples)
    for note in judged_again_notes(diff):
        console.print(Text(visible(note)))
    end, colour = (":", "bold red") if diff.worse else (".", "bold green")
    console.print(Text(f"{verdict_in_words(diff)}{end}", colour))
    for why in diff.worse:
        console.print(Text(f"  {visible(why)}"))


def verdict_in_words(diff: Diff) -> str:
    return "B is worse than A" if diff.worse else "B is not worse than A by the limits"


def judged_again_notes(diff: Diff) -> list[str]:
    both = (("A", diff.a.judged_again_note), ("B", diff.b.judged_again_note))
    return [f"{label}: {note}" for label, note in both if note]


def figures(probe: ProbeDiff) -> Iterator[tuple[str, str, str, str]]:
    """Name, A, B and the change; rates are those of all cases of each report."""
    a, b = probe.a, probe.b
    if isinstance(a.evidence, Evidence) and isinstance(b.evidence, Evidence):
        before, after = _rates(a), _rates(b)
        for name, rate in before.items():
            # The others are there only where the suite asks for them.
            if name in _ALWAYS or rate is not None or after[name] is not None:
                yield name, percent(rate), percent(after[name]), points(_change(rate, after[name]))
        yield "z against nulls", signed(a.z_score), signed(b.z_score), signed(_change(a.z_score, b.z_score))
    yield "score", _score(a.score), _score(b.score), _score(_change(a.score, b.score), "+")


def _rates(probe: ProbeReport) -> dict[str, float | None]:
    evidence = probe.comparison
    return {
        "valid calls, base": probe.base_value,
        "valid calls, adapter": probe.ft_value,
        "wrong tool names": evidence.hallucination_rate,
        "exact arguments, adapter": evidence.exact_arguments_ft,
        "strict schema, adapter": evidence.strict.ft if evidence.strict else None,
        "abstains, adapter": evidence.abstention.ft if evidence.abstention else None,
    }


def _change(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _score(score: float | None, sign: str = "") -> str:
    return "–" if score is None else f"{score:{sign}.2f}"


def _print_probe(probe: ProbeDiff, console: Console, examples: int) -> None:
    head = Text(probe.a.verdict.upper(), COLOURS[probe.a.verdict]).append(" → ", "not bold default")
    head.append(probe.b.verdict.upper(), COLOURS[probe.b.verdict])
    console.print(head.append(f"  {visible(probe.b.name)}", "not bold default"))
    console.print()
    table = plain_table("", ("A", "B", "change"))
    for row in figures(probe):
        table.add_row(*row)
    console.print(table)
    console.print()
    console.print(Text(probe.in_words))
    _print_flips("broke", probe.broke, console, examples)
    _print_flips("mended", probe.mended, console, examples)
    console.print()


def _print_flips(label: str, flips: Sequence[Match], console: Console, examples: int) -> None:
    if flips:
        console.print(f"{counted(len(flips), 'case')} {label}:")
    width = console.width
    for match in flips[:examples]:
        lines = [f"  {visible(f'{match.a.id}: {match.a.prompt}'[:width])}"]
        for side, answer in (("A", match.a.ft), ("B", match.b.ft)):
            lines.append(f"    {side} {answer.outcome:<13} {visible(answer.text.strip()[:width]) or '(empty)'}")
        for line in lines:
            console.print(Text(line), no_wrap=True, overflow="ellipsis")
    if len(flips) > examples:
        console.print(f"  … and {len(flips) - examples} more; --json FILE lists them all")


# As JSON


def to_json(diff: Diff) -> str:
    return json_text(
        {
            "schema_version": 1,
            "verdict": {"a": diff.a.verdict, "b": diff.b.verdict},
            "worse": diff.worse,
            "differences": diff.differences,
            "probes": [_probe_as_data(probe) for probe in diff.probes],
        }
    )


def _probe_as_data(probe: ProbeDiff) -> dict[str, Any]:
    return {
        "name": probe.b.name,
        "a": _side_as_data(probe.a),
        "b": _side_as_data(probe.b),
        "paired": probe.paired.model_dump(exclude={"method"}),
        "worse": probe.worse,
        "broke": [_match_as_data(match) for match in probe.broke],
        "mended": [_match_as_data(match) for match in probe.mended],
        "only_in_a": probe.only_a,
        "only_in_b": probe.only_b,
    }


def _side_as_data(probe: ProbeReport) -> dict[str, Any]:
    kept = probe.model_dump(include={"verdict", "score", "z_score", "base_value", "ft_value"})
    return {**kept, "hallucination_rate": probe.comparison.hallucination_rate}


def _match_as_data(match: Match) -> dict[str, Any]:
    return {
        "id": match.a.id,
        "prompt": match.a.prompt,
        "a": {"outcome": match.a.ft.outcome, "text": match.a.ft.text},
        "b": {"outcome": match.b.ft.outcome, "text": match.b.ft.text},
    }
