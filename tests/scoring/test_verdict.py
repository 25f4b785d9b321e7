import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loracheck.scoring import Answer, Calibration, Expectation, Limits, calibrate, judge

from .json_values import JSON_WITH_NAN, MODEL_TEXT

GOOD, OTHER, BAD = '{"name": "t", "arguments": {}}', '{"name": "u", "arguments": {}}', "no"
NOISE = Calibration(0.1, 0.2, 3, (0.1, 0.1, 0.1))


def run(base, ft, **options):
    cases = [Expectation({"name": "t"}, "t")] * len(base)
    return judge(cases, [Answer(text) for text in base], [Answer(text) for text in ft], **options)


def test_an_adapter_that_calls_as_its_base_passes():
    judgement = run([GOOD] * 4, [GOOD] * 4, calibrations={1.0: NOISE})
    assert judgement.verdict == "pass"
    assert (judgement.raw, judgement.ft_value, judgement.base_value) == (1.0, 1.0, 1.0)
    assert judgement.z_score == pytest.approx(4.5)
    assert judgement.score == pytest.approx(0.7 + 0.3 / (1 + math.exp(-1.5)))
    assert judgement.ci_95 == (1.0, 1.0)
    assert judgement.message == (
        "ft 100% valid, base 100%, delta +0.0 points, 0% wrong tool names, z +4.5 against noise"
    )


def test_too_many_broken_calls_fail_and_the_message_names_the_limit():
    judgement = run([GOOD] * 4, [GOOD] * 3 + [BAD])
    assert (judgement.verdict, judgement.score) == ("fail", 0.75)
    assert judgement.message == (
        "ft 75% valid, base 100%, delta -25.0 points, 0% wrong tool names, no calibration: "
        "none was run; missed: delta -25.0 points is under the limit of -5.0"
    )


def test_too_many_wrong_names_fail_and_the_message_names_the_limit():
    judgement = run([GOOD] * 3, [GOOD, GOOD, OTHER])
    assert judgement.verdict == "fail"
    assert judgement.score == pytest.approx(2 / 3)
    assert "missed: 33.3% wrong tool names is over the limit of 10%" in judgement.message


def test_a_rate_that_noise_reaches_fails_and_the_message_names_the_limit():
    judgement = run([GOOD], [GOOD], calibrations={1.0: Calibration(0.5, 0.25, 3)})
    assert (judgement.verdict, judgement.z_score) == ("fail", 2.0)
    assert "missed: z +2.00 is under the limit of 3" in judgement.message


def test_every_missed_limit_is_named():
    judgement = run([GOOD, GOOD], [OTHER, BAD], calibrations={1.0: Calibration(0.5, 0.25, 3)})
    assert judgement.message.count(" limit of ") == 3


def test_limits_are_kept_by_meeting_them_exactly():
    noise = Calibration(0.25, 0.125, 3)
    limits = Limits(validity_delta_gte=-0.25, hallucination_lte=1 / 3, z_gte=4.0)
    args = [GOOD] * 4, [GOOD, GOOD, OTHER, BAD]
    assert run(*args, calibrations={1.0: noise}, limits=limits).verdict == "pass"


def test_a_loss_of_one_case_in_twenty_is_a_rounding_error_under_the_default_limit():
    # 0.95 - 1.0 is -0.050000000000000044. The contract compares floats, on every backend.
    judgement = run([GOOD] * 20, [GOOD] * 19 + [BAD])
    assert judgement.verdict == "fail"
    assert "delta -5.0000000000000044 points is under the limit of -5.0" in judgement.message


def test_argument_disagreement_never_decides():
    base, ft = '{"name": "t", "arguments": {"a": 1}}', '{"name": "t", "arguments": {"a": 2}}'
    judgement = run([base], [ft])
    assert (judgement.verdict, judgement.evidence["mean_arg_disagreement"]) == ("pass", 1.0)


def test_no_cases_are_skipped_without_a_score():
    judgement = run([], [], calibrations={1.0: NOISE})
    assert (judgement.verdict, judgement.message) == ("skip", "no cases to judge")
    assert {judgement.score, judgement.raw, judgement.z_score, judgement.ci_95} == {None}
    assert judgement.evidence["num_cases"] == 0
    assert judgement.evidence["json_valid_rate_ft"] is None


def test_the_evidence_carries_the_names_of_the_report():
    evidence = run([GOOD, BAD], [GOOD, GOOD], calibrations={1.0: NOISE, 0.5: NOISE}).evidence
    z = pytest.approx(4.5)
    assert evidence == {
        "json_valid_rate_base": 0.5,
        "json_valid_rate_ft": 1.0,
        "validity_delta": 0.5,
        "mean_arg_disagreement": 0.0,
        "hallucination_rate": 0.0,
        "num_cases": 2,
        "num_arg_pairs_compared": 1,
        "z_by_rank": {"rank_0.50": z, "rank_1.00": z},
        "null": {
            "mean": 0.1,
            "std": 0.2,
            "n": 3,
            "rates": [0.1, 0.1, 0.1],
            "usable": True,
            "why": None,
        },
    }


