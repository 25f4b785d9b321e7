import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from loracheck.scoring import Evidence, Limits, NullSample, Trial, judge
from loracheck.scoring.evidence import (
    Abstention,
    Certainty,
    Cost,
    DialectUse,
    Drift,
    Flips,
    Moved,
    NullStats,
    Power,
    SeveralCalls,
    Split,
    TemplatesDiffer,
)
from loracheck.scoring.paired_test import PairedTest
from loracheck.scoring.several import ExpectedCall, match_calls
from loracheck.scoring.tries import CaseTries, Tries

from .json_values import JSON_WITH_NAN
from .readings import came_out

NOTHING = Evidence()
EVERY_LIMIT = Limits(-1.0, 0.5, 2.0, 0.25, 0.75, 0.5, -0.5)
MOVED = {
    "case": "c1", "position": 0, "token": "a", "kind": "value", "kl": 1.5, "base_top": "a", "ft_top": "b",
}  # fmt: skip


def at(evidence, path):
    for name in path.split("."):
        evidence = getattr(evidence, name)
    return evidence


def inside(path, value):
    """The value at a dotted place, as JSON would have it."""
    for name in reversed(path.split(".")):
        value = {name: value}
    return value


def whole():
    """Evidence with every part filled in."""
    matched = match_calls([ExpectedCall("t")], [{"name": "t", "arguments": {}}])
    valid = came_out("valid", strict_valid=True, arguments_correct=True, matched=matched)
    silent = came_out("no_call", matched=match_calls([ExpectedCall("t")], []))
    tried = CaseTries("c1", (valid, valid), (valid, silent))
    trials = [Trial(valid, valid, tries=tried), Trial(valid, silent), Trial(silent, silent, expects_call=False)]
    samples = {0.5: NullSample((0, 1), 4), 1.0: NullSample((0, 0), 4)}
    flips = Flips(answers=0.5, outcomes=0.25, cases=4, width=2)
    judged = judge(
        trials, samples=samples, limits=EVERY_LIMIT, flips=flips, nulls_on_cases=True, subject="candidate"
    ).evidence
    return judged.model_copy(
        update={
            "null": judged.null.model_copy(update={"on": "sentinels", "match": "scale"}),
            "drift": Drift(cases=1, positions=2, kl_format=0.5, changed_format=1.0, moved=(Moved(**MOVED),)),
            "dialect": DialectUse(name="json", title="plain JSON", why="told so", ft_drift={"hermes": 2}, message="m"),
            "other_model": True,
            "split": Split(both=Cost(num_cases=2, validity_delta=-0.5)),
            "no_drift": "the vocabularies differ",
            "templates": TemplatesDiffer(prompts=1, cases=2, case="a", position=3, base="x", ft="y"),
            "weight": 2.0,
            "allowed_tools": ("a", "b"),
            "non_finite_inputs": {"raw": "nan", "score": 0.5},
            "defensively_nulled": ("z_score",),
        }
    )


def test_nothing_at_all_is_evidence_of_nothing():
    assert Evidence.model_validate({}) == NOTHING
    assert (NOTHING.null, NOTHING.limits, NOTHING.weight) == (NullStats(), Limits(), 1.0)
    assert NOTHING.paired.validity is NOTHING.drift is NOTHING.abstention is None


NUMBERS = [
    "json_valid_rate_ft", "validity_delta", "hallucination_rate", "null.mean", "null.p_value", "null.base_z",
    "power.detectable_drop", "power.chance_of_fail", "power.flip_rate", "hallucination_rate_base",
    "exact_arguments_ft", "weight", "limits.assert_z_gte", "limits.assert_exact_arguments_gte",
]  # fmt: skip


@pytest.mark.parametrize("path", NUMBERS)
@pytest.mark.parametrize("value", ["0.5", "", True, False, [0.5], {}, math.nan, math.inf, -math.inf, 10**400, None])
def test_what_is_no_finite_number_counts_as_not_there(path, value):
    assert Evidence.model_validate(inside(path, value)) == NOTHING


@pytest.mark.parametrize("path", NUMBERS)
@pytest.mark.parametrize("value", [0.25, 7, 0])
def test_whole_numbers_are_numbers_too(path, value):
    assert at(Evidence.model_validate(inside(path, value)), path) == value


