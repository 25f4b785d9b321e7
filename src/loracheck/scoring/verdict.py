"""Cases as both views answered them in, one verdict with its evidence out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias

from loracheck.scoring import statistics
from loracheck.scoring.arguments import field_disagreement
from loracheck.scoring.calibrate import (
    Calibration,
    NullSample,
    calibrate,
    deciding_rank,
    exact_rank_name,
    null_p_value,
    rank_name,
    unless_base_falls_short,
    why_no_z,
    z_score,
)
from loracheck.scoring.certainty import GRADES, grade_of_limit, grade_of_verdict, spreads_of
from loracheck.scoring.chance import power_of
from loracheck.scoring.evidence import (
    Abstention,
    BothRates,
    Certainty,
    Evidence,
    Flips,
    NullStats,
    PairedTests,
    SeveralCalls,
    Subject,
)
from loracheck.scoring.limits import LimitCheck, Limits, missed_in_words, percent
from loracheck.scoring.outcome import Reading
from loracheck.scoring.paired_test import paired_test
from loracheck.scoring.tries import CaseTries, Tries, compare_tries

Verdict: TypeAlias = Literal["pass", "fail", "skip", "error"]

_DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Trial:
    """One case, as both views answered it."""

    base: Reading
    ft: Reading
    expects_call: bool = True
    """Whether a call is valid is no question where none should be made."""
    tries: CaseTries | None = None
    """What came of asking it several times."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one adapter, with all that led to it."""

    verdict: Verdict
    score: float | None
    raw: float | None
    z_score: float | None
    base_value: float | None
    ft_value: float | None
    ci_95: tuple[float, float] | None
    message: str
    evidence: Evidence


def judge(
    trials: Sequence[Trial],
    *,
    samples: Mapping[float, NullSample] | None = None,
    calibrations: Mapping[float, Calibration] | None = None,
    no_calibration_why: str | None = None,
    nulls_on_cases: bool = False,
    limits: Limits = _DEFAULT_LIMITS,
    flips: Flips | None = None,
    subject: Subject = "adapter",
    seed: int = 0,
) -> Judgement:
    """Judge the ft view against the base view.

    `samples` are the null adapters' valid answers by rank multiplier, to the same cases where `nulls_on_cases` says so;
    the multiplier nearest to 1 decides. `calibrations` are statistics made of them elsewhere, taken as they are.
    """
    asked = [trial for trial in trials if trial.expects_call]
    rates = measure(asked)
    raw = rates.json_valid_rate_ft
    if calibrations is None:
        floor = limits.assert_z_gte
        calibrations = {
            rank: unless_base_falls_short(calibrate(sample, floor), rates.json_valid_rate_base, raw, floor)
            for rank, sample in (samples or {}).items()
        }
    calibration = calibrations[deciding_rank(calibrations)] if calibrations else None
    why = (no_calibration_why or "none was run") if calibration is None else why_no_z(calibration)
    z = z_score(raw, calibration)
    evidence = rates.model_copy(
        update={
            "z_by_rank": _z_by_rank(raw, calibrations),
            "null": _null_stats(asked, rates.json_valid_rate_base, calibration, why, samples or {}, nulls_on_cases),
            **_changes(asked),
            **_accuracy(trials, asked),
            "tries": _tries(asked, seed),
            "power": power_of(asked, limits, flips),
            "flips": flips,
            "subject": subject,
            "limits": limits,
        }
    )
    checks = evidence.checks(z)
    evidence = evidence.model_copy(update=_certainty(trials, evidence, checks, calibration))
    judged = any(check.kept is not None for check in checks.values())
    numbers = {
        "score": _score(rates, z),
        "raw": raw,
        "z_score": z,
        "base_value": rates.json_valid_rate_base,
        "ft_value": raw,
        "ci_95": statistics.bootstrap_ci_95([trial.ft.valid for trial in asked], seed),
    }
    verdict: Verdict = "fail" if missed_in_words(checks) else "pass" if judged else "skip"
    return _finite(verdict, numbers, message_of(evidence, z), evidence)


def measure(asked: Sequence[Trial]) -> Evidence:
    """The rates over the cases that expect a call."""
    base, ft = (_share(side.valid for side in sides) for sides in _sides(asked))
    disagreements = [
        field_disagreement(trial.base.call, trial.ft.call)
        for trial in asked
        if trial.base.valid and trial.ft.valid and trial.base.call is not None and trial.ft.call is not None
    ]
    # Not validated, which would drop what is not finite without a word.
    return Evidence.model_construct(
        json_valid_rate_base=base,
        json_valid_rate_ft=ft,
        validity_delta=None if base is None or ft is None else ft - base,
        # fsum, because sum() of floats rounds differently from Python 3.12 on.
        mean_arg_disagreement=math.fsum(disagreements) / max(1, len(disagreements)),
        hallucination_rate=_share(trial.ft.outcome == "wrong_tool" for trial in asked if trial.ft.valid) or 0.0,
        num_cases=len(asked),
        num_arg_pairs_compared=len(disagreements),
    )


