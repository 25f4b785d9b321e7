"""The report for a terminal, 80 columns wide."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from loracheck.report.text import percent, points, signed, visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from loracheck.report.model import CaseReport, ProbeReport, Report, Verdict

_COLOURS: dict[Verdict, str] = {
    "pass": "bold green",
    "fail": "bold red",
    "warn": "bold yellow",
    "skip": "bold",
    "error": "bold red",
}


class _Console(Console):
    def on_broken_pipe(self) -> None:
        # The reader, such as `head`, has seen enough; the verdict still becomes the exit code.
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show(report: Report, console: Console | None = None, *, examples: int = 10) -> None:
    """Print the report, with at most `examples` of the cases that changed; the JSON report has them all."""
    console = console or _Console(highlight=False, emoji=False, markup=False)
    shown = [probe for probe in report.probes if probe.kind != "null_adapter"]
    for probe in shown:
        _show_probe(probe, console, examples)
    for warning in report.warnings:
        console.print(Text(f"Warning: {visible(warning)}", "yellow"))
    if len(shown) > 1:
        line = Text(report.verdict.upper(), _COLOURS[report.verdict])
        console.print(line.append(f"  all together{_score(report.score)}", "not bold default"))


def _show_probe(probe: ProbeReport, console: Console, examples: int) -> None:
    head = Text(probe.verdict.upper(), _COLOURS[probe.verdict])
    head.append(f"  {visible(probe.name)}{_score(probe.score)}", "not bold default")
    console.print(head)
    console.print(Text(visible(probe.message)))
    console.print()
    if probe.kind == "tool_use_fidelity":
        console.print(_signals(probe))
        console.print()
    if probe.cases:
        _show_changed(probe, console, examples)


def _score(score: float | None) -> str:
    return "" if score is None else f"  score {score:.2f}"


def _signals(probe: ProbeReport) -> Table:
    evidence = probe.evidence
    limits = _part(evidence, "limits")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    for column in ("base", "ft", "change"):
        table.add_column(column, justify="right")
    table.add_column("limit")
    table.add_row(
        "valid calls",
        percent(probe.base_value),
        percent(probe.ft_value),
        points(evidence.get("validity_delta")),
        _limit("at least", points, limits.get("assert_validity_delta_gte"), evidence.get("validity_delta")),
    )
    table.add_row(
        "wrong tool names",
        "",
        percent(evidence.get("hallucination_rate")),
        "",
        _limit("at most", percent, limits.get("assert_hallucination_lte"), evidence.get("hallucination_rate")),
    )
    table.add_row("z against noise", "", *_noise(probe))
    table.add_row(
        "argument drift",
        "",
        percent(evidence.get("mean_arg_disagreement")),
        "",
        f"not judged; {visible(str(evidence.get('num_arg_pairs_compared', 0)))} pairs compared",
    )
    if evidence.get("exact_arguments_ft") is not None:
        table.add_row(
            "exact arguments",
            percent(evidence.get("exact_arguments_base")),
            percent(evidence.get("exact_arguments_ft")),
            "",
            "not judged",
        )
    if probe.ci_95:
        low, high = probe.ci_95
        table.add_row("95% interval", "", "", "", f"{low:.0%} to {high:.0%} of {len(probe.cases)} cases valid")
    return table


def _part(evidence: dict[str, Any], name: str) -> dict[str, Any]:
    part = evidence.get(name)
    return part if isinstance(part, dict) else {}


def _limit(side: str, spelled: Callable[[Any], str], limit: Any, value: Any) -> Text:
    """The limit and whether the value keeps to it, where both are numbers."""
    text = Text(f"{side} {spelled(limit)}")
    if isinstance(limit, float | int) and isinstance(value, float | int):
        kept = value >= limit if side == "at least" else value <= limit
        text = Text("kept   " if kept else "MISSED ", "green" if kept else "bold red") + text
    return text


def _noise(probe: ProbeReport) -> tuple[str, str, Text]:
    null = _part(probe.evidence, "null")
    if probe.z_score is None:
        return "–", "", Text(f"not judged: {visible(str(null.get('why') or 'no noise baseline'))}")
    floor = _part(probe.evidence, "limits").get("assert_z_gte")
    noise = f"{percent(null.get('mean'), 0)} ± {percent(null.get('std'), 0)}"
    return signed(probe.z_score), "", _limit("at least", signed, floor, probe.z_score).append(f"; noise: {noise}")


def _show_changed(probe: ProbeReport, console: Console, examples: int) -> None:
    changed = [case for case in probe.cases if case.base.outcome != case.ft.outcome]
    if not changed:
        console.print(f"No case changed its outcome ({len(probe.cases)} cases).")
        return
    console.print(f"{len(changed)} of {len(probe.cases)} cases changed their outcome:")
    for case in changed[:examples]:
        _show_case(case, console)
    if len(changed) > examples:
        console.print(f"  … and {len(changed) - examples} more; --json FILE keeps every answer")


def _show_case(case: CaseReport, console: Console) -> None:
    # An answer may be a megabyte; a line holds no more letters than it has columns.
    width = console.width
    lines = [Text(f"  {visible(f'{case.id}: {case.prompt}'[:width])}")]
    for label, answer in (("base", case.base), ("ft", case.ft)):
        line = Text(f"    {label:<4} ")
        line.append(f"{answer.outcome:<13} ", "green" if answer.outcome == "valid" else "red")
        lines.append(line.append(visible(answer.text.strip()[:width]) or "(empty)"))
    for line in lines:
        console.print(line, no_wrap=True, overflow="ellipsis")
