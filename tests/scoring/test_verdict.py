import json
import math
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.scoring import Answer, Calibration, Expectation, Limits, NullSample, Trial, judge, read_answer
from loracheck.scoring.evidence import Abstention, BothRates, Evidence, Flips
from loracheck.scoring.statistics import detectable_drop
from loracheck.scoring.verdict import measure

from .json_values import JSON_WITH_NAN, MODEL_TEXT
from .readings import BAD, GOOD, OTHER, came_out, trials_of

NULLS = Calibration(0.1, 0.2, 3, (0.1, 0.1, 0.1))
SILENT = NullSample((0, 0, 0), 2)

outcomes = st.sampled_from(["valid", "wrong_tool", "bad_arguments", "malformed", "truncated", "no_call"])


def run(base, ft, **options):
    return judge(trials_of(base, ft), **options)


def quiet(base, ft):
    """Cases that expect no call."""
    return trials_of(base, ft, expects_call=False)


def by_multiplier(samples):
    """As `judge` takes them."""
    return {float(name.removeprefix("rank_")): sample for name, sample in samples.items()}


def call(name="t", a=1):
    return f'{{"name": "{name}", "arguments": {{"a": {a}, "b": 1}}}}'


# The verdict


def test_an_adapter_that_calls_as_its_base_passes():
    judgement = run([GOOD] * 4, [GOOD] * 4, calibrations={1.0: NULLS})
    assert judgement.verdict == "pass"
    assert (judgement.raw, judgement.ft_value, judgement.base_value) == (1.0, 1.0, 1.0)
    assert judgement.z_score == pytest.approx(4.5)
    assert judgement.score == pytest.approx(0.7 + 0.3 / (1 + math.exp(-1.5)))
    assert judgement.ci_95 == (1.0, 1.0)
    assert judgement.message == (
        "may be chance: "
        "adapter 100% valid, base 100%, delta +0.0 points, 0% wrong tool names, z +4.5 against null adapters"
    )


def test_too_many_broken_calls_fail_and_the_message_names_the_limit():
    judgement = run([GOOD] * 4, [GOOD] * 3 + [BAD])
    assert (judgement.verdict, judgement.score) == ("fail", 0.75)
    assert judgement.message == (
        "may be chance: adapter 75% valid, base 100%, delta -25.0 points, 0% wrong tool names, no calibration: "
        "none was run; missed: delta -25.0 points is under the limit of -5.0"
    )


def test_too_many_wrong_names_fail_and_the_message_names_the_limit():
    judgement = run([GOOD] * 3, [GOOD, GOOD, OTHER])
    assert judgement.verdict == "fail"
    assert judgement.score == pytest.approx(2 / 3)
    assert "missed: 33.3% wrong tool names is over the limit of 10%" in judgement.message


def test_a_rate_that_null_adapters_reach_fails_and_the_message_names_the_limit():
    judgement = run([GOOD], [GOOD], calibrations={1.0: Calibration(0.5, 0.25, 3)})
    assert (judgement.verdict, judgement.z_score) == ("fail", 2.0)
    assert "missed: z +2.00 is under the limit of 3" in judgement.message


def test_every_missed_limit_is_named_behind_one_missed():
    judgement = run([GOOD, GOOD], [OTHER, BAD], calibrations={1.0: Calibration(0.5, 0.25, 3)})
    assert judgement.message.count("; missed: ") == judgement.message.count("missed") == 1
    assert judgement.message.split("; missed: ")[1].split(" and ") == [
        "delta -50.0 points is under the limit of -5.0",
        "100% wrong tool names is over the limit of 10%",
        "z +0.00 is under the limit of 3",
    ]


def test_limits_are_kept_by_meeting_them_exactly():
    nulls = Calibration(0.25, 0.125, 3)
    limits = Limits(assert_validity_delta_gte=-0.25, assert_hallucination_lte=1 / 3, assert_z_gte=4.0)
    args = [GOOD] * 4, [GOOD, GOOD, OTHER, BAD]
    assert run(*args, calibrations={1.0: nulls}, limits=limits).verdict == "pass"


