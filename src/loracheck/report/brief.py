"""The report on one short screen: the verdict and why, what was judged, one broken case, what to do next.

At 80 columns a FAIL or an ERROR has at most 25 lines and every other verdict 15, however much there would be to say.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from loracheck.probes.probe import Row
from loracheck.report.console import COLOURS
from loracheck.report.content import Content, broken_example, content_of, to_act_on
from loracheck.report.next_steps import NextStep, Origin, next_steps
from loracheck.report.outcomes import outcome_name
from loracheck.results import CaseReport, ProbeReport, Report, Verdict
from loracheck.scoring import Evidence
from loracheck.text import visible

MOST_LINES: dict[Verdict, int] = {"pass": 15, "warn": 15, "skip": 15, "fail": 25, "error": 25}

_COLUMNS = 80
_MOST_WARNINGS = 2
_LONGEST_NAME = 20
_MOST_COMMAND_LINES = 3
# Of the question, the base's answer and the other one: whole in most cases, and less where there is much to say.
_EXAMPLE_LINES = ((2, 4, 5), (1, 2, 3), (1, 1, 1))
_WORST_FIRST: tuple[Verdict, ...] = ("error", "fail", "warn", "skip", "pass")

Lines = tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together, in versions of which each is shorter than the one before."""

    versions: tuple[Lines, ...]
    is_apart: bool = True
    """With an empty line above."""

    @property
    def lines(self) -> Lines:
        return self.versions[0]

    @property
    def height(self) -> int:
        return len(self.lines) + self.is_apart if self.lines else 0

    @property
    def shorter(self) -> Block:
        return Block(self.versions[1:], self.is_apart)


def print_brief(report: Report, console: Console, origin: Origin) -> None:
    most = MOST_LINES[report.verdict] * _COLUMNS // min(console.width, _COLUMNS)
    for block in _fitted(_Screen(report, console).blocks(origin), most):
        if block.is_apart and block.lines:
            console.print()
        for line in block.lines:
            console.print(line, no_wrap=True, overflow="ellipsis", crop=True)


def _fitted(blocks: dict[str, Block], most: int) -> Iterable[Block]:
    """So short that they fit; what can be spared best gives way first."""
    for name in ("example", "next", "table", "head", "warnings"):
        while sum(block.height for block in blocks.values()) > most and len(blocks[name].versions) > 1:
            blocks[name] = blocks[name].shorter
    return blocks.values()


