"""The verdict on recorded outputs: one line of JSON in, one flat result out, no model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .calibrate import Calibration
from .outcome import Answer, Expectation
from .verdict import Limits, judge

_REQUIRED = ("cases", "base_outputs", "ft_outputs")
_OPTIONAL = ("null_stats", "seed", "allowed_tools")
_LIMITS = {
    "assert_validity_delta_gte": "validity_delta_gte",
    "assert_hallucination_lte": "hallucination_lte",
    "assert_z_gte": "z_gte",
}
_IGNORED = "expect"
_EVIDENCE = (
    "json_valid_rate_base",
    "json_valid_rate_ft",
    "validity_delta",
    "mean_arg_disagreement",
    "hallucination_rate",
    "num_cases",
    "num_arg_pairs_compared",
)


def score_recorded(line: Mapping[str, Any]) -> dict[str, Any]:
    """Judge one recorded run; ValueError names the key that is wrong.

    The null statistics are taken as they are given: how they came about is not ours to judge here.
    """
    _check_keys(line)
    expectations = _expectations(line["cases"])
    base = _answers(line, "base_outputs", len(expectations))
    ft = _answers(line, "ft_outputs", len(expectations))
    calibration = _calibration(line.get("null_stats"))
    judgement = judge(
        expectations,
        base,
        ft,
        calibrations=None if calibration is None else {1.0: calibration},
        allowed_tools=_allowed_tools(line.get("allowed_tools")),
        limits=Limits(**{field: _finite(line[key], key) for key, field in _LIMITS.items() if key in line}),
        seed=_seed(line.get("seed", 0)),
    )
    return {
        "verdict": judgement.verdict,
        "score": judgement.score,
        "raw": judgement.raw,
        "z_score": judgement.z_score,
        "base_value": judgement.base_value,
        "ft_value": judgement.ft_value,
        **{name: judgement.evidence[name] for name in _EVIDENCE},
        "ci_95": None if judgement.ci_95 is None else list(judgement.ci_95),
    }


def _check_keys(line: Any) -> None:
    if not isinstance(line, Mapping):
        raise ValueError("a line must be a JSON object")
    for key in _REQUIRED:
        if key not in line:
            raise ValueError(f"{key} is missing")
    for key in line:
        if key not in (*_REQUIRED, *_OPTIONAL, *_LIMITS, _IGNORED):
            raise ValueError(f"{key} is not a known key")


def _expectations(cases: Any) -> list[Expectation]:
    if not isinstance(cases, list):
        raise ValueError("cases must be a list")
    return [_expectation(case, f"cases[{index}]") for index, case in enumerate(cases)]


def _expectation(case: Any, where: str) -> Expectation:
    if not isinstance(case, Mapping):
        raise ValueError(f"{where} must be an object")
    for key in ("tool_spec", "gold_tool_name"):
        if key not in case:
            raise ValueError(f"{where}.{key} is missing")
    gold = case["gold_tool_name"]
    if gold is not None and not isinstance(gold, str):
        raise ValueError(f"{where}.gold_tool_name must be a string or null")
    return Expectation(case["tool_spec"], gold)


def _answers(line: Mapping[str, Any], key: str, cases: int) -> list[Answer]:
    outputs = _strings(line[key], key)
    if len(outputs) != cases:
        raise ValueError(f"{key} has {len(outputs)} entries for {cases} cases")
    return [Answer(text) for text in outputs]


def _allowed_tools(value: Any) -> list[str] | None:
    return None if value is None else _strings(value, "allowed_tools")


def _strings(value: Any, key: str) -> list[str]:
    if not isinstance(value, list):
        raise ValueError(f"{key} must be a list of strings")
    for index, item in enumerate(value):
        if not isinstance(item, str):
            raise ValueError(f"{key}[{index}] must be a string")
    return value


def _calibration(stats: Any) -> Calibration | None:
    if stats is None:
        return None
    if not isinstance(stats, Mapping):
        raise ValueError("null_stats must be an object or null")
    for key in ("mean", "std"):
        if key not in stats:
            raise ValueError(f"null_stats.{key} is missing")
    # NaN and infinity are let in here: they leave the run without a z, as null does.
    mean, std = (None if stats[key] is None else _number(stats[key], f"null_stats.{key}") for key in ("mean", "std"))
    return Calibration(mean, std, int(_finite(stats.get("n", 0), "null_stats.n")))


def _seed(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("seed must be an integer of 0 or more")
    return value


def _finite(value: Any, key: str) -> float:
    number = _number(value, key)
    if not math.isfinite(number):
        raise ValueError(f"{key} must be a finite number")
    return number


def _number(value: Any, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{key} must be a number")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{key} is too large a number") from None