def test_a_loss_of_one_case_in_twenty_is_a_rounding_error_under_the_default_limit():
    # 0.95 - 1.0 is -0.050000000000000044. The contract compares floats, on every backend.
    judgement = run([GOOD] * 20, [GOOD] * 19 + [BAD])
    assert judgement.verdict == "fail"
    assert "delta -5.0000000000000044 points is under the limit of -5.0" in judgement.message


def test_argument_disagreement_never_decides():
    judgement = run([call(a=1)], ['{"name": "t", "arguments": {"a": 2, "b": 2}}'])
    assert (judgement.verdict, judgement.evidence.mean_arg_disagreement) == ("pass", 1.0)


def test_no_cases_are_skipped_without_a_score():
    judgement = run([], [], calibrations={1.0: NULLS})
    assert (judgement.verdict, judgement.message) == ("skip", "no cases to judge")
    assert {judgement.score, judgement.raw, judgement.z_score, judgement.ci_95} == {None}
    assert judgement.evidence.num_cases == 0
    assert judgement.evidence.json_valid_rate_ft is None
    assert judge([], samples={1.0: SILENT}).verdict == "skip"


def test_even_limits_that_nothing_keeps_do_not_fail_without_cases():
    limits = Limits(2.0, -1.0, 99.0, 2.0, 2.0)
    assert judge([], limits=limits).verdict == "skip"


# Exact arguments and abstention


def gold(*, base, ft):
    """Trials of valid calls, some with the expected arguments."""
    return [
        Trial(came_out("valid", arguments_correct=before), came_out("valid", arguments_correct=after))
        for before, after in zip(base, ft, strict=True)
    ]


def test_limits_on_arguments_and_abstention_decide_only_when_they_are_asked_for():
    trials = gold(base=[True], ft=[False]) + quiet([BAD], [GOOD])
    assert judge(trials).verdict == "pass"
    both = Limits(assert_exact_arguments_gte=0.5, assert_abstention_gte=0.5)
    judgement = judge(trials, limits=both)
    assert judgement.verdict == "fail"
    assert judgement.message.split("; missed: ")[1:] == [
        "0% exact arguments is under the limit of 50% and 0% abstention is under the limit of 50%"
    ]
    assert judge(gold(base=[True], ft=[True]) + quiet([GOOD], [BAD]), limits=both).verdict == "pass"


def test_the_adapters_own_share_of_exact_arguments_is_held_against_the_limit():
    trials = gold(base=[False, False, None], ft=[True, False, None])
    half, more = (Limits(assert_exact_arguments_gte=floor) for floor in (0.5, 0.51))
    assert judge(trials, limits=half).verdict == "pass"
    judgement = judge(trials, limits=more)
    assert judgement.verdict == "fail"
    assert judgement.message.endswith("; missed: 50% exact arguments is under the limit of 51%")
    assert (judgement.evidence.exact_arguments_base, judgement.evidence.exact_arguments_ft) == (0.0, 0.5)


def test_a_limit_on_arguments_that_no_case_speaks_to_is_not_judged():
    judgement = run([GOOD], [GOOD], limits=Limits(assert_exact_arguments_gte=1.0, assert_abstention_gte=1.0))
    assert judgement.verdict == "pass"
    assert judgement.evidence.exact_arguments_ft is judgement.evidence.abstention is None


def test_cases_that_expect_no_call_count_in_abstention_alone():
    judgement = judge(trials_of([GOOD], [GOOD]) + quiet([BAD, BAD], [GOOD, BAD]))
    assert judgement.verdict == "pass"
    assert judgement.evidence.abstention == Abstention(cases=2, base=1.0, ft=0.5)
    assert (judgement.evidence.num_cases, judgement.raw, judgement.ci_95) == (1, 1.0, (1.0, 1.0))
    assert judgement.evidence.outcomes == {"base": {"valid": 1}, "ft": {"valid": 1}}
    assert judgement.evidence.paired.validity.n == 1


def test_a_call_that_went_wrong_is_no_abstention():
    evidence = judge(quiet([BAD] * 4, ['{"name": "t", ', OTHER, '{"name": "t"}', BAD])).evidence
    assert evidence.abstention == Abstention(cases=4, base=1.0, ft=0.25)


