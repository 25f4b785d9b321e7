"""Two answers side by side, with what differs marked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Names are split at their underscores: of acme_get_weather only acme_ is new.
_TOKEN = re.compile(r"[^\W_]+|\s+|.", re.DOTALL)

# difflib takes quadratic time and worse; longer differences are marked as one.
_MOST_PAIRS = 60_000

# Texts with less in common would be marked in crumbs.
_ENOUGH_IN_COMMON = 0.4


@dataclass(frozen=True, slots=True)
class Span:
    text: str
    changed: bool


def compare(base: str, ft: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Both texts in spans; joined, they give the texts back. Where nothing is common, nothing is marked."""
    a, b = _TOKEN.findall(base), _TOKEN.findall(ft)
    start = _common(a, b)
    end = _common(a[start:][::-1], b[start:][::-1])
    left, right = _middle(a[start : len(a) - end], b[start : len(b) - end])
    around = [Span("".join(a[:start]), changed=False)], [Span("".join(a[len(a) - end :]), changed=False)]
    sides = _joined(around[0] + left + around[1]), _joined(around[0] + right + around[1])
    if all(span.changed for side in sides for span in side):
        return _joined([Span(base, changed=False)]), _joined([Span(ft, changed=False)])
    return sides


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(a, b, strict=False)))


def _middle(a: list[str], b: list[str]) -> tuple[list[Span], list[Span]]:
    whole = [Span("".join(a), changed=True)], [Span("".join(b), changed=True)]
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
