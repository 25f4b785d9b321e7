"""A sweep as JUnit XML: one test for each cell. A cell without effect is skipped."""

from __future__ import annotations

import math
from xml.etree import ElementTree as ET

from loracheck.report.junit import add_counts
from loracheck.report.sweep.table import reason
from loracheck.sweeping.results import Sweep
from loracheck.text import visible


def render(sweep: Sweep) -> str:
    root = ET.Element("testsuites", name="loracheck")
    suite = ET.SubElement(root, "testsuite", name="loracheck sweep")
    for cell in sweep.cells:
        test = ET.SubElement(suite, "testcase", classname="loracheck.sweep", name=visible(sweep.name_of(cell)))
        element = {"fail": "failure", "error": "error", "skip": "skipped"}.get(cell.verdict)
        why = visible(reason(cell))
        if element:
            ET.SubElement(test, element, type=cell.verdict, message=why).text = why
        elif why:
            ET.SubElement(test, "system-out").text = why
    add_counts(suite, "tests", "failures", "errors", "skipped")
    add_counts(root, "tests", "failures", "errors")
    seconds = sweep.timing.get("total_seconds", math.inf)
    if 0 <= seconds < math.inf:
        root.set("time", f"{seconds:.3f}")
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'