@pytest.mark.parametrize(("floor", "verdict"), [(0.75, "pass"), (0.76, "fail")])
def test_a_suite_of_cases_without_a_call_passes_or_fails_by_abstention(floor, verdict):
    trials = quiet([BAD] * 4, [BAD] * 3 + [GOOD])
    judgement = judge(trials, samples={1.0: SILENT}, limits=Limits(assert_abstention_gte=floor))
    assert judgement.verdict == verdict
    rates = "may be chance: no case asks for a call; adapter makes none in 75% of the cases, base in 100%"
    missed = "; missed: 75% abstention is under the limit of 76%"
    assert judgement.message == rates + (missed if verdict == "fail" else "")
    assert {judgement.score, judgement.raw, judgement.z_score, judgement.base_value, judgement.ci_95} == {None}
    checks = judgement.evidence.checks(judgement.z_score)
    assert {name for name, check in checks.items() if check.kept is not None} == {"assert_abstention_gte"}


def test_a_suite_of_cases_without_a_call_and_without_a_limit_on_them_is_skipped():
    judgement = judge(quiet([BAD], [GOOD]))
    assert judgement.verdict == "skip"
    assert judgement.message == "no case asks for a call; adapter makes none in 0% of the cases, base in 100%"


@given(
    st.lists(st.tuples(outcomes, outcomes), min_size=1, max_size=8),
    st.none() | st.floats(-0.5, 1.5, allow_nan=False),
)
def test_any_suite_of_cases_without_a_call_is_judged_exactly_when_its_limit_is_given(pairs, floor):
    trials = [Trial(came_out(base), came_out(ft), expects_call=False) for base, ft in pairs]
    judgement = judge(trials, limits=Limits(assert_abstention_gte=floor))
    made_none = sum(ft == "no_call" for _, ft in pairs) / len(pairs)
    assert judgement.verdict == ("skip" if floor is None else "pass" if made_none >= floor else "fail")


def test_strict_validity_is_reported_and_never_decides():
    trials = [Trial(came_out("valid", strict_valid=True), came_out("valid", strict_valid=ft)) for ft in (True, False)]
    judgement = judge(trials)
    assert (judgement.verdict, judgement.evidence.strict) == ("pass", BothRates(base=1.0, ft=0.5))
    assert run([GOOD], [GOOD]).evidence.strict is None


# Null adapters


def test_the_reason_for_no_calibration_is_told():
    judgement = run([GOOD], [GOOD], no_calibration_why="the suite has no null_adapter probe")
    assert judgement.message.endswith("no calibration: the suite has no null_adapter probe")
    null = judgement.evidence.null
    assert (null.usable, null.why) == (False, "the suite has no null_adapter probe")
    assert judgement.evidence.z_by_rank is None


def test_a_saturated_calibration_is_reported_but_does_not_decide():
    judgement = run([GOOD], [GOOD], samples={1.0: NullSample((2, 2, 2), 2)})
    assert (judgement.verdict, judgement.z_score, judgement.score) == ("pass", None, 1.0)
    null = judgement.evidence.null
    assert (null.mean, null.rates, null.usable) == (1.0, (1.0, 1.0, 1.0), False)
    assert null.why in judgement.message


def test_statistics_without_spread_say_so():
    judgement = run([GOOD], [GOOD], calibrations={1.0: Calibration(0.0, 0.0, 3)})
    assert judgement.z_score is None
    assert "no calibration: the null adapters' rates have no spread" in judgement.message
    assert judgement.evidence.null.usable is False


def test_statistics_made_elsewhere_are_taken_as_they_are():
    # No adapter could reach the limit: of our own samples that would make no z at all.
    judgement = run([GOOD], [GOOD], calibrations={1.0: Calibration(0.9, 0.5, 3)}, samples={1.0: SILENT})
    assert (judgement.verdict, judgement.z_score) == ("fail", pytest.approx(0.2))