@pytest.mark.parametrize(
    "path", ["num_cases", "num_arg_pairs_compared", "null.n", "power.cases_needed", "power.fails_from"]
)
@pytest.mark.parametrize("value", ["3", True, 3.0, 3.5, -1, 2**63, math.nan, [3], {}, None])
def test_what_is_no_count_counts_as_not_there(path, value):
    assert Evidence.model_validate(inside(path, value)) == NOTHING
    assert at(Evidence.model_validate(inside(path, 3)), path) == 3


@pytest.mark.parametrize("path", ["null.usable", "power.inconclusive"])
@pytest.mark.parametrize("value", ["true", "yes", "on", 1, 1.0, [True], None])
def test_only_true_is_true(path, value):
    assert Evidence.model_validate(inside(path, value)) == NOTHING
    assert at(Evidence.model_validate(inside(path, True)), path) is True


@pytest.mark.parametrize("path", ["null.why", "null.on", "null.match", "allowed_tools", "defensively_nulled"])
@pytest.mark.parametrize("value", [3, 3.5, True, {}, [3], None])
def test_what_is_no_text_counts_as_not_there(path, value):
    assert Evidence.model_validate(inside(path, value)) == NOTHING


@pytest.mark.parametrize("text", ["a", "ab"])
def test_a_text_is_no_list_of_texts(text):
    assert Evidence.model_validate({"allowed_tools": text, "defensively_nulled": text}) == NOTHING


@pytest.mark.parametrize(
    "part",
    ["null", "paired", "power", "strict", "abstention", "limits", "drift", "dialect", "flips", "certainty", "tries"],
)
@pytest.mark.parametrize("value", [None, 3, "x", [], [1, 2], True, math.nan])
def test_a_part_of_another_kind_counts_as_not_there(part, value):
    assert Evidence.model_validate({part: value}) == NOTHING


@pytest.mark.parametrize("part", ["outcomes", "transitions", "z_by_rank", "non_finite_inputs"])
@pytest.mark.parametrize("value", [3, "x", [1], True])
def test_a_table_of_another_kind_counts_as_not_there(part, value):
    assert Evidence.model_validate({part: value}) == NOTHING


@pytest.mark.parametrize("counts", [{"valid": "2"}, {"valid": True}, {"valid": -1}, {"valid": 0.5}, 3, None])
def test_a_table_that_does_not_count_counts_as_not_there(counts):
    assert Evidence.model_validate({"outcomes": {"base": {"valid": 2}, "ft": counts}}) == NOTHING


def test_the_rest_of_a_part_outlives_a_value_that_cannot_be_read():
    evidence = Evidence.model_validate(
        {
            "validity_delta": "a lot",
            "num_cases": 4,
            "null": {"mean": 0.25, "std": "wide", "rates": [0.25, True], "n": 2},
            "abstention": {"cases": "few", "base": 1, "ft": 0.5},
            "power": {"inconclusive": "perhaps", "cases_needed": 73},
        }
    )
    assert (evidence.validity_delta, evidence.num_cases) == (None, 4)
    assert (evidence.null.mean, evidence.null.std, evidence.null.rates, evidence.null.n) == (0.25, None, (), 2)
    assert evidence.abstention == Abstention(cases=None, base=1.0, ft=0.5)
    assert evidence.power == Power(inconclusive=False, cases_needed=73)


@pytest.mark.parametrize("share", ["0.5", True, -0.1, 1.5, math.nan, [0.5]])
def test_flips_are_shares_of_all_answers(share):
    assert Evidence.model_validate({"flips": {"answers": share, "outcomes": share, "cases": 3}}).flips == Flips(cases=3)


def test_flips_seen_in_a_few_cases_are_neither_never_nor_always():
    assert Flips(outcomes=0.0, cases=9).rate == 0.05
    assert Flips(outcomes=1.0, cases=9).rate == 0.95
    assert Flips(outcomes=0.5).rate is Flips(cases=9).rate is None


