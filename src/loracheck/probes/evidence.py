"""What stands beside the verdict: changes case by case, how sure they are, drift, dialects. It never decides."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from loracheck.scoring.calibrate import deciding_rank
from loracheck.scoring.changes import counts, transitions
from loracheck.scoring.dialects import DIALECTS
from loracheck.scoring.drift import ReadAnswer, measure_drift
from loracheck.scoring.noise import null_p_value
from loracheck.scoring.paired import METHOD, delta_interval, mcnemar_p, pair
from loracheck.scoring.power import cases_needed, detectable_drop, straddles

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from loracheck.probes.base import NullSamples
    from loracheck.probes.trial import Side, Trial
    from loracheck.scoring.dialects import Detection
    from loracheck.scoring.paired import Paired

FEW_CASES = 8


def changes(asked: Sequence[Trial], floor: float) -> dict[str, Any]:
    """What became of the answers that should be calls, the paired tests on it, and what so many cases can tell."""
    base, ft = ([side.reading.outcome for side in sides] for sides in _sides(asked))
    validity = pair(*([side.reading.valid for side in sides] for sides in _sides(asked)))
    test = _test(validity)
    interval = test["interval_95"]
    return {
        "outcomes": {"base": counts(base), "ft": counts(ft)},
        "transitions": transitions(base, ft),
        "paired": {
            "validity": test,
            "exact_call": _test(pair(*([side.exact for side in sides] for sides in _sides(asked)))),
        },
        "power": {
            "detectable_drop": detectable_drop(validity.n, validity.both + validity.lost) if asked else None,
            "inconclusive": interval is not None and straddles(interval, floor),
            "cases_needed": cases_needed(validity, floor),
        },
    }


def _test(paired: Paired) -> dict[str, Any]:
    return {
        "both": paired.both,
        "lost": paired.lost,
        "gained": paired.gained,
        "neither": paired.neither,
        "mcnemar_p": mcnemar_p(paired.lost, paired.gained),
        "delta": paired.delta,
        "interval_95": delta_interval(paired),
        "method": METHOD,
    }


def accuracy(trials: Sequence[Trial]) -> dict[str, Any]:
    """Shares of right arguments, of calls valid by the whole schema, and of rightly made no call; None if not asked."""
    asked = [trial for trial in trials if trial.expects_call]
    base, ft = _sides(asked)
    return {
        "exact_arguments_base": _share(side.arguments_correct for side in base),
        "exact_arguments_ft": _share(side.arguments_correct for side in ft),
        "strict": _rates(_share(side.strict_valid for side in sides) for sides in (base, ft)),
        "abstention": _abstention([trial for trial in trials if not trial.expects_call]),
    }


def _abstention(quiet: Sequence[Trial]) -> dict[str, Any] | None:
    """How often no tool was called where none fits. A call that went wrong is no abstention."""
    rates = _rates(_share(side.reading.outcome == "no_call" for side in sides) for sides in _sides(quiet))
    return rates and {"cases": len(quiet), **rates}


def drift(trials: Sequence[Trial]) -> dict[str, Any] | None:
    """How far the tuned view's expectations moved on the base's own calls."""
    return measure_drift(
        [
            ReadAnswer(
                case=trial.case.id,
                text=trial.base.completion.text,
                calls=[call for call in (trial.base.reading.call, *trial.base.reading.more_calls) if call is not None],
                ends=base.ends,
                base_log_probs=base.log_probs,
                ft_log_probs=ft.log_probs,
                base_top=base.top,
                ft_top=ft.top,
            )
            for trial in trials
            if (base := trial.base.completion.trace) and (ft := trial.ft.completion.trace)
        ]
    )


def dialect(trials: Sequence[Trial], detected: Detection) -> dict[str, Any]:
    """Which dialect the answers were read in, and which others they slipped into."""
    base, ft = (Counter(side.other_dialect for side in sides if side.other_dialect) for sides in _sides(trials))
    switched = Counter(
        trial.ft.other_dialect for trial in trials if trial.ft.other_dialect and not trial.base.other_dialect
    )
    message = None
    if switched:
        most, times = switched.most_common(1)[0]
        message = (
            f"the adapter switched from {DIALECTS[detected.name].title} to {DIALECTS[most].title} "
            f"in {times} of {len(trials)} answers"
        )
    return {
        "name": detected.name,
        "title": DIALECTS[detected.name].title,
        "why": detected.why,
        "base_drift": dict(base.most_common()),
        "ft_drift": dict(ft.most_common()),
        "message": message,
    }


def null_p(asked: Sequence[Trial], samples: Mapping[float, NullSamples]) -> float | None:
    """The exact chance that noise would do as well, from the noise nearest to the adapter's own rank."""
    if not samples:
        return None
    sample = samples[deciding_rank(samples)]
    valid = [trial.ft.reading.valid for trial in asked]
    return null_p_value(sum(valid), len(valid), sum(sample.valid), len(sample.valid) * sample.cases)


def doubts(trials: Sequence[Trial], evidence: Mapping[str, Any]) -> Iterable[str]:
    """What makes a verdict worth little, in words."""
    asked = [trial for trial in trials if trial.expects_call]
    base, ft = ([side.reading.valid for side in sides] for sides in _sides(asked))
    if not any(base) and not any(ft):
        yield "no valid call in either view: the verdict compares nothing with nothing"
    elif not any(b and f for b, f in zip(base, ft, strict=True)):
        yield "no case where both views make a valid call: how arguments drifted could not be compared"
    if len(asked) < FEW_CASES:
        yield f"only {len(asked)} cases that expect a call: a verdict needs {FEW_CASES} at the least"
    null = evidence["null"]
    if null["rates"] and not null["usable"]:
        yield f"the noise baseline says nothing: {null['why']}"
    slipped = evidence["dialect"]["base_drift"]
    if slipped and sum(slipped.values()) > len(trials) / 2:
        most = max(slipped, key=slipped.__getitem__)
        yield (
            f"{slipped[most]} of {len(trials)} answers of the base are in the dialect {DIALECTS[most].title} and were "
            f"read as {evidence['dialect']['title']}; try --dialect {most}"
        )


def _sides(trials: Sequence[Trial]) -> tuple[list[Side], list[Side]]:
    return [trial.base for trial in trials], [trial.ft for trial in trials]


def _share(flags: Iterable[bool | None]) -> float | None:
    """Of those that are not None."""
    told = [flag for flag in flags if flag is not None]
    return sum(told) / len(told) if told else None


def _rates(rates: Iterable[float | None]) -> dict[str, float] | None:
    base, ft = rates
    return None if base is None or ft is None else {"base": base, "ft": ft}
