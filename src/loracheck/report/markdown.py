"""The report as Markdown, for a pull request or the summary of a CI step.

Names, prompts and answers are data: they show as they are, whatever they hold. Inside a line every character that means
something to Markdown, HTML or GitHub is written as a number; answers are fenced by more backticks than they have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from loracheck.probes import tries_words
from loracheck.probes.probe import Row
from loracheck.report.calls import CallLine, MadeCall, call_lines, lost_a_call, whole_answer
from loracheck.report.content import Content, content_of, together
from loracheck.report.outcomes import OUTCOME_NAMES, outcome_change, outcome_name
from loracheck.report.tries import MEANINGS, MOST_MARKS, Mark, differs, lost_tries, marks
from loracheck.results import CaseReport, FileRecord, ProbeReport, Report, Verdict
from loracheck.text import counted, cut, visible, visible_lines

# GitHub takes comments of 65,536 characters, and step summaries of a megabyte.
LIMIT = 60_000
EXAMPLES = 10
_LETTERS = 1000

MARKS: dict[Verdict, str] = {"pass": "✅", "fail": "❌", "warn": "⚠️", "skip": "➖", "error": "💥"}
_DRAWN: dict[Mark, str] = {"right": "●", "valid": "◐", "wrong": "○"}
_ACTING = re.compile(r"""[\\`*_{}\[\]<>&|~!$#@"^]|:(?=\S)|(?<=www)\.""", re.IGNORECASE)


def render(report: Report) -> str:
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


def _blocks(report: Report) -> Iterator[tuple[str, str]]:
    """Everything above the footer, each block with the kind of thing it is."""
    probes = [(probe, content_of(probe)) for probe in report.judged]
    if len(probes) != 1:
        yield "paragraph", f"## {_headline(report.verdict, report.score)}"
    else:
        yield "paragraph", f"## {_headline_of(*probes[0])}"
    for note in (report.judged_again_note, together(report)):
        if note:
            yield "paragraph", f"> {prose(note)}"
    for warning in report.warnings:
        yield "warning", f"> ⚠️ {prose(warning)}"
    for probe, content in probes:
        if len(probes) > 1:
            yield "paragraph", f"### {_headline_of(probe, content)}"
        yield from _probe(probe, content)


def _probe(probe: ProbeReport, content: Content) -> Iterator[tuple[str, str]]:
    yield "paragraph", f"**Why:** {' '.join(map(prose, content.why))}"
    if content.caution:
        yield "paragraph", f"> ⚠️ {prose(content.caution)}"
    if content.rows:
        yield "table", _rows_table(content.rows, content.subject)
    if paragraphs := content.paragraphs + content.details:
        yield "paragraph", "\n".join(f"- {prose(paragraph)}" for paragraph in paragraphs)
    if content.transitions and content.transitions.any_changed:
        yield "table", _matrix(content)
    yield from _tries(probe)
    yield from _cases(probe)


def _headline(verdict: Verdict, score: float | None) -> str:
    return f"{MARKS[verdict]} loracheck {verdict.upper()}{'' if score is None else f', score {score:.2f}'}"


def _headline_of(probe: ProbeReport, content: Content) -> str:
    grade = f", {content.grade}" if content.grade else ""
    return f"{_headline(content.verdict, probe.score)}{grade}: {code(probe.name)}"


def _rows_table(rows: Iterable[Row], subject: str, title: str = "", limit: str = " limit") -> str:
    lines = [f"|{title} | base | {subject} | change |{limit} | |", "| --- | ---: | ---: | ---: | --- | --- |"]
    for row in rows:
        kept = "" if row.kept is None else "kept" if row.kept else "**missed**"
        cells = [*map(prose, (row.name, row.base, row.adapter, row.change, row.limit_and_note)), kept]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _matrix(content: Content) -> str:
    transitions = content.transitions
    assert transitions is not None
    columns = transitions.columns
    names = " | ".join(OUTCOME_NAMES[column] for column in columns)
    lines = [f"| {content.matrix_corner} | {names} |", f"| --- |{' ---: |' * len(columns)}"]
    for before, counts in transitions.rows:
        lines.append(f"| {OUTCOME_NAMES[before]} | {' | '.join(str(many or '') for many in counts)} |")
    return "\n".join(lines)


def _tries(probe: ProbeReport) -> Iterator[tuple[str, str]]:
    tries = probe.comparison.tries
    if tries is None:
        return
    yield "table", _rows_table(tries_words.rows(tries), probe.comparison.subject, f" {tries.tries} tries a case", "")
    if details := list(tries_words.details(tries)):
        yield "paragraph", "\n".join(f"- {prose(detail)}" for detail in details)
    strips = [(case.id, marks(case, case.base), marks(case, case.ft)) for case in probe.cases if differs(case)]
    if strips:
        strips.sort(key=lambda strip: lost_tries(*strip[1:]), reverse=True)
        meanings = ", ".join(f"{_DRAWN[mark]} {meaning}" for mark, meaning in MEANINGS.items())
        lines = [f"| {meanings} | base | {probe.comparison.subject} |", "| --- | --- | --- |"]
        lines += [f"| {code(cut(name, 80))} | {_strip(base)} | {_strip(ft)} |" for name, base, ft in strips[:EXAMPLES]]
        yield "table", "\n".join(lines)


def _strip(tried: Sequence[Mark]) -> str:
    more = len(tried) - MOST_MARKS
    return "".join(_DRAWN[mark] for mark in tried[:MOST_MARKS]) + (f" +{more}" if more > 0 else "")


def _cases(probe: ProbeReport) -> Iterator[tuple[str, str]]:
    broken, subject = probe.broken, probe.comparison.subject
    if not broken:
        if probe.cases:
            yield "paragraph", f"No case broke ({counted(len(probe.cases), 'case')})."
    else:
        yield "paragraph", f"**{len(broken)} of {len(probe.cases)} cases broke**{_first(broken)}:"
    for case in broken[:EXAMPLES]:
        yield "case", _case(case, subject, outcome_change(case))
    # The first call decides, so a case may have lost a later one and not have broken.
    lost = [case for case in probe.cases if lost_a_call(case) and not case.broke]
    if lost:
        lost_calls = f"**{counted(len(lost), 'case')} lost one of several calls**{_first(lost)}:"
        yield "paragraph", lost_calls
    for case in lost[:EXAMPLES]:
        yield "case", _case(case, subject, whole_answer(case.ft.matched))


def _first(cases: Sequence[CaseReport]) -> str:
    return f"; the first {EXAMPLES}" if len(cases) > EXAMPLES else ""


def _case(case: CaseReport, subject: str, what: str) -> str:
    calls = call_lines(case)
    return (
        f"<details><summary>{code(case.id)}: {what}</summary>\n\n"
        f"{code(cut(case.prompt, 300))}\n\n"
        f"{_calls_table(case, subject, calls) if calls else ''}"
        f"base, {outcome_name(case, case.base)}:\n{fenced(case.base.text)}\n"
        f"{subject}, {outcome_name(case, case.ft)}:\n{fenced(case.ft.text)}\n\n"
        "</details>"
    )


def _calls_table(case: CaseReport, subject: str, calls: Sequence[CallLine]) -> str:
    base, adapter = whole_answer(case.base.matched), whole_answer(case.ft.matched)
    lines = [f"| expected | base: {base} | {subject}: {adapter} |", "| --- | --- | --- |"]
    for line in calls:
        expected = "not expected" if line.expected is None else code(cut(line.expected, 200))
        made = (_made(call, is_expected=line.expected is not None) for call in (line.base, line.adapter))
        lines.append(f"| {expected} | {' | '.join(made)} |")
    return "\n".join(lines) + "\n\n"


def _made(call: MadeCall | None, *, is_expected: bool) -> str:
    if call is None:
        return "❌ missing" if is_expected else ""
    if call.fate == "right":
        return f"✅ {code(cut(call.text, 200))}"
    return f"❌ {code(cut(call.text, 200))}{' other arguments' if call.fate == 'other arguments' else ''}"


def _provenance(report: Report) -> str:
    origin = report.provenance
    parts = [f"model {_file(origin.model)}"] if origin.model.path or origin.model.sha256 else []
    if origin.candidate:
        made = f" as {prose(origin.quantized_to)}" if origin.quantized_to else ""
        parts.append(f"candidate {_file(origin.candidate)}{made}")
    for name, stack in (("base adapter", origin.base_adapters), ("adapter", origin.ft_adapters)):
        for each in stack[:8]:
            scale = "" if each.scale in (None, 1) else f" at {each.scale:g}"
            parts.append(f"{name} {_file(each)}{scale}")
    parts.append(f"loracheck {prose(report.loracheck_version)}")
    if origin.llama_cpp is not None:
        parts.append(f"llama-cpp-python {prose(origin.llama_cpp)}")
    return f"<sub>{' · '.join(parts)}</sub>"


def _file(file: FileRecord) -> str:
    # Twelve letters name a file well enough, and GitHub takes no notice of hashes in code.
    return f"{code(file.name)} {code(file.sha256[:12])}" if file.sha256 else code(file.name)


def prose(text: str) -> str:
    """Text inside a line of Markdown or HTML; nobody is mentioned and no issue referred to."""
    return re.sub(r"(&#(?:35|64);)", r"\1&#8203;", _literal(text))


def code(text: str) -> str:
    """The same in code, which holds in tables, headings and HTML alike, as backticks would not."""
    return f"<code>{_literal(text)}</code>"


def fenced(text: str) -> str:
    """A block of code that no run of backticks in the text can end."""
    lines = visible_lines(cut(text.strip("\n"), _LETTERS))
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", lines)), default=0))
    return f"{fence}text\n{lines or '(empty)'}\n{fence}"


def _literal(text: str) -> str:
    return _ACTING.sub(lambda match: f"&#{ord(match[0])};", visible(cut(text, _LETTERS)))