def _sides(trials: Sequence[Trial]) -> tuple[list[Reading], list[Reading]]:
    return [trial.base for trial in trials], [trial.ft for trial in trials]


def _share(flags: Iterable[bool | None]) -> float | None:
    """Of those that are not None."""
    known = [flag for flag in flags if flag is not None]
    return sum(known) / len(known) if known else None


def _accuracy(trials: Sequence[Trial], asked: Sequence[Trial]) -> dict[str, Any]:
    """Shares of right arguments, of calls valid by the whole schema, and of rightly made no call; None if not asked."""
    exact_base, exact_ft = (_share(side.arguments_correct for side in sides) for sides in _sides(asked))
    strict_base, strict_ft = (_share(side.strict_valid for side in sides) for sides in _sides(asked))
    quiet = [trial for trial in trials if not trial.expects_call]
    # A call that went wrong is no abstention.
    silent_base, silent_ft = (_share(side.outcome == "no_call" for side in sides) for sides in _sides(quiet))
    return {
        "exact_arguments_base": exact_base,
        "exact_arguments_ft": exact_ft,
        "strict": None if strict_ft is None else BothRates(base=strict_base, ft=strict_ft),
        "abstention": Abstention(cases=len(quiet), base=silent_base, ft=silent_ft) if quiet else None,
        "several": _several(asked),
    }


def _several(asked: Sequence[Trial]) -> SeveralCalls | None:
    """How both views did where several calls are expected; None where they are nowhere."""
    both = [(trial.base.matched, trial.ft.matched) for trial in asked]
    base, ft = ([answer for answer in side if answer] for side in zip(*both, strict=True)) if both else ([], [])
    if not base:
        return None
    paired = statistics.pair((answer.right for answer in base), (answer.right for answer in ft))
    return SeveralCalls(
        cases=paired.n,
        right_base=(paired.both + paired.lost) / paired.n,
        right_ft=(paired.both + paired.gained) / paired.n,
        missing_base=sum(len(answer.missing) for answer in base),
        missing_ft=sum(len(answer.missing) for answer in ft),
        extra_base=sum(len(answer.extra) for answer in base),
        extra_ft=sum(len(answer.extra) for answer in ft),
        wrong_arguments_base=sum(answer.wrong_arguments for answer in base),
        wrong_arguments_ft=sum(answer.wrong_arguments for answer in ft),
        paired=paired_test(paired),
    )


def _tries(asked: Sequence[Trial], seed: int) -> Tries | None:
    tried = [trial.tries for trial in asked if trial.tries]
    return compare_tries(tried, seed) if tried else None


def _changes(asked: Sequence[Trial]) -> dict[str, Any]:
    """What became of the answers that should be calls, and the paired tests on it."""
    base, ft = _sides(asked)
    transitions: dict[str, dict[str, int]] = {}
    for (was, became), number in Counter((trial.base.outcome, trial.ft.outcome) for trial in asked).most_common():
        transitions.setdefault(was, {})[became] = number
    validity = statistics.pair((side.valid for side in base), (side.valid for side in ft))
    exact = statistics.pair((side.exact for side in base), (side.exact for side in ft))
    return {
        "outcomes": {"base": _counts(base), "ft": _counts(ft)},
        "transitions": transitions,
        "paired": PairedTests(validity=paired_test(validity), exact_call=paired_test(exact)),
        "hallucination_rate_base": _share(side.outcome == "wrong_tool" for side in base if side.valid),
    }


def _certainty(
    trials: Sequence[Trial], evidence: Evidence, checks: Mapping[str, LimitCheck], calibration: Calibration | None
) -> dict[str, Any]:
    """How sure the verdict is, and each limit for itself."""
    all_tries = evidence.tries.all_right if evidence.tries else None
    spreads = spreads_of(trials, evidence.paired.validity, calibration, all_tries)
    grades = {name: grade for name, spread in spreads.items() if (grade := grade_of_limit(checks[name], spread))}
    return {
        "certainty": {
            name: Certainty.model_construct(grade=grade, interval_95=spreads[name].interval_95)
            for name, grade in grades.items()
        },
        "grade": None if evidence.compares_nothing else grade_of_verdict(checks, grades),
    }


