"""The report as JUnit XML, for the test tabs of CI systems.

Each judged probe is a test suite: a test for its verdict, and one for each case.

- A case **fails** when the base does it right and the adapter does not. It does so even where the limits let a few such
  cases go: the verdict's own test, and the exit code, say whether the limits were kept.
- A case that the base gets wrong too is **skipped**: the adapter did not break it, and it did not prove anything.
- Every other case passes, the ones that only the adapter gets right among them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from xml.etree import ElementTree as ET

from loracheck.report.content import content_of, together
from loracheck.report.outcomes import outcome_change
from loracheck.results import CaseReport, ProbeReport, Report
from loracheck.text import cut, visible, visible_lines

# CI systems refuse files of tens of megabytes; the JSON report has every answer in full.
_LETTERS = 2000


def render(report: Report) -> str:
    root = ET.Element("testsuites", name="loracheck")
    for probe in report.judged:
        suite = ET.SubElement(root, "testsuite", name=visible(probe.name))
        compared = f"checked: {' against '.join(report.provenance.compared)}"
        _add_verdict(suite, probe, (compared, report.judged_again_note, together(report)))
        for case in probe.cases:
            _add_case(suite, probe, case)
        add_counts(suite, "tests", "failures", "errors", "skipped")
    add_counts(root, "tests", "failures", "errors")
    seconds = report.timing.get("total_seconds", math.inf)
    if 0 <= seconds < math.inf:
        root.set("time", f"{seconds:.3f}")
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _add_verdict(suite: ET.Element, probe: ProbeReport, notes: Iterable[str | None]) -> None:
    # The classes of cases are longer by the probe's name, so that no case can have the same class and name.
    test = ET.SubElement(suite, "testcase", classname="loracheck", name=visible(probe.name))
    content = content_of(probe)
    lines = [*notes, *content.why, content.caution, probe.message]
    text = "\n".join(visible(cut(line, _LETTERS)) for line in dict.fromkeys(lines) if line)
    element = {"fail": "failure", "error": "error", "skip": "skipped"}.get(probe.verdict)
    if element:
        message = visible(cut(probe.message, _LETTERS))
        ET.SubElement(test, element, type=probe.verdict, message=message).text = text
    else:
        ET.SubElement(test, "system-out").text = text


def _add_case(suite: ET.Element, probe: ProbeReport, case: CaseReport) -> None:
    test = ET.SubElement(suite, "testcase", classname=f"loracheck.{visible(probe.name)}", name=visible(case.id))
    change = outcome_change(case)
    if case.broke:
        failure = ET.SubElement(test, "failure", type=case.ft.outcome, message=change)
        subject = probe.comparison.subject
        failure.text = "\n".join(
            f"{label}:\n{visible_lines(cut(text, _LETTERS))}\n"
            for label, text in (("prompt", case.prompt), ("base", case.base.text), (subject, case.ft.text))
        )
    elif not case.is_right(case.ft):
        ET.SubElement(test, "skipped", type=case.base.outcome, message=f"the base gets it wrong too: {change}")


def add_counts(parent: ET.Element, *names: str) -> None:
    tags = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for name in names:
        parent.set(name, str(sum(1 for _ in parent.iter(tags[name]))))