def test_the_rank_multiplier_nearest_to_one_decides():
    far, near = Calibration(0.0, 0.1, 3), Calibration(0.0, 0.2, 3)
    judgement = run([GOOD], [GOOD], calibrations={4.0: far, 0.5: near, 2.0: far})
    assert judgement.z_score == pytest.approx(5.0)
    assert list(judgement.evidence.z_by_rank) == ["rank_0.50", "rank_2.00", "rank_4.00"]
    assert run([GOOD], [GOOD], calibrations={0.5: near, 1.0: far}).z_score == pytest.approx(10.0)
    assert run([GOOD], [GOOD], calibrations={1.25: far, 0.5: near}).z_score == pytest.approx(10.0)


def test_ranks_without_a_z_are_left_out():
    flat = Calibration(0.0, 0.0, 3)
    judgement = run([GOOD], [GOOD], calibrations={1.0: flat, 2.0: NULLS})
    assert judgement.z_score is None
    assert list(judgement.evidence.z_by_rank) == ["rank_2.00"]
    assert run([GOOD], [GOOD], calibrations={1.0: flat}).evidence.z_by_rank is None


def test_the_exact_chance_that_null_adapters_do_as_well_is_that_of_the_deciding_rank():
    samples = {4.0: NullSample((2, 2, 2), 2), 1.0: SILENT}
    null = run([GOOD] * 12, [GOOD] * 12, samples=samples, nulls_on_cases=True).evidence.null
    # 1 / C(18, 6): all twelve valid answers of eighteen fell to the adapter.
    assert null.p_value == pytest.approx(1 / 18564)
    assert null.samples == {"rank_4.00": samples[4.0], "rank_1.00": SILENT}
    assert run([GOOD], [GOOD], nulls_on_cases=True).evidence.null.p_value is None
    assert judge([], samples=samples, nulls_on_cases=True).evidence.null.p_value is None


def test_null_adapters_that_answered_other_questions_are_not_compared_case_by_case():
    assert run([GOOD] * 12, [GOOD] * 12, samples={1.0: SILENT}).evidence.null.p_value is None


# 0 of 6 valid: a standard deviation of 18 %, so that 3 of them are 54.6 %.


def shares(base, ft, n=70):
    return [GOOD] * base + [BAD] * (n - base), [GOOD] * ft + [BAD] * (n - ft)


@pytest.mark.parametrize(("base", "ft"), [(35, 35), (38, 34), (1, 1)])
def test_a_base_that_misses_the_limit_itself_excuses_an_adapter_that_misses_it_too(base, ft):
    judgement = run(*shares(base, ft), samples={1.0: SILENT}, limits=Limits(assert_validity_delta_gte=-0.1))
    assert (judgement.verdict, judgement.z_score, judgement.evidence.z_by_rank) == ("pass", None, None)
    null = judgement.evidence.null
    assert null.base_z == pytest.approx(base / 70 / math.sqrt(13 / 392))
    assert (null.usable, null.mean, null.n) == (False, 0.0, 3)
    assert null.why == f"the base itself is only z = {math.floor(10 * null.base_z) / 10:.1f} above the nulls"
    assert null.why in judgement.message


def test_the_other_limits_still_decide_where_the_base_misses_that_on_z():
    judgement = run(*shares(35, 20), samples={1.0: SILENT})
    assert (judgement.verdict, judgement.z_score) == ("fail", None)


def test_an_adapter_that_reaches_the_limit_has_its_z_whatever_the_base_does():
    judgement = run(*shares(35, 60), samples={1.0: SILENT})
    assert judgement.verdict == "pass"
    assert judgement.z_score == pytest.approx(60 / 70 / math.sqrt(13 / 392))
    assert judgement.evidence.null.base_z < 3 < judgement.z_score


@pytest.mark.parametrize(("base", "ft"), [(70, 30), (0, 30), (0, 0)])
def test_a_base_that_reaches_it_or_makes_no_valid_call_is_no_excuse(base, ft):
    judgement = run(*shares(base, ft), samples={1.0: SILENT}, limits=Limits(assert_validity_delta_gte=-1.0))
    assert judgement.verdict == "fail"
    assert judgement.z_score is not None
    assert judgement.evidence.null.base_z == pytest.approx(base / 70 / math.sqrt(13 / 392))


def test_given_statistics_are_judged_as_they_are_whatever_the_base_does():
    judgement = run(*shares(35, 35), calibrations={1.0: Calibration(0.0, 0.2, 3)})
    assert (judgement.verdict, judgement.z_score, judgement.evidence.null.base_z) == ("fail", 2.5, 2.5)