def _counts(readings: Iterable[Reading]) -> dict[str, int]:
    return dict(Counter(reading.outcome for reading in readings).most_common())


def _null_stats(
    asked: Sequence[Trial],
    base_rate: float | None,
    calibration: Calibration | None,
    why: str | None,
    samples: Mapping[float, NullSample],
    on_cases: bool,
) -> NullStats:
    stats = asdict(calibration or Calibration(None, None, 0))
    p_value = None
    if samples and on_cases:
        # The exact chance that null adapters would do as well, from those nearest to the adapter's own rank.
        sample = samples[deciding_rank(samples)]
        valid = sum(trial.ft.valid for trial in asked)
        p_value = null_p_value(valid, len(asked), sum(sample.valid), len(sample.valid) * sample.cases)
    beside = {
        "usable": why is None,
        "why": why,
        # Told where it does not decide, too.
        "base_z": z_score(base_rate, calibration and replace(calibration, usable=True)),
        "p_value": p_value,
        "samples": {exact_rank_name(rank): sample for rank, sample in samples.items()},
    }
    return NullStats.model_construct(**{**stats, **beside})


def _z_by_rank(rate: float | None, calibrations: Mapping[float, Calibration]) -> dict[str, float] | None:
    scores = {rank_name(rank): z_score(rate, calibration) for rank, calibration in sorted(calibrations.items())}
    return {name: z for name, z in scores.items() if z is not None} or None


def _score(rates: Evidence, z: float | None) -> float | None:
    if rates.validity_delta is None:
        return None
    raw_score = min(max(1 + rates.validity_delta, 0.0), 1.0) * max(0.0, 1 - (rates.hallucination_rate or 0.0))
    if z is None:
        return raw_score
    sigmoid = 1 / (1 + math.exp(-min(max(z / 3, -50.0), 50.0)))
    return 0.7 * raw_score + 0.3 * sigmoid


def message_of(evidence: Evidence, z: float | None) -> str:
    """The verdict in a line: the rates, how sure they are, and the limits that were missed."""
    missed = missed_in_words(evidence.checks(z))
    base, ft, delta = evidence.json_valid_rate_base, evidence.json_valid_rate_ft, evidence.validity_delta
    if base is not None and ft is not None and delta is not None:
        nulls = f"no calibration: {evidence.null.why}" if z is None else f"z {z:+.1f} against null adapters"
        message = (
            f"{evidence.subject} {percent(ft)} valid, base {percent(base)}, delta {100 * delta:+.1f} points, "
            f"{percent(evidence.hallucination_rate or 0.0)} wrong tool names, {nulls}"
        )
    elif (quiet := evidence.abstention) and quiet.ft is not None and quiet.base is not None:
        message = (
            f"no case asks for a call; {evidence.subject} makes none in {percent(quiet.ft)} of the cases, "
            f"base in {percent(quiet.base)}"
        )
    else:
        message = "no cases to judge"
    if evidence.compares_nothing:
        message = f"nothing was compared: {message}"
    elif evidence.grade:
        message = f"{GRADES[evidence.grade]}: {message}"
    return f"{message}; missed: {' and '.join(missed)}" if missed else message


def _finite(verdict: Verdict, numbers: dict[str, Any], message: str, evidence: Evidence) -> Judgement:
    """The judgement without NaN or infinity, naming what was taken out.

    In `raw` they make it an error. JSON has no such numbers, so they are kept as text.
    """
    kept, nulled = _without_non_finite(numbers)
    facts, nulled_facts = _without_non_finite(evidence.model_dump(warnings=False))
    if "raw" in nulled:
        facts["non_finite_inputs"] = {name: repr(value) if name in nulled else value for name, value in numbers.items()}
        verdict, message = "error", f"the valid rate is {numbers['raw']}, not a finite number"
        kept, nulled = dict.fromkeys(numbers), []
        facts["grade"] = None
    facts["defensively_nulled"] = nulled + nulled_facts or None
    return Judgement(verdict=verdict, message=message, evidence=Evidence(**facts), **kept)


def _without_non_finite(values: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A copy with None for what is not finite, and the dotted names of those entries."""
    kept: dict[str, Any] = {}
    nulled: list[str] = []
    for name, value in values.items():
        if isinstance(value, dict):
            kept[name], inner = _without_non_finite(value)
            nulled += [f"{name}.{key}" for key in inner]
        elif _is_finite(value):
            kept[name] = value
        else:
            kept[name] = None
            nulled.append(name)
    return kept, nulled


def _is_finite(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_finite(item) for item in value)
    return not isinstance(value, float) or math.isfinite(value)
