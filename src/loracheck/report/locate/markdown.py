"""What was located, as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from loracheck.locating.located import Located
from loracheck.report.locate import words
from loracheck.report.markdown import EXAMPLES, LIMIT, code, fenced, prose
from loracheck.report.outcomes import outcome_name
from loracheck.text import cut, percent


def render(located: Located) -> str:
    """At most what a comment holds; the broken cases go first."""
    blocks: list[str] = []
    room, left_out = LIMIT, 0
    for block in _blocks(located):
        if len(block) + 2 > room:
            left_out += 1
        else:
            room -= len(block) + 2
            blocks.append(block)
    if left_out:
        blocks.append(f"Left out, because a comment has no room for more: {left_out}. The JSON has everything.")
    return "\n\n".join(blocks) + "\n"


def _blocks(located: Located) -> Iterator[str]:
    adapter, base = located.report.provenance.compared
    verdicts = " → ".join(verdict.upper() for verdict in words.verdicts(located))
    yield f"## loracheck locate: {verdicts}, {code(adapter)} on {code(base)}"
    yield f"**{prose(words.headline(located))}**"
    if written := words.writing(located):
        yield prose(written)
    lines = list(words.findings(located))
    if located.ending == "nothing_broken":
        lines += words.why_it_fails(located.report)
    if lines:
        yield "\n".join(f"- {prose(line)}" for line in lines)
    if located.found is None:
        return
    yield f"> {prose(words.UNKNOWN)}"
    yield _table(
        ("part", "harm when removed", "harm alone", "share of the update"),
        ((prose(row.words), row.removed, row.alone, row.update) for row in words.part_rows(located)),
    )
    yield _table(
        ("left out, in the order of harm", "of the update", "come back", "verdict"),
        (
            (prose(point.words), percent(point.removed, 0), point.returned, "pass" if point.passes else "fail")
            for point in words.curve(located)
        ),
    )
    yield "\n".join(f"- {prose(line)}" for line in words.effort(located))
    yield from _cases(located)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _cases(located: Located) -> Iterator[str]:
    pairs = words.with_and_without(located)
    more = f"; the first {EXAMPLES}" if len(pairs) > EXAMPLES else ""
    yield f"**{len(pairs)} broken cases**, as the adapter answers them and mended{more}:"
    for was, is_now in pairs[:EXAMPLES]:
        name = outcome_name(was, was.ft)
        mended = None if is_now is None else outcome_name(is_now, is_now.ft)
        after = "" if is_now is None else f"mended, {mended}:\n{fenced(is_now.ft.text)}\n"
        move = name if mended is None else f"{name} to {mended}"
        yield (
            f"<details><summary>{code(was.id)}: {move}</summary>\n\n{code(cut(was.prompt, 300))}\n\n"
            f"adapter, {name}:\n{fenced(was.ft.text)}\n{after}\n</details>"
        )