def test_the_bases_own_z_is_told_where_z_is_not_judged():
    harmless = run([GOOD] * 4, [GOOD] * 4, samples={1.0: NullSample((1, 2, 1), 2)}).evidence.null
    assert (harmless.usable, harmless.base_z) == (False, pytest.approx(1.0, abs=0.1))
    assert run([GOOD], [GOOD]).evidence.null.base_z is None


def test_an_adapter_identical_to_a_base_of_half_valid_calls_no_longer_fails_in_four_runs_of_five():
    rng = np.random.default_rng(7)
    failed = {"with": 0, "without": 0}
    for valid in rng.binomial(70, 0.5, size=100):  # one run each
        texts = shares(int(valid), int(valid))
        failed["with"] += run(*texts, samples={1.0: SILENT}).verdict == "fail"
        given_stats = {1.0: Calibration(0.0, math.sqrt(13 / 392), 3)}
        failed["without"] += run(*texts, calibrations=given_stats).verdict == "fail"
    assert failed["with"] == 0
    assert 70 <= failed["without"] <= 90


SAMPLES = st.dictionaries(
    st.floats(0.01, 16),
    st.integers(1, 5).flatmap(
        lambda cases: st.builds(
            NullSample, st.lists(st.integers(0, cases), min_size=1, max_size=3).map(tuple), st.just(cases)
        )
    ),
    max_size=3,
)
LIMITS = st.builds(
    Limits,
    st.floats(-1, 1),
    st.floats(0, 1),
    st.floats(-9, 9),
    st.none() | st.floats(0, 1),
    st.none() | st.floats(0, 1),
)
READINGS = st.builds(came_out, outcomes, strict_valid=st.booleans(), arguments_correct=st.none() | st.booleans())
TRIALS = st.lists(st.builds(Trial, READINGS, READINGS, st.booleans()), max_size=8)


@given(TRIALS, SAMPLES, LIMITS, LIMITS)
def test_what_a_report_keeps_of_the_null_adapters_is_enough_to_judge_again_with_other_limits(
    trials, samples, first, second
):
    kept = json.loads(judge(trials, samples=samples, limits=first).evidence.model_dump_json())
    read_back = by_multiplier(Evidence.model_validate(kept).null.samples)
    assert read_back == samples
    assert judge(trials, samples=read_back, limits=second) == judge(trials, samples=samples, limits=second)


def test_rank_multipliers_that_look_alike_are_kept_apart():
    samples = {1.0: SILENT, 1.001: NullSample((1, 1, 1), 2), 1e-05: NullSample((2, 2, 2), 2), 2: SILENT}
    kept = run([GOOD], [GOOD], samples=samples).evidence.null.samples
    assert list(kept) == ["rank_1.00", "rank_1.001", "rank_1e-05", "rank_2.00"]
    assert by_multiplier(kept) == samples


def test_other_limits_may_make_null_adapters_say_more_or_less():
    # (1 - 1/6) / sqrt(33/392) = 2.872 is all that a perfect adapter can reach.
    trials, samples = trials_of([GOOD] * 4, [GOOD] * 4), {1.0: NullSample((0, 0, 1), 2)}
    strict, mild = (judge(trials, samples=samples, limits=Limits(assert_z_gte=floor)) for floor in (2.9, 2.8))
    assert (strict.z_score, strict.evidence.null.usable) == (None, False)
    assert (mild.z_score, mild.evidence.null.usable) == (pytest.approx(2.872, abs=1e-3), True)
    assert strict.evidence.null.samples == mild.evidence.null.samples == {"rank_1.00": samples[1.0]}


# Evidence


