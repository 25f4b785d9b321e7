"""The diff as a JSON file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from loracheck.report.evidence import number

if TYPE_CHECKING:
    from loracheck.report.diff.compare import Diff, Match, ProbeDiff
    from loracheck.report.model import ProbeReport


def to_json(found: Diff) -> str:
    # ASCII only, as the report is: answers may hold lone surrogates.
    return json.dumps(_diff(found), indent=2, allow_nan=False) + "\n"


def _diff(found: Diff) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "verdict": {"a": found.a.verdict, "b": found.b.verdict},
        "worse": list(found.worse),
        "differences": list(found.differences),
        "probes": [_probe(probe) for probe in found.probes],
    }


def _probe(probe: ProbeDiff) -> dict[str, Any]:
    paired = probe.paired
    return {
        "name": probe.b.name,
        "a": _side(probe.a),
        "b": _side(probe.b),
        "paired": {
            "both": paired.both,
            "lost": paired.lost,
            "gained": paired.gained,
            "neither": paired.neither,
            "delta": paired.delta,
            "mcnemar_p": probe.mcnemar_p,
            "interval_95": probe.interval,
        },
        "worse": list(probe.worse),
        "broke": [_match(match) for match in probe.broke],
        "mended": [_match(match) for match in probe.mended],
        "only_in_a": list(probe.only_a),
        "only_in_b": list(probe.only_b),
    }


def _side(probe: ProbeReport) -> dict[str, Any]:
    return {
        "verdict": probe.verdict,
        "score": probe.score,
        "z_score": probe.z_score,
        "base_value": probe.base_value,
        "ft_value": probe.ft_value,
        "hallucination_rate": number(probe.evidence.get("hallucination_rate")),
    }


def _match(match: Match) -> dict[str, Any]:
    return {
        "id": match.a.id,
        "prompt": match.a.prompt,
        "a": {"outcome": match.a.ft.outcome, "text": match.a.ft.text},
        "b": {"outcome": match.b.ft.outcome, "text": match.b.ft.text},
    }
