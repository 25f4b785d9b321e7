"""The page, put together from its templates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loracheck.report.html.dress import environment, inlined, policy
from loracheck.report.html.probe import view
from loracheck.report.html.provenance import compared, provenance
from loracheck.report.judged import judged_probes

if TYPE_CHECKING:
    from loracheck.report.model import Report


def page(report: Report) -> str:
    style, script = inlined("style.css"), inlined("page.js")
    adapter, base = compared(report)
    return (
        environment()
        .get_template("page.jinja")
        .render(
            report=report,
            adapter=adapter,
            base=base,
            probes=[view(probe, place) for place, probe in enumerate(judged_probes(report), 1)],
            provenance=provenance(report),
            style=style,
            script=script,
            policy=policy(style, script),
        )
    )