def test_the_evidence_carries_the_names_of_the_report():
    judgement = run([GOOD, BAD], [GOOD, GOOD], calibrations={1.0: NULLS, 0.5: NULLS})
    evidence = judgement.evidence.model_dump(exclude={"paired", "power", "certainty"})
    z = pytest.approx(4.5)
    assert {name: value for name, value in evidence.items() if value is not None} == {
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
            "rates": (0.1, 0.1, 0.1),
            "usable": True,
            "why": None,
            "base_z": pytest.approx(2.0),
            "p_value": None,
            "on": None,
            "match": None,
            "samples": {},
        },
        "outcomes": {"base": {"valid": 1, "no_call": 1}, "ft": {"valid": 2}},
        "transitions": {"valid": {"valid": 1}, "no_call": {"valid": 1}},
        "grade": "may_be_chance",
        "hallucination_rate_base": 0.0,
        "limits": asdict(Limits()),
        "subject": "adapter",
        "other_model": False,
        "weight": 1.0,
    }


def test_the_limits_that_were_judged_by_stand_in_the_evidence():
    limits = Limits(-1.0, 0.5, 2.0, 0.25, 0.75)
    assert run([GOOD], [GOOD], limits=limits).evidence.limits == limits


def test_outcomes_transitions_and_paired_tests_tell_what_changed():
    base, ft = [GOOD] * 9 + [BAD], [GOOD] * 3 + [OTHER] * 7
    evidence = run(base, ft).evidence
    assert evidence.outcomes == {"base": {"valid": 9, "no_call": 1}, "ft": {"wrong_tool": 7, "valid": 3}}
    assert evidence.transitions == {"valid": {"wrong_tool": 6, "valid": 3}, "no_call": {"wrong_tool": 1}}
    validity, exact = evidence.paired.validity, evidence.paired.exact_call
    assert validity.counts == (9, 0, 1, 0)
    assert exact.counts == (3, 6, 0, 1)
    assert exact.mcnemar_p == pytest.approx(2 / 2**6)
    low, high = exact.interval_95
    assert low < exact.delta == -0.6 < high < 0


def test_ten_cases_cannot_exclude_a_drop_of_five_points_and_say_how_many_could():
    power = run([GOOD] * 10, [GOOD] * 10).evidence.power
    assert power.inconclusive is True
    assert (power.cases_even_odds, power.cases_needed) == (73, 325)
    assert power.detectable_drop == detectable_drop(10, 10)
    assert run([GOOD] * 73, [GOOD] * 73).evidence.power.inconclusive is False


def test_without_cases_nothing_is_said_of_change_or_power():
    evidence = judge([]).evidence
    assert (evidence.outcomes, evidence.transitions) == ({"base": {}, "ft": {}}, {})
    assert evidence.paired.validity.counts == (0, 0, 0, 0)
    assert evidence.paired.validity.interval_95 is evidence.power.detectable_drop is evidence.power.cases_needed is None
    assert evidence.power.inconclusive is False


def changes(pairs):
    evidence = judge([Trial(came_out(base), came_out(ft)) for base, ft in pairs]).evidence
    return evidence.outcomes, evidence.transitions


def test_the_bases_own_wrong_names_are_told_beside_the_adapters():
    evidence = run([OTHER, GOOD, GOOD, BAD], [OTHER, OTHER, GOOD, GOOD]).evidence
    assert (evidence.hallucination_rate_base, evidence.hallucination_rate) == (1 / 3, 1 / 2)
    assert run([BAD], [GOOD]).evidence.hallucination_rate_base is None


def test_measured_flips_stand_in_the_evidence_and_make_the_chance_of_a_fail():
    flips = Flips(answers=0.5, outcomes=0.25, cases=4, width=1)
    evidence = run([GOOD] * 12, [GOOD] * 12, flips=flips).evidence
    assert (evidence.flips, evidence.power.flip_rate) == (flips, 0.3)
    assert evidence.power.chance_of_fail == pytest.approx(1 - 0.7**12)
    assert run([GOOD], [GOOD]).evidence.flips is None


def test_outcomes_are_counted_the_most_frequent_first():
    counts, _ = changes([("no_call", "valid"), ("valid", "malformed"), ("valid", "malformed")])
    assert list(counts["base"].items()) == [("valid", 2), ("no_call", 1)]
    assert list(counts["ft"].items()) == [("malformed", 2), ("valid", 1)]


def test_transitions_say_what_became_of_each_outcome():
    base = ["valid", "valid", "valid", "malformed", "no_call"]
    ft = ["valid", "malformed", "valid", "valid", "no_call"]
    _, transitions = changes(zip(base, ft, strict=True))
    assert transitions == {
        "valid": {"valid": 2, "malformed": 1},
        "malformed": {"valid": 1},
        "no_call": {"no_call": 1},
    }


