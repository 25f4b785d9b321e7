"""The verdict on recorded outputs: one line of JSON in, one flat result out, no model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from loracheck.scoring.calibrate import Calibration
from loracheck.scoring.evidence import Rates
from loracheck.scoring.limits import Limits
from loracheck.scoring.outcome import Answer, Expectation, read_answer
from loracheck.scoring.verdict import Trial, judge

_REQUIRED = ("cases", "base_outputs", "ft_outputs")
_LIMITS = ("assert_validity_delta_gte", "assert_hallucination_lte", "assert_z_gte")
# What a line expects is for those who compare, and not looked at.
_KNOWN = (*_REQUIRED, *_LIMITS, "null_stats", "seed", "allowed_tools", "expect")
_SCORES = ("verdict", "score", "raw", "z_score", "base_value", "ft_value")


def score_recorded(line: Mapping[str, Any]) -> dict[str, Any]:
    """Judge one recorded run; ValueError names the key that is wrong.

    The null statistics are taken as they are given: how they came about is not ours to judge here.
    """
    _require(isinstance(line, Mapping), "a line must be a JSON object")
    for key in _REQUIRED:
        _require(key in line, f"{key} is missing")
    for key in line:
        _require(key in _KNOWN, f"{key} is not a known key")
    _require(isinstance(line["cases"], list), "cases must be a list")
    expectations = [_expectation(case, f"cases[{index}]") for index, case in enumerate(line["cases"])]
    for key in ("base_outputs", "ft_outputs"):
        entries, cases = len(_strings(line[key], key)), len(expectations)
        _require(entries == cases, f"{key} has {entries} entries for {cases} cases")
    allowed = line.get("allowed_tools")
    allowed = None if allowed is None else frozenset(_strings(allowed, "allowed_tools"))
    seed = line.get("seed", 0)
    _require(type(seed) is int and seed >= 0, "seed must be an integer of 0 or more")
    judgement = judge(
        [
            Trial(read_answer(expected, Answer(base), allowed), read_answer(expected, Answer(ft), allowed))
            for expected, base, ft in zip(expectations, line["base_outputs"], line["ft_outputs"], strict=True)
        ],
        calibrations=_calibrations(line.get("null_stats")),
        limits=Limits(**{key: _finite(line[key], key) for key in _LIMITS if key in line}),
        seed=seed,
    )
    return {
        **{name: getattr(judgement, name) for name in _SCORES},
        **{name: getattr(judgement.evidence, name) for name in Rates.model_fields},
        "ci_95": None if judgement.ci_95 is None else list(judgement.ci_95),
    }


def _require(holds: bool, complaint: str) -> None:
    if not holds:
        raise ValueError(complaint)


def _expectation(case: Any, where: str) -> Expectation:
    _require(isinstance(case, Mapping), f"{where} must be an object")
    for key in ("tool_spec", "gold_tool_name"):
        _require(key in case, f"{where}.{key} is missing")
    gold = case["gold_tool_name"]
    _require(gold is None or isinstance(gold, str), f"{where}.gold_tool_name must be a string or null")
    return Expectation(case["tool_spec"], gold)


def _strings(value: Any, key: str) -> list[str]:
    _require(isinstance(value, list), f"{key} must be a list of strings")
    for index, item in enumerate(value):
        _require(isinstance(item, str), f"{key}[{index}] must be a string")
    return list(value)


def _calibrations(stats: Any) -> dict[float, Calibration]:
    if stats is None:
        return {}
    _require(isinstance(stats, Mapping), "null_stats must be an object or null")
    for key in ("mean", "std"):
        _require(key in stats, f"null_stats.{key} is missing")
    # NaN and infinity are let in here: they leave the run without a z, as null does.
    mean, std = (None if stats[key] is None else _number(stats[key], f"null_stats.{key}") for key in ("mean", "std"))
    return {1.0: Calibration(mean, std, int(_finite(stats.get("n", 0), "null_stats.n")))}


def _finite(value: Any, key: str) -> float:
    number = _number(value, key)
    _require(math.isfinite(number), f"{key} must be a finite number")
    return number


def _number(value: Any, key: str) -> float:
    _require(isinstance(value, (int, float)) and not isinstance(value, bool), f"{key} must be a number")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{key} is too large a number") from None