@pytest.mark.parametrize("grade", ["sure", "", 1, None, ["established"]])
def test_a_grade_that_nobody_knows_counts_as_not_there(grade):
    assert Evidence.model_validate({"grade": grade, "certainty": {"x": {"grade": grade}}}) == NOTHING.model_copy(
        update={"certainty": {"x": Certainty()}}
    )


@pytest.mark.parametrize(
    ("rates", "nothing"),
    [((0.0, 0.0, 4), True), ((0.0, 0.25, 4), False), ((0.25, 0.0, 4), False), ((None, None, 0), False)],
)
def test_nothing_is_compared_where_neither_view_makes_a_valid_call(rates, nothing):
    base, ft, cases = rates
    assert Evidence(json_valid_rate_base=base, json_valid_rate_ft=ft, num_cases=cases).compares_nothing is nothing


def test_limits_are_those_in_the_file_or_all_of_them_the_usual_ones():
    limits = {"assert_validity_delta_gte": -0.5, "assert_abstention_gte": 0.75, "assert_new": "high"}
    assert Evidence.model_validate({"limits": limits}).limits == Limits(-0.5, assert_abstention_gte=0.75)
    assert Evidence.model_validate({"limits": {**limits, "assert_z_gte": "high"}}) == NOTHING


@pytest.mark.parametrize("missing", ["both", "lost", "gained", "neither"])
@pytest.mark.parametrize("value", [..., "2", True, -1, None])
def test_a_paired_test_without_all_its_counts_is_none(missing, value):
    test = {"both": 1, "lost": 2, "gained": 3, "neither": 4, "delta": 0.1, "interval_95": [0.0, 0.2]}
    evidence = Evidence.model_validate({"paired": {"validity": {**test, "mcnemar_p": "low"}, "exact_call": test}})
    assert evidence.paired.exact_call == PairedTest(**test)
    assert (evidence.paired.validity.counts, evidence.paired.validity.n) == ((1, 2, 3, 4), 10)
    assert evidence.paired.validity.mcnemar_p is None
    broken = {name: count for name, count in {**test, missing: value}.items() if count is not ...}
    assert Evidence.model_validate({"paired": {"validity": broken, "exact_call": broken}}) == NOTHING


@pytest.mark.parametrize("interval", [[0.1], [0.1, 0.2, 0.3], [0.1, math.nan], ["0", "1"], 0.1, "01", {"low": 0}])
def test_an_interval_has_two_numbers(interval):
    test = {"both": 1, "lost": 0, "gained": 0, "neither": 0, "interval_95": interval}
    assert Evidence.model_validate({"paired": {"validity": test}}).paired.validity.interval_95 is None


@pytest.mark.parametrize(
    "change", [{"kind": "other"}, {"kl": math.nan}, {"position": -1}, {"token": 3}, {"case": None}]
)
def test_places_that_cannot_be_read_are_not_shown(change):
    assert Evidence.model_validate({"drift": {"moved": [MOVED]}}).drift.moved == (Moved(**MOVED),)
    assert Evidence.model_validate({"drift": {"cases": 3, "moved": [{**MOVED, **change}]}}).drift == Drift(cases=3)


@pytest.mark.parametrize(
    "samples",
    [
        [],
        {"rank_1.00": [0, 0]},
        {"rank_1.00": {"valid": [0, 0]}},
        {"rank_1.00": {"cases": 2}},
        {"rank_1.00": {"valid": ["0"], "cases": 2}},
        {"rank_1.00": {"valid": [True], "cases": 2}},
        {"rank_1.00": {"valid": [0.0], "cases": 2}},
        {"rank_1.00": {"valid": [-1], "cases": 2}},
        {"rank_1.00": {"valid": [3], "cases": 2}},
        {"rank_1.00": {"valid": [1], "cases": True}},
        {"rank_1.00": {"valid": 1, "cases": 2}},
        {"rank_inf": {"valid": [0], "cases": 2}},
        {"rank_": {"valid": [0], "cases": 2}},
        {"own": {"valid": [0], "cases": 2}},
        {"rank_nan": {"valid": [0], "cases": 2}},
        {"rank_-1.00": {"valid": [0], "cases": 2}},
    ],
)
def test_samples_that_nobody_could_judge_by_count_as_not_there(samples):
    assert Evidence.model_validate({"null": {"samples": samples}}) == NOTHING
    sound = {"rank_1.00": {"valid": [0, 2], "cases": 2, "new": "x"}}
    assert Evidence.model_validate({"null": {"samples": sound}}).null.samples == {"rank_1.00": NullSample((0, 2), 2)}