@given(st.lists(st.tuples(outcomes, outcomes)))
def test_transitions_add_up_to_the_counts_of_both_views(pairs):
    counts, table = changes(pairs)
    afterwards = {became for _, became in pairs}
    assert {was: sum(row.values()) for was, row in table.items()} == counts["base"]
    assert {became: sum(row.get(became, 0) for row in table.values()) for became in afterwards} == counts["ft"]
    assert all(number > 0 for row in table.values() for number in row.values())


# Rates


def test_rates_over_cases_pairs_and_valid_calls():
    rates = measure(trials_of([call(), call(), call(), BAD], [call(a=2), call("invented"), BAD, BAD]))
    assert rates.json_valid_rate_base == 3 / 4
    assert rates.json_valid_rate_ft == 2 / 4
    assert rates.validity_delta == -1 / 4
    # Two pairs: one differs in one of two leaves; the name is not an argument.
    assert (rates.mean_arg_disagreement, rates.num_arg_pairs_compared) == (1 / 4, 2)
    assert rates.hallucination_rate == 1 / 2
    assert rates.num_cases == 4


def test_nothing_to_compare_is_no_disagreement_and_no_hallucination():
    rates = measure(trials_of([call(), BAD], [BAD, call()]))
    assert (rates.mean_arg_disagreement, rates.num_arg_pairs_compared) == (0.0, 0)
    assert measure(trials_of([call()], [BAD])).hallucination_rate == 0.0


def test_without_cases_a_valid_rate_is_undefined():
    rates = measure([])
    assert rates.json_valid_rate_base is rates.json_valid_rate_ft is rates.validity_delta is None
    assert rates.num_cases == 0


# Numbers that are not finite


def measured(monkeypatch, **changes):
    """From here on the rates are these, whatever was answered."""
    sound = {"json_valid_rate_base": 0.8, "json_valid_rate_ft": 0.8, "validity_delta": 0.0, "num_cases": 5}
    none = {"mean_arg_disagreement": 0.0, "hallucination_rate": 0.1, "num_arg_pairs_compared": 0}
    rates = Evidence.model_construct(**{**sound, **none, **changes})
    monkeypatch.setattr("loracheck.scoring.verdict.measure", lambda _asked: rates)


def test_finite_numbers_pass_untouched(monkeypatch):
    measured(monkeypatch)
    judgement = run([GOOD], [GOOD], calibrations={1.0: NULLS})
    assert (judgement.verdict, judgement.raw, judgement.ft_value) == ("pass", 0.8, 0.8)
    assert judgement.evidence.non_finite_inputs is judgement.evidence.defensively_nulled is None


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_raw_value_that_is_not_finite_is_an_error_without_numbers(monkeypatch, bad):
    measured(monkeypatch, json_valid_rate_ft=bad)
    judgement = run([GOOD], [GOOD])
    assert judgement.verdict == "error"
    assert {judgement.score, judgement.raw, judgement.z_score, judgement.ci_95} == {None}
    assert {judgement.base_value, judgement.ft_value} == {None}
    assert judgement.evidence.non_finite_inputs == {
        "score": 0.9,
        "raw": repr(bad),
        "z_score": None,
        "base_value": 0.8,
        "ft_value": repr(bad),
        "ci_95": (1.0, 1.0),
    }
    assert judgement.evidence.defensively_nulled == ("json_valid_rate_ft",)
    assert judgement.message == f"the valid rate is {bad}, not a finite number"
    assert json.loads(judgement.evidence.model_dump_json())["non_finite_inputs"]["raw"] == repr(bad)


