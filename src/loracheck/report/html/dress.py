"""What every page of ours is made with: templates that escape, one stylesheet, and a policy that runs nothing else."""

from __future__ import annotations

import base64
import hashlib
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from loracheck.report.html.shown import lines, minus, one_line, points, signed
from loracheck.report.text import percent, small


@cache
def environment() -> Environment:
    made = Environment(
        loader=PackageLoader("loracheck.report.html", "templates"),
        autoescape=True,
        finalize=one_line,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "lines": lines,
        "percent": percent,
        "points": points,
        "signed": signed,
        "small": small,
        "minus": minus,
    }
    return made


def inlined(name: str) -> Markup:
    """A file of ours that goes into the page as it is."""
    loader = environment().loader
    assert loader is not None
    source, _, _ = loader.get_source(environment(), name)
    return Markup(source)  # noqa: S704 (our own file)


def policy(style: str, script: str | None = None) -> str:
    """Should an escape ever fail, the browser still runs and loads nothing that is not ours."""
    scripts = "" if script is None else f"script-src {_hash(script)}; "
    return f"default-src 'none'; {scripts}style-src {_hash(style)}; base-uri 'none'; form-action 'none'"


def _hash(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"
