"""Reports made on the spot: no model, no suite, only what the renderers read."""

from __future__ import annotations

import json
from typing import Any

from loracheck.results import CaseReport, ProbeReport, Report, ViewAnswer

CALL = json.dumps({"name": "search_web", "arguments": {"query": "x"}})

LIMITS = {"assert_validity_delta_gte": -0.05, "assert_hallucination_lte": 0.1, "assert_z_gte": 3.0}

FULL_EVIDENCE: dict[str, Any] = {
    "json_valid_rate_base": 1.0,
    "json_valid_rate_ft": 0.78125,
    "validity_delta": -0.21875,
    "mean_arg_disagreement": 0.167,
    "hallucination_rate": 0.0,
    "num_cases": 32,
    "num_arg_pairs_compared": 25,
    "z_by_rank": {"rank_0.50": 4.9, "rank_1.00": 4.3, "rank_2.00": 3.1},
    "hallucination_rate_base": 0.0,
    "null": {"mean": 0.0, "std": 0.18, "n": 3, "base_z": 5.5, "p_value": 0.0016, "usable": True, "why": None,
             "on": "cases"},
    "limits": LIMITS,
    "exact_arguments_base": 0.719,
    "exact_arguments_ft": 0.594,
    "transitions": {"valid": {"valid": 25, "no_call": 5, "malformed": 2}},
    "paired": {
        "validity": {
            "both": 25, "lost": 7, "gained": 0, "neither": 0,
            "mcnemar_p": 0.015625, "delta": -0.21875, "interval_95": [-0.388, -0.034], "method": "exact",
        },
        "exact_call": {
            "both": 17, "lost": 6, "gained": 2, "neither": 7,
            "mcnemar_p": 0.289, "delta": -0.125, "interval_95": [-0.29, 0.06], "method": "exact",
        },
    },
    "power": {
        "detectable_drop": 0.17, "inconclusive": True, "cases_even_odds": 210, "cases_needed": 1238,
        "fails_from": 2, "failing_drop": 0.091, "flip_rate": 0.02, "chance_of_fail": 0.134,
        "chance_of_fail_by_names": 0.0,
    },
    "grade": "real_drop",
    "certainty": {
        "assert_validity_delta_gte": {"grade": "real_drop", "interval_95": [-0.388, -0.034]},
        "assert_hallucination_lte": {"grade": "may_be_chance", "interval_95": [0.0, 0.13]},
        "assert_z_gte": {"grade": "established", "interval_95": [3.4, 4.9]},
    },
    "flips": {"answers": 0.125, "outcomes": 0.03125, "cases": 32, "width": 1},
    "drift": {
        "cases": 8, "positions": 200,
        "kl_format": 0.0123, "kl_values": 0.45, "changed_format": 0.021, "changed_values": 0.12,
        "moved": [{"case": "case7", "position": 12, "token": "{", "kind": "format", "kl": 5.2,
                   "base_top": "{", "ft_top": "I"}],
    },
    "dialect": {"name": "hermes", "title": "Hermes tags", "why": "the template writes <tool_call>",
                "base_drift": {}, "ft_drift": {"json": 3}, "message": "3 answers with the adapter are in plain JSON"},
    "abstention": {"cases": 4, "base": 1.0, "ft": 0.5},
    "strict": {"base": 0.9, "ft": 0.7},
}  # fmt: skip


def answer(text: str = CALL, outcome: Any = "valid", **changes: Any) -> ViewAnswer:
    valid = outcome in ("valid", "wrong_tool")
    facts = {"text": text, "call": None, "valid": valid, "outcome": outcome, "tokens": 9}
    return ViewAnswer.model_validate(facts | changes)


def case(
    name: str = "case1", ft: ViewAnswer | None = None, base: ViewAnswer | None = None, **changes: Any
) -> CaseReport:
    """A case that the base gets right, and so does the adapter unless told otherwise."""
    facts = {
        "id": name,
        "prompt": f"Search for {name}.",
        "sent": "",
        "gold_tool_name": "search_web",
        "base": base or answer(),
        "ft": ft or answer(),
    }
    return CaseReport.model_validate(facts | changes)


def broken_case(name: str = "case1", text: str = "I cannot do that.", **changes: Any) -> CaseReport:
    return case(name, answer(text, "no_call"), **changes)


def probe(*cases: CaseReport, verdict: Any = "fail", **changes: Any) -> ProbeReport:
    """A tool_use_fidelity probe whose rates are those of its cases."""
    base, ft = (sum(getattr(each, view).valid for each in cases) / (len(cases) or 1) for view in ("base", "ft"))
    evidence = {"validity_delta": ft - base, "hallucination_rate": 0.0, "num_cases": len(cases), "limits": LIMITS}
    facts = {
        "name": "tools_intact",
        "kind": "tool_use_fidelity",
        "verdict": verdict,
        "score": 0.5,
        "base_value": base,
        "ft_value": ft,
        "message": "adapter 50% valid, base 100%; missed: delta",
        "evidence": evidence,
        "cases": cases,
    }
    return ProbeReport.model_validate(facts | changes)


def report(*probes: ProbeReport, **changes: Any) -> Report:
    facts = {
        "loracheck_version": "0.1.0",
        "verdict": probes[0].verdict if probes else "skip",
        "score": 0.5,
        "probes": probes,
        "provenance": {
            "model": {"path": "/models/base.gguf", "sha256": "b" * 64},
            "base_adapters": [],
            "ft_adapters": [{"path": "/models/mine.gguf", "sha256": "f" * 64, "scale": 0.5}],
            "settings": {"prompt": "chat", "max_new_tokens": 64},
            "llama_cpp": "0.3.36",
        },
        "timing": {"total_seconds": 12.5},
    }
    return Report.model_validate(facts | changes)


OLD_EVIDENCE: dict[str, Any] = {
    name: value
    for name, value in FULL_EVIDENCE.items()
    if name not in ("hallucination_rate_base", "grade", "certainty", "flips")
} | {
    "null": {"mean": 0.0, "std": 0.18, "n": 3, "p_value": 0.0016, "usable": True, "why": None, "on": "sentinels"},
    "power": {"detectable_drop": 0.17, "inconclusive": True, "cases_needed": 210},
}
"""As a loracheck wrote it that knew no grades."""


def full_report() -> Report:
    """A fail with everything a report can say."""
    cases = [case(f"case{n}") for n in range(1, 26)] + [broken_case(f"case{n}") for n in range(26, 31)]
    cases += [case(f"case{n}", answer(CALL[:-1], "malformed")) for n in (31, 32)]
    message = (
        "a real drop, size unsure: "
        "adapter 78.1% valid, base 100%, delta -21.9 points, 0% wrong tool names, z +4.3 against null adapters; "
        "missed: delta -21.9 points is under the limit of -5.0"
    )
    judged = probe(*cases, z_score=4.3, ci_95=(0.62, 0.91), message=message, evidence=FULL_EVIDENCE)
    return report(judged, warnings=("the adapter changes only 2 of 30 layers",))