def test_any_other_number_that_is_not_finite_is_nulled_and_named(monkeypatch):
    measured(monkeypatch, json_valid_rate_base=math.inf)
    monkeypatch.setattr("loracheck.scoring.statistics.bootstrap_ci_95", lambda *_: (0.5, math.nan))
    judgement = run([GOOD], [GOOD], calibrations={1.0: Calibration(math.nan, 0.1, 1, (math.inf,)), 2.0: NULLS})
    assert (judgement.verdict, judgement.score, judgement.raw) == ("pass", 0.9, 0.8)
    assert judgement.base_value is judgement.ci_95 is None
    evidence = judgement.evidence
    assert evidence.validity_delta == 0.0
    assert evidence.json_valid_rate_base is evidence.null.mean is evidence.null.rates is None
    assert (evidence.null.std, evidence.null.n) == (0.1, 1)
    assert evidence.defensively_nulled == ("base_value", "ci_95", "json_valid_rate_base", "null.mean", "null.rates")
    json.dumps(evidence.model_dump(), allow_nan=False)


def test_a_z_too_large_for_a_float_decides_and_is_then_nulled():
    absurd = Calibration(1e308, 1e-6, 3)
    judgement = run([GOOD], [GOOD], calibrations={1.0: absurd})
    assert (judgement.verdict, judgement.z_score) == ("fail", None)
    assert judgement.score == pytest.approx(0.7)
    assert judgement.evidence.defensively_nulled == (
        "z_score",
        "z_by_rank.rank_1.00",
        "null.base_z",
        "certainty.assert_z_gte.interval_95",
    )
    assert judgement.evidence.z_by_rank == {"rank_1.00": None}


def test_what_is_handed_in_is_not_changed():
    trials, calibrations, samples = trials_of([GOOD], [BAD]), {1.0: Calibration(math.nan, 0.1, 3)}, {1.0: SILENT}
    judge(trials, calibrations=calibrations, samples=samples)
    assert trials == trials_of([GOOD], [BAD])
    assert list(calibrations) == list(samples) == [1.0]
    assert math.isnan(calibrations[1.0].mean)
    assert samples[1.0] == NullSample((0, 0, 0), 2)


# Anything at all

CALIBRATIONS = st.builds(
    Calibration,
    st.none() | st.floats(),
    st.none() | st.floats(),
    st.integers(0, 10),
    usable=st.booleans(),
)


@given(
    st.lists(
        st.tuples(JSON_WITH_NAN, MODEL_TEXT | st.just(GOOD), MODEL_TEXT | st.just(GOOD)),
        max_size=6,
    ),
    st.dictionaries(st.sampled_from([0.5, 1.0, 2.0]), CALIBRATIONS),
    st.none() | st.lists(st.sampled_from(["t", "search_web"])),
)
def test_any_answers_get_a_verdict_that_is_plain_json(rows, calibrations, allowed):
    trials = [
        Trial(*(read_answer(Expectation(spec, "t"), Answer(text), allowed) for text in texts)) for spec, *texts in rows
    ]
    judgement = judge(trials, calibrations=calibrations)
    json.dumps(judgement.evidence.model_dump(), allow_nan=False)
    assert Evidence.model_validate_json(judgement.evidence.model_dump_json()) == judgement.evidence
    if not rows:
        assert (judgement.verdict, judgement.score) == ("skip", None)
        return
    assert judgement.verdict in ("pass", "fail")
    assert judgement.score is not None
    assert 0 <= judgement.score <= 1
    assert judgement.raw == sum(trial.ft.valid for trial in trials) / len(rows)
    assert judgement.ci_95 is not None
    assert 0 <= judgement.ci_95[0] <= judgement.ci_95[1] <= 1
    assert (judgement.verdict == "fail") is ("missed:" in judgement.message)


@given(st.lists(MODEL_TEXT | st.sampled_from([GOOD, OTHER]), min_size=1, max_size=6))
def test_an_adapter_that_answers_as_its_base_loses_no_validity(texts):
    judgement = run(texts, texts, limits=Limits(assert_hallucination_lte=1.0))
    assert (judgement.verdict, judgement.evidence.validity_delta) == ("pass", 0.0)


@given(TRIALS, SAMPLES, LIMITS)
def test_the_verdict_is_what_the_checks_in_the_evidence_say(trials, samples, limits):
    judgement = judge(trials, samples=samples, limits=limits)
    kept = {check.kept for check in judgement.evidence.checks(judgement.z_score).values()}
    assert judgement.verdict == ("fail" if False in kept else "pass" if True in kept else "skip")
    assert judgement.message.count("missed") == (judgement.verdict == "fail")
