"""The page, put together from its templates."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from loracheck.report.html.probe import view
from loracheck.report.html.provenance import compared, provenance
from loracheck.report.html.shown import lines, minus, one_line, points, signed
from loracheck.report.judged import judged_probes
from loracheck.report.text import percent, small

if TYPE_CHECKING:
    from loracheck.report.model import Report


def page(report: Report) -> str:
    environment = _environment()
    style, script = _file("style.css"), _file("page.js")
    adapter, base = compared(report)
    return environment.get_template("page.jinja").render(
        report=report,
        adapter=adapter,
        base=base,
        probes=[view(probe, place) for place, probe in enumerate(judged_probes(report), 1)],
        provenance=provenance(report),
        style=style,
        script=script,
        # Should an escape ever fail, the browser still runs and loads nothing that is not ours.
        policy=f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'",
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("loracheck.report.html", "templates"),
        autoescape=True,
        finalize=one_line,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "lines": lines,
        "percent": percent,
        "points": points,
        "signed": signed,
        "small": small,
        "minus": minus,
    }
    return environment


def _file(name: str) -> Markup:
    environment = _environment()
    assert environment.loader is not None
    source, _, _ = environment.loader.get_source(environment, name)
    return Markup(source)  # noqa: S704 (our own file)


def _hash(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"
