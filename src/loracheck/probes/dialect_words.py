"""How calls are asked for and how they are written, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from loracheck.results import CaseReport
from loracheck.scoring.dialects import DIALECTS
from loracheck.scoring.evidence import DialectUse, Subject
from loracheck.text import cut, visible


def title(name: str) -> str:
    """A dialect as people call it; reports of a newer loracheck may name one that is not known here."""
    return DIALECTS[name].title if name in DIALECTS else visible(cut(name, 80))


def sentences(use: DialectUse, subject: Subject = "adapter") -> Iterator[str]:
    """One for what was asked and counted, where that is worth a line, and one for an adapter that switched."""
    if use.name is None:
        return
    counts = _counts(use, subject)
    asked = f"Calls are asked for as {title(use.name)}"
    why = f" ({visible(cut(use.why, 200))})" if use.why else ""
    if use.read_as:
        yield f"{asked}{why} and read as {title(use.read_as)} alone, as --dialect says. {counts}".strip()
    elif use.spoken and use.spoken != use.name:
        yield f"{asked}{why}; the base writes {title(use.spoken)}, so both count. {counts}".strip()
    elif any(name != use.name for name in (*use.base_counts, *use.ft_counts)):
        yield f"{asked}{why}. {counts}".strip()
    elif use.name != "json":
        yield f"{asked}{why}."
    if use.ft_name:
        own = f" ({visible(cut(use.ft_why, 200))})" if use.ft_why else ""
        yield f"The {subject}'s own prompts ask for {title(use.ft_name)}{own}."
    if use.message:
        yield f"Dialect: {visible(cut(use.message, 300))}."


def _counts(use: DialectUse, subject: Subject) -> str:
    views = (("base", use.base_counts), (subject, use.ft_counts))
    return " ".join(f"Written by the {view}: {_listed(counts)}." for view, counts in views if counts)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{many} {title(name)}" for name, many in sorted(counts.items(), key=lambda item: -item[1]))


def doubts(use: DialectUse) -> Iterator[str]:
    """What a reader must know before believing the verdict."""
    if not use.name or not use.spoken:
        return
    if use.read_as and use.spoken != use.read_as and use.base_counts:
        yield (
            f"{use.base_counts.get(use.spoken, 0)} answers of the base are written as {title(use.spoken)} and were "
            f"read as {title(use.read_as)} alone; leave --dialect out, or try --dialect {use.spoken}"
        )
    elif use.spoken != use.name:
        yield (
            f"the prompts ask for calls as {title(use.name)} and the base writes {title(use.spoken)}: "
            f"a server that looks for {title(use.name)} sees no calls"
        )


def cut_off_in_thinking(cases: Sequence[CaseReport], subject: Subject = "adapter") -> Iterator[str]:
    """Says so of each view most of whose answers never got past thinking."""
    for view, answers in (("base", [case.base for case in cases]), (subject, [case.ft for case in cases])):
        unfinished = sum(answer.cut_off_in_thinking for answer in answers)
        if 2 * unfinished > len(answers):
            yield (
                f"{unfinished} of {len(answers)} answers of the {view} were cut off while it was still thinking; "
                "give it room with --max-new-tokens, or switch thinking off with --no-thinking"
            )
