"""What to do after a verdict: commands that can be copied."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from loracheck.results import Report


@dataclass(frozen=True, slots=True)
class Origin:
    """Where what is on the screen comes from, for whoever wants to see more of it."""

    command: tuple[str, ...] = ()
    """The command line as it was typed; empty where there is none."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """What was written, or read, by form."""


@dataclass(frozen=True, slots=True)
class NextStep:
    what: str
    command: tuple[str, ...] = ()
    otherwise: str = ""
    """The same in words, for where the command does not fit."""

    @property
    def written(self) -> str:
        """The command as a shell takes it."""
        return shlex.join(self.command)


def next_steps(report: Report, origin: Origin) -> Iterator[NextStep]:
    """What would settle an unsure verdict first, then where there is more to see; none where nobody knows a command."""
    if _is_unsure(report) and (larger := _with_more_cases(origin.command)):
        yield NextStep("To be sure, ask more cases:", larger, "To be sure, ask more cases: --cases core.")
    json_file = origin.files.get("json")
    command = ("loracheck", "report", str(json_file)) if json_file else origin.command
    if command:
        more = "More cases and figures:"
        yield NextStep(more, (*command, "-v"), f"{more} the same command with -v.")
    if page := origin.files.get("html"):
        yield NextStep(f"Every case, in a browser: {page}", otherwise=f"Every case, in a browser: {page.name}")
    elif json_file and report.verdict == "fail":
        written = str(json_file.with_suffix(".html"))
        yield NextStep("Every case, in a browser:", (*command, "--format", "html", "-o", written))


def _is_unsure(report: Report) -> bool:
    """Whether more cases could change the verdict; where nothing was compared, they would not help."""
    compared = (probe.comparison for probe in report.judged if not probe.comparison.compares_nothing)
    # Reports of an older loracheck have no grade.
    return any(each.grade != "established" if each.grade else each.power.inconclusive for each in compared)


def _with_more_cases(command: tuple[str, ...]) -> tuple[str, ...] | None:
    """The same with the large pack in place of the small one; None where those are other cases."""
    pairs = pairwise(command)
    place = next((place for place, pair in enumerate(pairs) if pair == ("--cases", "smoke")), None)
    return None if place is None else (*command[:place], "--cases", "core", *command[place + 2 :])
