"""What broke, as annotations on a GitHub Actions run."""

# No `from __future__ import annotations`: it would take the name of the function that this file is about.
import os
from collections.abc import Iterator
from itertools import islice

from loracheck.report.judged import broken, judged_probes
from loracheck.report.model import Report
from loracheck.report.text import cut, visible, visible_lines

# GitHub shows no more of a kind for one step.
MOST = 10


def annotations(report: Report) -> Iterator[str]:
    """Lines for standard output, nothing outside GitHub Actions: verdicts that failed first, then cases that broke.

    Cases that broke within the limits of a probe that passed are warnings.
    """
    if os.environ.get("GITHUB_ACTIONS") == "true":
        yield from islice(_all(report), MOST)


def _all(report: Report) -> Iterator[str]:
    path = report.provenance.get("suite_file")
    file = path if isinstance(path, str) else None
    probes = judged_probes(report)
    for probe in probes:
        if probe.verdict in ("fail", "error"):
            yield _annotation("error", file, f"{probe.verdict}: {probe.name}", probe.message)
    for probe in probes:
        level = "error" if probe.verdict in ("fail", "error") else "warning"
        for case in broken(probe.cases):
            yield _annotation(
                level,
                file,
                f"{probe.name}, {case.id}: {case.base.outcome} to {case.ft.outcome}",
                f"prompt: {cut(case.prompt, 300)}\nbase: {cut(case.base.text, 300)}\nft: {cut(case.ft.text, 300)}",
            )


def _annotation(level: str, file: str | None, title: str, message: str) -> str:
    properties = {"file": file, "title": cut(title, 200)}
    said = ",".join(f"{name}={_property(visible(value))}" for name, value in properties.items() if value)
    return f"::{level} {said}::{_data(visible_lines(message))}"


def _data(text: str) -> str:
    """Percent signs first: they write the others."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
