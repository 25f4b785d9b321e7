"""What was located, for a terminal of 80 columns."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from loracheck.locating.located import Located
from loracheck.report.console import COLOURS, plain_console, plain_table
from loracheck.report.content import to_act_on
from loracheck.report.locate import words
from loracheck.report.outcomes import outcome_name
from loracheck.text import percent, visible


def show_located(
    located: Located, console: Console | None = None, *, examples: int = 5, color: bool | None = None
) -> None:
    """Print it, with at most `examples` of the broken cases; the JSON has them all."""
    console = console or plain_console(color)
    _print_verdicts(located, console)
    console.print(Text(visible(words.headline(located)), "bold"))
    for sentence in words.findings(located):
        console.print(Text(visible(sentence)))
    if located.ending == "nothing_broken":
        for line in words.why_it_fails(located.report):
            console.print(Text(visible(line)))
    if located.found:
        console.print()
        _print_parts(located, console)
        _print_curve(located, console)
        _print_cases(located, console, examples)
        for sentence in words.effort(located):
            console.print(Text(visible(sentence)))
    for warning in to_act_on(located.report.warnings, [located.report]):
        console.print(Text(f"Warning: {visible(warning)}", "yellow"))
    if written := words.writing(located):
        console.print(Text(visible(written), "bold"))
    if located.found:
        console.print(Text(words.UNKNOWN))


def _print_verdicts(located: Located, console: Console) -> None:
    line = Text()
    for verdict in words.verdicts(located):
        line.append(" → " if line else "", "not bold default").append(verdict.upper(), COLOURS[verdict])
    adapter, base = located.report.provenance.compared
    console.print(line.append(f"  {visible(adapter)} on {visible(base)}", "not bold default"))


def _print_parts(located: Located, console: Console) -> None:
    table = plain_table("part", ("harm when removed", "harm alone", "share of the update"))
    for row in words.part_rows(located):
        table.add_row(row.words, row.removed, row.alone, row.update)
    console.print(table)
    console.print()


def _print_curve(located: Located, console: Console) -> None:
    table = plain_table("left out, in the order of harm", ("of the update", "come back", "verdict"))
    for point in words.curve(located):
        verdict = Text("pass", "green") if point.passes else Text("fail", "red")
        table.add_row(point.words, percent(point.removed, 0), point.returned, verdict)
    console.print(table)
    console.print()


def _print_cases(located: Located, console: Console, examples: int) -> None:
    pairs = words.with_and_without(located)
    console.print(f"{len(pairs)} broken cases, as the adapter answers them and mended:")
    width = console.width
    for was, is_now in pairs[:examples]:
        lines = [Text(f"  {visible(f'{was.id}: {was.prompt}'[:width])}")]
        for label, case in (("adapter", was), ("mended", is_now)):
            if case is None:
                continue
            line = Text(f"    {label:<7} ")
            line.append(f"{outcome_name(case, case.ft):<15} ", "green" if case.is_right(case.ft) else "red")
            lines.append(line.append(visible(case.ft.text.strip()[:width]) or "(empty)"))
        for line in lines:
            console.print(line, no_wrap=True, overflow="ellipsis")
    if len(pairs) > examples:
        console.print(f"  … and {len(pairs) - examples} more; --json FILE keeps every answer")
    console.print()