class _Screen:
    """The blocks of one report on a console of some width."""

    def __init__(self, report: Report, console: Console) -> None:
        self.report = report
        self.console = console
        # Those that failed first: the rest may have to go.
        self.probes = sorted(report.judged, key=lambda probe: _WORST_FIRST.index(probe.effective_verdict))
        self.contents = [content_of(probe) for probe in self.probes]

    def blocks(self, origin: Origin) -> dict[str, Block]:
        """From top to bottom. What is left of them at the least is within every limit."""
        return {
            "head": Block(tuple(self._heads()), is_apart=False),
            "warnings": Block(_cuts(self._warnings(), 1), is_apart=False),
            "table": Block(_cuts(self._table(), self._least(5, 3))),
            "example": Block(tuple(self._examples())),
            "next": Block(tuple(self._next(origin))),
        }

    def _least(self, where_it_failed: int, elsewhere: int) -> int:
        return where_it_failed if self.report.verdict in ("fail", "error") else elsewhere

    def _heads(self) -> Iterator[Lines]:
        """With several probes a short block each; of many, only their verdicts."""
        if len(self.probes) == 1:
            return iter(_cuts(self._only_head(), self._least(9, 4)))
        shortened = [tuple(self._several_heads(most)) for most in (2, 1, 0)]
        return chain(shortened, _cuts(shortened[-1], self._least(9, 4)))

    def _only_head(self) -> Iterator[Text]:
        (probe,), (content,) = self.probes, self.contents
        yield from self._compared()
        yield _verdict(content.verdict, *filter(None, (visible(probe.name), content.grade)))
        yield from self._judged_again()
        # Every reason keeps its first lines, so that a long one does not hide the next.
        most = 3 if len(content.why) > 1 else 6
        yield from chain.from_iterable(self._wrapped(why, most=most) for why in content.why)
        if content.caution:
            yield from self._wrapped(content.caution, "yellow", most=3)

    def _several_heads(self, most: int) -> Iterator[Text]:
        yield from self._compared()
        yield _verdict(self.report.verdict, "all together" if self.probes else "nothing was judged")
        yield from self._judged_again()
        for probe, content in zip(self.probes, self.contents, strict=True):
            yield _verdict(content.verdict, *filter(None, (visible(probe.name), content.grade)))
            if most:
                yield from self._wrapped(" ".join(content.why), most=most)

    def _compared(self) -> Lines:
        origin = self.report.provenance
        return self._wrapped(" against ".join(origin.compared)) if origin.candidate else ()

    def _judged_again(self) -> Lines:
        note = self.report.judged_again_note
        return self._wrapped(note) if note else ()

    def _warnings(self) -> Iterator[Text]:
        warnings = to_act_on(self.report.warnings, [self.report])
        for warning in warnings[:_MOST_WARNINGS]:
            yield from self._wrapped(f"Warning: {warning}", "yellow", most=3)
        if len(warnings) > _MOST_WARNINGS:
            yield Text(f"… and {len(warnings) - _MOST_WARNINGS} more warnings; -v has them", "yellow")

    def _table(self) -> Lines:
        """What was judged; of several probes what they missed, or the first figure of those that missed nothing."""
        if len(self.probes) == 1:
            rows = _shown_rows(self.probes[0], self.contents[0])
        else:
            rows = list(chain.from_iterable(map(_probe_rows, self.probes, self.contents)))
        return _table(rows, self.contents[0].subject) if rows else ()

    def _examples(self) -> Iterator[Lines]:
        told = next((telling for probe in self.probes if (telling := _telling_case(probe))), None)
        if told:
            for most in _EXAMPLE_LINES:
                yield tuple(self._example(*told, most))
        # Where nothing failed it may go.
        if not told or self.report.verdict not in ("fail", "error"):
            yield ()

    def _example(self, title: str, case: CaseReport, subject: str, most: tuple[int, int, int]) -> Iterator[Text]:
        yield from self._wrapped(f"{title}, {case.id}: {case.prompt}", most=most[0])
        names = [outcome_name(case, answer) for answer in (case.base, case.ft)]
        beside = len(subject) + 2 + max(map(len, names)) + 2
        width = max(self.console.width - 2 - beside, 8)
        for label, name, answer, lines in zip(("base", subject), names, (case.base, case.ft), most[1:], strict=True):
            # Long answers are shown where they part.
            text, parts_at = answer.text.strip(), case.differs_at or 0
            if len(text) > lines * width and parts_at > lines * width // 2:
                text = f"…{answer.text[parts_at - 20 :]}"
            start = Text(f"  {label:<{len(subject)}}  ")
            start.append(f"{name:<{beside - len(subject) - 4}}  ", "green" if case.is_right(answer) else "red")
            for line in self._wrapped(text or "(empty)", most=lines, width=width):
                yield start + line
                start = Text(" " * (beside + 2))

    def _next(self, origin: Origin) -> Iterator[Lines]:
        """All steps, or the first alone, or that in a line of words."""
        steps = list(next_steps(self.report, origin))
        shown = [lines for step in steps if (lines := tuple(self._step(step)))]
        everything = tuple(chain.from_iterable(shown))
        if len(everything) <= 4:
            yield everything
        yield shown[0] if shown else ()
        if shown and len(shown[0]) > 1 and steps[0].otherwise:
            yield self._wrapped(steps[0].otherwise, most=1)

    def _step(self, step: NextStep) -> Iterator[Text]:
        line = visible(f"{step.what} {step.written}".rstrip())
        if cell_len(line) <= self.console.width:
            yield Text(line)
        elif step.command and (lines := _broken_by_words(step.command, self.console.width - 2)):
            yield Text(step.what)
            yield from (Text(f"  {line}") for line in lines)
        elif step.otherwise:
            yield from self._wrapped(step.otherwise, most=1)

    def _wrapped(self, text: str, style: str = "", *, most: int = 2, width: int | None = None) -> Lines:
        width = width or self.console.width
        # A text may be a megabyte: no more of it is looked at than could be shown.
        lines = Text(visible(text[: width * (most + 1)]), style).wrap(self.console, width)
        for line in lines:
            line.rstrip()
        return _cut(tuple(lines), most, width)