def test_what_a_newer_loracheck_adds_is_let_be():
    data = json.loads(whole().model_dump_json())
    paired, drift = data["paired"], data["drift"]
    parts = (data["null"], data["power"], data["limits"], data["dialect"], data["abstention"], data["strict"])
    for part in (data, paired, paired["validity"], drift, drift["moved"][0], *parts):
        part["new"] = {"more": [1]}
    assert Evidence.model_validate(data) == whole()
    assert "new" not in Evidence.model_validate(data).model_dump()


@pytest.mark.parametrize("name", list(Evidence.model_fields))
def test_an_older_file_may_lack_any_part(name):
    data = json.loads(whole().model_dump_json())
    del data[name]
    evidence = Evidence.model_validate(data)
    assert getattr(evidence, name) == getattr(NOTHING, name)
    assert evidence.model_dump(exclude={name}) == whole().model_dump(exclude={name})


def test_evidence_survives_the_way_through_json():
    evidence = whole()
    assert all(getattr(evidence, name) != getattr(NOTHING, name) for name in Evidence.model_fields)
    assert Evidence.model_validate_json(evidence.model_dump_json()) == evidence
    plain = json.loads(json.dumps(evidence.model_dump(mode="json"), allow_nan=False))
    assert Evidence.model_validate(plain) == evidence
    assert list(plain) == list(Evidence.model_fields)


def test_evidence_cannot_be_changed():
    with pytest.raises(ValidationError, match="frozen"):
        Evidence().num_cases = 3


@given(st.dictionaries(st.sampled_from(list(Evidence.model_fields)), JSON_WITH_NAN))
def test_any_values_at_all_are_read_and_can_be_judged_and_written(data):
    evidence = Evidence.model_validate(data)
    assert set(evidence.checks(None)) == set(NOTHING.checks(None))
    written = evidence.model_dump(mode="json", exclude={"non_finite_inputs"})
    json.dumps(written, allow_nan=False)
    assert Evidence.model_validate(written) == evidence.model_copy(update={"non_finite_inputs": None})


# Checks


def test_the_checks_hold_each_number_against_its_limit():
    evidence = Evidence(
        validity_delta=-0.25,
        hallucination_rate=0.25,
        exact_arguments_ft=0.25,
        abstention=Abstention(cases=4, base=1.0, ft=0.5),
        several=SeveralCalls(cases=4, right_base=1.0, right_ft=0.25),
        tries=Tries(cases=4, tries=2, all_right=PairedTest(both=3, lost=1, gained=0, neither=0, delta=-0.25)),
        limits=EVERY_LIMIT,
    )
    assert {name: (check.value, check.bound, check.kept) for name, check in evidence.checks(1.5).items()} == {
        "assert_validity_delta_gte": (-0.25, -1.0, True),
        "assert_hallucination_lte": (0.25, 0.5, True),
        "assert_z_gte": (1.5, 2.0, False),
        "assert_exact_arguments_gte": (0.25, 0.25, True),
        "assert_abstention_gte": (0.5, 0.75, False),
        "assert_all_calls_gte": (0.25, 0.5, False),
        "assert_pass_hat_k_delta_gte": (-0.25, -0.5, True),
    }
    assert evidence.checks(None)["assert_z_gte"].kept is None


def test_nothing_is_judged_where_nothing_is_known():
    assert {check.kept for check in NOTHING.checks(None).values()} == {None}


def test_a_rate_of_wrong_names_without_a_case_that_asks_for_a_call_is_not_judged():
    assert Evidence(hallucination_rate=0.0).checks(None)["assert_hallucination_lte"].kept is None


def test_the_checks_of_a_judgement_read_back_are_those_it_was_judged_by():
    evidence = whole()
    read_back = Evidence.model_validate_json(evidence.model_dump_json())
    assert read_back.checks(0.5) == evidence.checks(0.5)
    assert [check.kept for check in read_back.checks(0.5).values()] == [True, True, False, True, True, True, False]
