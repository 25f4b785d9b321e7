"""What every page of ours is made with: templates that escape, a policy that runs nothing of others, marked texts."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from importlib.resources import files
from itertools import groupby, takewhile
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from loracheck.text import percent, points, small, visible

# Names are split at their underscores: of acme_get_weather only acme_ is new.
_TOKEN = re.compile(r"[^\W_]+|\s+|.", re.DOTALL)

# difflib takes quadratic time and worse; longer differences are marked as one.
_MOST_PAIRS = 60_000

# Texts with less in common would be marked in crumbs.
_ENOUGH_IN_COMMON = 0.4


def page(template: str, *, script: str | None = None, **values: Any) -> str:
    """A whole page; `script` names the only file of ours that may run in it."""
    inlined = {"style": _inlined("style.css")} | ({"script": _inlined(script)} if script else {})
    # Should an escape ever fail, the browser still runs and loads nothing that is not ours.
    ours = "".join(f"{kind}-src '{_hash(source)}'; " for kind, source in inlined.items())
    policy = f"default-src 'none'; {ours}base-uri 'none'; form-action 'none'"
    return _environment().get_template(template).render(**values, **inlined, policy=policy)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("loracheck.report.html", "templates"),
        autoescape=True,
        finalize=_one_line,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "at": _at,
        "lines": _lines,
        "minus": _minus,
        "percent": percent,
        "points": lambda delta: _minus(points(delta)),
        "small": small,
    }
    return environment


def _inlined(name: str) -> Markup:
    """A file of ours that goes into the page as it is."""
    return Markup((files(__package__) / "templates" / name).read_text("utf-8"))  # noqa: S704 (our own file)


def _hash(source: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}"


# Filters


def _one_line(value: object) -> str:
    """Every value the templates print goes through here; markup of our own making stays as it is."""
    return value if isinstance(value, Markup) else visible(str(value))


def _lines(text: str) -> Markup:
    """The text with its line breaks kept; escapes stand out, so that they are not taken for letters of the text."""
    return Markup("\n").join(_line(line) for line in text.split("\n"))


def _line(line: str) -> Markup:
    if line.isprintable():
        # True for almost every line, and much faster than looking at each character.
        return escape(line)
    return Markup("").join(
        escape(run) if plain else Markup("<i class=escape>{}</i>").format(visible(run))
        for plain, run in ((plain, "".join(chars)) for plain, chars in groupby(line, _is_plain))
    )


def _is_plain(char: str) -> bool:
    return char == "\t" or visible(char) == char


def _minus(text: str) -> str:
    """A hyphen that begins a number as the minus it is meant to be; one inside a name stays."""
    return re.sub(r"(?<![\w-])-(?=\d)", "−", text)


def _at(value: float, low: float = 0.0, high: float = 1.0) -> float:
    """The place of a number in percent of a scale's width."""
    return round(100 * min(max((value - low) / (high - low), 0.0), 1.0), 2)


# Two answers side by side, with what differs marked


@dataclass(frozen=True, slots=True)
class Span:
    text: str
    changed: bool


def compare(before: str, after: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Both texts in spans; joined, they give the texts back. Where nothing is common, nothing is marked."""
    a, b = _TOKEN.findall(before), _TOKEN.findall(after)
    start = _common(a, b)
    end = _common(a[start:][::-1], b[start:][::-1])
    head, tail = Span("".join(a[:start]), changed=False), Span("".join(a[len(a) - end :]), changed=False)
    left, right = _middle(a[start : len(a) - end], b[start : len(b) - end])
    sides = _joined([head, *left, tail]), _joined([head, *right, tail])
    if all(span.changed for side in sides for span in side):
        return _joined([Span(before, changed=False)]), _joined([Span(after, changed=False)])
    return sides


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(a, b, strict=False)))


def _middle(a: list[str], b: list[str]) -> tuple[list[Span], list[Span]]:
    whole = [Span("".join(a), changed=True)], [Span("".join(b), changed=True)]
    # Asked first: the matcher indexes both texts as soon as it is made.
    if len(a) * len(b) > _MOST_PAIRS:
        return whole
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    if matcher.ratio() < _ENOUGH_IN_COMMON:
        return whole
    left, right = [], []
    for tag, a_from, a_to, b_from, b_to in matcher.get_opcodes():
        left.append(Span("".join(a[a_from:a_to]), changed=tag != "equal"))
        right.append(Span("".join(b[b_from:b_to]), changed=tag != "equal"))
    return left, right


def _joined(spans: list[Span]) -> tuple[Span, ...]:
    """Without empty spans, and with one span where two neighbours are alike."""
    joined: list[Span] = []
    for span in spans:
        if span.text and joined and joined[-1].changed == span.changed:
            joined[-1] = Span(joined[-1].text + span.text, span.changed)
        elif span.text:
            joined.append(span)
    return tuple(joined)