def _verdict(verdict: Verdict, *beside: str) -> Text:
    return Text(verdict.upper(), COLOURS[verdict]).append("".join(f"  {each}" for each in beside), "not bold default")


def _telling_case(probe: ProbeReport) -> tuple[str, CaseReport, str] | None:
    """One that broke; of a verdict that fails without that, one that lost its arguments or is wrong in both."""
    subject = probe.comparison.subject
    if case := broken_example(probe):
        many = len(probe.broken)
        return ("The broken case" if many == 1 else f"One of {many} broken cases"), case, subject
    missed = [limit for limit, check in probe.comparison.checks(probe.z_score).items() if check.kept is False]
    for case in probe.cases:
        if missed == ["assert_exact_arguments_gte"] and case.base.arguments_correct and not case.ft.arguments_correct:
            return "Other arguments", case, subject
        if missed and not case.is_right(case.ft):
            return "Wrong in both", case, subject
    return None


def _shown_rows(probe: ProbeReport, content: Content) -> list[Row]:
    judged = [row for row in content.rows if row.kept is not None or row.is_asked_for]
    # What a kind from elsewhere judges, if anything, only its own words know.
    return judged if judged or isinstance(probe.evidence, Evidence) else content.rows


def _probe_rows(probe: ProbeReport, content: Content) -> list[Row]:
    rows = _shown_rows(probe, content)
    name = Text(visible(probe.name))
    name.truncate(_LONGEST_NAME, overflow="ellipsis")
    missed = [row for row in rows if row.kept is False] or rows[:1]
    return [Row(f"{name.plain} {row.name}", row.base, row.adapter, row.change, kept=row.kept) for row in missed]


def _table(rows: Sequence[Row], subject: str) -> Lines:
    cells = [("", "base", subject, "change"), *((row.name, row.base, row.adapter, row.change) for row in rows)]
    seen = [tuple(map(visible, line)) for line in cells]
    widths = [max(map(cell_len, column)) for column in zip(*seen, strict=True)]
    if not any(row.change for row in rows):
        seen, widths = [line[:-1] for line in seen], widths[:-1]
    lines = []
    for line, row in zip(seen, (None, *rows), strict=True):
        (name, *figures), (first, *others) = line, widths
        padded = (" " * (width - cell_len(figure)) + figure for figure, width in zip(figures, others, strict=True))
        whole = Text(f"{name}{' ' * (first - cell_len(name))} {' '.join(padded)}  ") + _limit(row)
        whole.rstrip()
        lines.append(whole)
    return tuple(lines)


def _limit(row: Row | None) -> Text:
    if row is None:
        return Text("limit")
    kept = Text("") if row.kept is None else Text("kept   ", "green") if row.kept else Text("MISSED ", "bold red")
    return kept + Text(visible(row.limit))


def _broken_by_words(command: Sequence[str], width: int) -> list[str]:
    """A command on lines that a shell takes as one; none where it is too long for that."""
    lines = [""]
    for word in map(visible, map(shlex.quote, command)):
        if cell_len(f"{lines[-1]} {word} \\") > width:
            lines.append(" ")
        lines[-1] += f" {word}" if lines[-1] else word
    if len(lines) > _MOST_COMMAND_LINES or any(cell_len(line) + 2 > width for line in lines):
        return []
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def _cuts(lines: Iterable[Text], least: int) -> tuple[Lines, ...]:
    """All of them, then one fewer, down to `least`."""
    whole = tuple(lines)
    return tuple(_cut(whole, most, _COLUMNS) for most in range(max(len(whole), least), least - 1, -1))


def _cut(lines: Lines, most: int, width: int) -> Lines:
    """The first ones; the last of them says that there were more."""
    if len(lines) <= most:
        return lines
    *kept, last = lines[:most]
    last = last.copy()
    last.truncate(width - 2)
    return (*kept, last.append(" …"))
