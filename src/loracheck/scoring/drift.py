"""How far the tuned model's expectations moved while it reads the base's own answers.

Both views read the same tokens, so place stands against place: nothing has to be aligned.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loracheck.scoring.evidence import Drift, Moved

MOST_MOVED = 5

# What is left of a probability beyond the candidates; less than this is rounding.
_REST_FLOOR = 1e-6


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """A base answer as both views read it, one entry a token, and one more for the end."""

    case: str
    text: str
    calls: Sequence[Mapping[str, Any]]
    ends: Sequence[int]
    """Where each token's bytes end in the text."""
    base_log_probs: Sequence[Sequence[float]]
    ft_log_probs: Sequence[Sequence[float]]
    base_top: Sequence[str]
    ft_top: Sequence[str]


def measure_drift(answers: Sequence[ReadAnswer]) -> Drift | None:
    """Mean divergence and share of changed tokens, for format and for argument values; None without answers."""
    places = [place for answer in answers for place in places_of(answer)]
    if not places:
        return None
    by_kind = {kind: [place for place in places if place.kind == kind] for kind in ("format", "value")}
    return Drift(
        cases=len(answers),
        positions=len(places),
        kl_format=_mean(place.kl for place in by_kind["format"]),
        kl_values=_mean(place.kl for place in by_kind["value"]),
        worst_format=max((place.kl for place in by_kind["format"]), default=None),
        worst_values=max((place.kl for place in by_kind["value"]), default=None),
        changed_format=_mean(place.base_top != place.ft_top for place in by_kind["format"]),
        changed_values=_mean(place.base_top != place.ft_top for place in by_kind["value"]),
        changed=_mean(place.base_top != place.ft_top for place in places),
        moved=tuple(place for place in sorted(places, key=lambda place: -place.kl)[:MOST_MOVED] if place.kl > 0),
    )


def places_of(answer: ReadAnswer) -> Iterator[Moved]:
    """Every token of an answer, and how far the expectations for it are apart."""
    data = answer.text.encode("utf-8", "replace")
    spans = value_spans(answer.text, answer.calls)
    start = 0
    # The place after the last token is the answer's end, of no length.
    for position, end in enumerate([*answer.ends, len(data)]):
        inside = any(start < stop and first < end for first, stop in spans)
        yield Moved(
            case=answer.case,
            position=position,
            token=data[start:end].decode("utf-8", "replace"),
            kind="value" if inside else "format",
            kl=divergence(answer.base_log_probs[position], answer.ft_log_probs[position]),
            base_top=answer.base_top[position],
            ft_top=answer.ft_top[position],
        )
        start = end


def divergence(base: Sequence[float], ft: Sequence[float]) -> float:
    """KL in nats of ft from base over the base's likeliest tokens, with all the others as one more.

    Taking tokens together can only make it smaller, by the little that the others weigh.
    """
    rest_base, rest_ft = (max(1.0 - math.fsum(map(math.exp, side)), _REST_FLOOR) for side in (base, ft))
    parts = [math.exp(p) * (p - q) for p, q in zip(base, ft, strict=True)]
    return max(0.0, math.fsum([*parts, rest_base * math.log(rest_base / rest_ft)]))


def value_spans(text: str, calls: Iterable[Mapping[str, Any]]) -> list[tuple[int, int]]:
    """Where the calls' argument values stand in the text, in bytes; quotes belong to the format.

    Names, keys and values are looked for in the order of the call, each after the last, spelt as JSON, as plain text
    or as Python: so it works for every dialect without knowing any.
    """
    spans = []
    at = 0
    for call in calls:
        for is_value, part in [(False, call.get("name", "")), *_parts(call.get("arguments"))]:
            starts = [(text.find(spelt, at), spelt) for spelt in _spellings(part) if spelt]
            start, spelt = min((pair for pair in starts if pair[0] >= 0), default=(-1, ""))
            if start < 0:
                continue
            at = start + len(spelt)
            if is_value:
                first = len(text[:start].encode("utf-8", "replace"))
                spans.append((first, first + len(spelt.encode("utf-8", "replace"))))
    return spans


def _parts(arguments: Any) -> Iterator[tuple[bool, Any]]:
    """Keys and values in order, and which of them are values."""
    pending: list[tuple[bool, Any]] = [(True, arguments)]
    while pending:
        is_value, part = pending.pop()
        if is_value and isinstance(part, dict):
            pending.extend(pair for key, value in reversed(part.items()) for pair in ((True, value), (False, key)))
        elif is_value and isinstance(part, list | tuple):
            pending.extend((True, item) for item in reversed(part))
        else:
            yield is_value, part


def _spellings(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], value)
    return (json.dumps(value), str(value))


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return math.fsum(listed) / len(listed) if listed else None