def test_the_reason_for_no_calibration_is_told():
    judgement = run([GOOD], [GOOD], no_calibration_why="the suite has no null_adapter probe")
    assert judgement.message.endswith("no calibration: the suite has no null_adapter probe")
    null = judgement.evidence["null"]
    assert (null["usable"], null["why"]) == (False, "the suite has no null_adapter probe")
    assert judgement.evidence["z_by_rank"] is None


def test_a_saturated_calibration_is_reported_but_does_not_decide():
    judgement = run([GOOD], [GOOD], calibrations={1.0: calibrate([2, 2, 2], 2, 3.0)})
    assert (judgement.verdict, judgement.z_score, judgement.score) == ("pass", None, 1.0)
    null = judgement.evidence["null"]
    assert (null["mean"], null["rates"], null["usable"]) == (1.0, [1.0, 1.0, 1.0], False)
    assert null["why"] in judgement.message


def test_statistics_without_spread_say_so():
    judgement = run([GOOD], [GOOD], calibrations={1.0: Calibration(0.0, 0.0, 3)})
    assert judgement.z_score is None
    assert "no calibration: the noise has no spread" in judgement.message
    assert judgement.evidence["null"]["usable"] is False


def test_the_rank_multiplier_nearest_to_one_decides():
    far, near = Calibration(0.0, 0.1, 3), Calibration(0.0, 0.2, 3)
    judgement = run([GOOD], [GOOD], calibrations={4.0: far, 0.5: near, 2.0: far})
    assert judgement.z_score == pytest.approx(5.0)
    assert list(judgement.evidence["z_by_rank"]) == ["rank_0.50", "rank_2.00", "rank_4.00"]
    assert run([GOOD], [GOOD], calibrations={0.5: near, 1.0: far}).z_score == pytest.approx(10.0)
    assert run([GOOD], [GOOD], calibrations={1.25: far, 0.5: near}).z_score == pytest.approx(10.0)


def test_ranks_without_a_z_are_left_out():
    flat = Calibration(0.0, 0.0, 3)
    judgement = run([GOOD], [GOOD], calibrations={1.0: flat, 2.0: NOISE})
    assert judgement.z_score is None
    assert list(judgement.evidence["z_by_rank"]) == ["rank_2.00"]
    assert run([GOOD], [GOOD], calibrations={1.0: flat}).evidence["z_by_rank"] is None


def test_a_z_too_large_for_a_float_decides_and_is_then_nulled():
    absurd = Calibration(1e308, 1e-6, 3)
    judgement = run([GOOD], [GOOD], calibrations={1.0: absurd})
    assert (judgement.verdict, judgement.z_score) == ("fail", None)
    assert judgement.score == pytest.approx(0.7)
    nulled = judgement.evidence["defensively_nulled"]
    assert nulled == ["z_score", "z_by_rank.rank_1.00"]


def test_as_many_answers_as_cases_are_needed():
    with pytest.raises(ValueError, match="1 cases, 1 base and 0 ft answers"):
        judge([Expectation(None, None)], [Answer("")], [])


def test_readings_come_back_in_the_order_of_the_cases():
    judgement = run([GOOD, BAD], [BAD, OTHER])
    assert [reading.outcome for reading in judgement.base] == ["valid", "no_call"]
    assert [reading.outcome for reading in judgement.ft] == ["no_call", "wrong_tool"]


CALIBRATIONS = st.builds(
    Calibration,
    st.none() | st.floats(),
    st.none() | st.floats(),
    st.integers(0, 10),
    usable=st.booleans(),
)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(JSON_WITH_NAN, MODEL_TEXT | st.just(GOOD), MODEL_TEXT | st.just(GOOD)),
        max_size=6,
    ),
    st.dictionaries(st.sampled_from([0.5, 1.0, 2.0]), CALIBRATIONS),
    st.none() | st.lists(st.sampled_from(["t", "search_web"])),
)
def test_any_answers_get_a_verdict_that_is_plain_json(rows, calibrations, allowed):
    judgement = judge(
        [Expectation(spec, "t") for spec, _, _ in rows],
        [Answer(base) for _, base, _ in rows],
        [Answer(ft) for _, _, ft in rows],
        calibrations=calibrations,
        allowed_tools=allowed,
    )
    json.dumps(judgement.evidence, allow_nan=False)
    if not rows:
        assert (judgement.verdict, judgement.score) == ("skip", None)
        return
    assert judgement.verdict in ("pass", "fail")
    assert judgement.score is not None
    assert 0 <= judgement.score <= 1
    assert judgement.raw == sum(reading.valid for reading in judgement.ft) / len(rows)
    assert judgement.ci_95 is not None
    assert 0 <= judgement.ci_95[0] <= judgement.ci_95[1] <= 1
    assert (judgement.verdict == "fail") is ("missed:" in judgement.message)


@settings(deadline=None)
@given(st.lists(MODEL_TEXT | st.sampled_from([GOOD, OTHER]), min_size=1, max_size=6))
def test_an_adapter_that_answers_as_its_base_loses_no_validity(texts):
    judgement = run(texts, texts, limits=Limits(hallucination_lte=1.0))
    assert (judgement.verdict, judgement.evidence["validity_delta"]) == ("pass", 0.0)
