"""The report as Markdown, for a pull request or the summary of a CI step.

Names, prompts and answers are data: they show as they are, whatever they hold. Inside a line every character that means
something to Markdown, HTML or GitHub is written as a number; answers are fenced by more backticks than they have.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loracheck.errors import InputError
from loracheck.report.evidence import number, part
from loracheck.report.judged import broken, judged_probes
from loracheck.report.signals import signals, transitions
from loracheck.report.statements import statements
from loracheck.report.text import counted, cut, visible, visible_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loracheck.report.model import CaseReport, ProbeReport, Report, Verdict

# GitHub takes comments of 65,536 characters, and step summaries of a megabyte.
LIMIT = 60_000
EXAMPLES = 10
_LETTERS = 1000

_MARKS: dict[Verdict, str] = {"pass": "✅", "fail": "❌", "warn": "⚠️", "skip": "➖", "error": "💥"}
_ACTING = re.compile(r"""[\\`*_{}\[\]<>&|~!$#@"^]|:(?=\S)|(?<=www)\.""", re.IGNORECASE)


def to_markdown(report: Report) -> str:
    """At most LIMIT characters; what had to be left out is said at the end."""
    foot = _provenance(report)
    left_out: Counter[str] = Counter()
    blocks: list[str] = []
    # The room for the sentence about what was left out.
    room = LIMIT - len(foot) - 300
    for kind, block in _blocks(report):
        if len(block) + 2 > room:
            left_out[kind] += 1
        else:
            room -= len(block) + 2
            blocks.append(block)
    if left_out:
        parts = ", ".join(counted(many, kind) for kind, many in left_out.items())
        blocks.append(f"Left out, because a comment has no room for more: {parts}. The JSON report has everything.")
    return "\n\n".join([*blocks, foot]) + "\n"


def append_step_summary(report: Report) -> None:
    """Add the report to the file that GITHUB_STEP_SUMMARY names; nothing where it is not set."""
    name = os.environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return
    try:
        with Path(name).open("a", encoding="utf-8") as file:
            file.write(f"{to_markdown(report)}\n")
    except OSError as error:
        raise InputError(f"{name}: the step summary could not be written: {error.strerror}") from None


def _blocks(report: Report) -> Iterator[tuple[str, str]]:
    """Everything above the footer, each block with the kind of thing it is."""
    probes = judged_probes(report)
    if len(probes) == 1:
        yield "paragraph", f"## {_headline(probes[0].verdict, probes[0].score)}: {code(probes[0].name)}"
    else:
        yield "paragraph", f"## {_headline(report.verdict, report.score)}"
    for warning in report.warnings:
        yield "warning", f"> ⚠️ {prose(warning)}"
    for probe in probes:
        if len(probes) > 1:
            yield "paragraph", f"### {_headline(probe.verdict, probe.score)}: {code(probe.name)}"
        yield "paragraph", f"**Why:** {prose(probe.message)}"
        if probe.kind == "tool_use_fidelity":
            yield "table", _signals(probe)
            if said := [f"- {prose(line)}" for line in statements(probe)]:
                yield "paragraph", "\n".join(said)
            if changed := _transitions(probe):
                yield "table", changed
        yield from _cases(probe)


def _headline(verdict: Verdict, score: float | None) -> str:
    found = number(score)
    return f"{_MARKS[verdict]} loracheck {verdict.upper()}{'' if found is None else f', score {found:.2f}'}"


def _signals(probe: ProbeReport) -> str:
    lines = ["| signal | base | ft | change | limit | |", "| --- | ---: | ---: | ---: | --- | --- |"]
    for signal in signals(probe):
        kept = "" if signal.kept is None else "kept" if signal.kept else "**missed**"
        cells = (signal.name, signal.base, signal.ft, signal.change, prose(signal.limit), kept)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _transitions(probe: ProbeReport) -> str | None:
    found = transitions(probe)
    if found is None:
        return None
    columns, rows = found
    lines = [f"| base ↓ ft → | {' | '.join(columns)} |", f"| --- |{' ---: |' * len(columns)}"]
    lines += [f"| {before} | {' | '.join(str(many or '') for many in counts)} |" for before, counts in rows]
    return "\n".join(lines)


def _cases(probe: ProbeReport) -> Iterator[tuple[str, str]]:
    found = broken(probe.cases)
    if not found:
        if probe.cases:
            yield "paragraph", f"No case broke ({counted(len(probe.cases), 'case')})."
        return
    more = f"; the first {EXAMPLES}" if len(found) > EXAMPLES else ""
    yield "paragraph", f"**{len(found)} of {len(probe.cases)} cases broke**{more}:"
    for case in found[:EXAMPLES]:
        yield "case", _case(case)


def _case(case: CaseReport) -> str:
    return (
        f"<details><summary>{code(case.id)}: {case.base.outcome} to {case.ft.outcome}</summary>\n\n"
        f"{code(cut(case.prompt, 300))}\n\n"
        f"base, {case.base.outcome}:\n{fenced(case.base.text)}\n"
        f"ft, {case.ft.outcome}:\n{fenced(case.ft.text)}\n\n"
        "</details>"
    )


def _provenance(report: Report) -> str:
    files = [("model", part(report.provenance, "model"))]
    for kind in ("base_adapters", "ft_adapters"):
        found = report.provenance.get(kind)
        label = "base adapter" if kind == "base_adapters" else "adapter"
        files += [(label, part(item)) for item in (found if isinstance(found, list | tuple) else ())[:8]]
    said = [f"{label} {_file(file)}" for label, file in files if file]
    llama = report.provenance.get("llama_cpp")
    said.append(f"loracheck {prose(report.loracheck_version)}")
    if isinstance(llama, str):
        said.append(f"llama-cpp-python {prose(llama)}")
    return f"<sub>{' · '.join(said)}</sub>"


def _file(file: dict[str, Any]) -> str:
    path, sha256, scale = file.get("path"), file.get("sha256"), number(file.get("scale"))
    said = code(Path(path).name) if isinstance(path, str) else "?"
    if isinstance(sha256, str):
        # Twelve letters name a file well enough, and GitHub takes no notice of hashes in code.
        said += f" {code(sha256[:12])}"
    return said if scale is None or scale == 1 else f"{said} at {scale:g}"


def prose(text: str) -> str:
    """Text inside a line of Markdown or HTML; nobody is mentioned and no issue referred to."""
    return re.sub(r"(&#(?:35|64);)", r"\1&#8203;", _literal(text))


def code(text: str) -> str:
    """The same in code, which holds in tables, headings and HTML alike, as backticks would not."""
    return f"<code>{_literal(text)}</code>"


def fenced(text: str) -> str:
    """A block of code that no run of backticks in the text can end."""
    shown = visible_lines(cut(text.strip("\n"), _LETTERS))
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    return f"{fence}text\n{shown or '(empty)'}\n{fence}"


def _literal(text: str) -> str:
    return _ACTING.sub(lambda found: f"&#{ord(found[0])};", visible(cut(text, _LETTERS)))
