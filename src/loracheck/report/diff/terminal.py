"""The diff for a terminal, 80 columns wide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from loracheck.report.diff.figures import figures, verdict_in_words
from loracheck.report.terminal import COLOURS, plain_console
from loracheck.report.text import counted, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from loracheck.report.diff.compare import Diff, Match, ProbeDiff


def show_diff(found: Diff, console: Console | None = None, *, examples: int = 10, color: bool | None = None) -> None:
    """Print the diff, with at most `examples` of the cases that flipped each way."""
    console = console or plain_console(color)
    for difference in found.differences:
        console.print(Text(f"NOT THE SAME: {visible(difference)}", "bold yellow"))
    if found.differences:
        console.print()
    for probe in found.probes:
        _show_probe(probe, console, examples)
    end, colour = (":", "bold red") if found.worse else (".", "bold green")
    console.print(Text(f"{verdict_in_words(found)}{end}", colour))
    for why in found.worse:
        console.print(Text(f"  {visible(why)}"))


def _show_probe(probe: ProbeDiff, console: Console, examples: int) -> None:
    head = Text(probe.a.verdict.upper(), COLOURS[probe.a.verdict]).append(" → ", "not bold default")
    head.append(probe.b.verdict.upper(), COLOURS[probe.b.verdict])
    console.print(head.append(f"  {visible(probe.b.name)}", "not bold default"))
    console.print()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    for column in ("A", "B", "change"):
        table.add_column(column, justify="right")
    for row in figures(probe):
        table.add_row(*row)
    console.print(table)
    console.print()
    console.print(Text(probe.in_words))
    _show_flips("broke", probe.broke, console, examples)
    _show_flips("mended", probe.mended, console, examples)
    console.print()


def _show_flips(label: str, flips: Sequence[Match], console: Console, examples: int) -> None:
    if not flips:
        return
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
