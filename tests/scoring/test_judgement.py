import json
import math
from dataclasses import replace

import pytest

from loracheck.scoring import Judgement
from loracheck.scoring.judgement import keep_finite

SOUND = Judgement(
    verdict="pass",
    score=0.9,
    raw=0.8,
    z_score=4.0,
    base_value=0.8,
    ft_value=0.8,
    ci_95=(0.5, 1.0),
    message="fine",
    evidence={"validity_delta": 0.0, "num_cases": 5, "null": {"mean": 0.1, "rates": [0.1]}},
    base=(),
    ft=(),
)


def test_finite_numbers_pass_untouched():
    assert keep_finite(SOUND) == SOUND


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_raw_value_that_is_not_finite_is_an_error_without_numbers(bad):
    judgement = keep_finite(replace(SOUND, raw=bad, ft_value=bad))
    assert judgement.verdict == "error"
    assert {judgement.score, judgement.raw, judgement.z_score, judgement.ci_95} == {None}
    assert {judgement.base_value, judgement.ft_value} == {None}
    kept = judgement.evidence["non_finite_inputs"]
    assert (kept["raw"], kept["ft_value"], kept["score"]) == (repr(bad), repr(bad), 0.9)
    assert str(bad) in judgement.message


def test_any_other_number_that_is_not_finite_is_nulled_and_named():
    judgement = keep_finite(
        replace(
            SOUND,
            z_score=math.inf,
            ci_95=(0.5, math.nan),
            evidence={"validity_delta": 0.0, "null": {"mean": math.nan, "rates": [math.inf]}},
        )
    )
    assert (judgement.verdict, judgement.score, judgement.raw) == ("pass", 0.9, 0.8)
    assert judgement.z_score is None
    assert judgement.ci_95 is None
    assert judgement.evidence == {
        "validity_delta": 0.0,
        "null": {"mean": None, "rates": None},
        "defensively_nulled": ["z_score", "ci_95", "null.mean", "null.rates"],
    }
    assert json.dumps(judgement.evidence, allow_nan=False)


def test_the_evidence_handed_in_is_not_changed():
    evidence = {"null": {"mean": math.nan}}
    keep_finite(replace(SOUND, evidence=evidence))
    assert list(evidence) == ["null"]
    assert math.isnan(evidence["null"]["mean"])
