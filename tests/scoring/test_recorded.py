import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linear_time import takes_linear_time
from loracheck.scoring import score_recorded

from .json_values import JSON_WITH_NAN

GOOD = '{"name": "t", "arguments": {"a": 1}}'


def line(**changes):
    case = {"prompt": "p", "tool_spec": {"name": "t"}, "gold_tool_name": "t"}
    recorded = {
        "cases": [case],
        "base_outputs": [GOOD],
        "ft_outputs": [GOOD],
        "null_stats": {"mean": 0.1, "std": 0.2, "n": 3.0},
        "seed": 0,
        "allowed_tools": None,
    }
    return {**recorded, **changes}


def test_a_recorded_run_gets_a_flat_result():
    assert score_recorded(line()) == {
        "verdict": "pass",
        "score": pytest.approx(0.7 + 0.3 / (1 + math.exp(-1.5))),
        "raw": 1.0,
        "z_score": pytest.approx(4.5),
        "base_value": 1.0,
        "ft_value": 1.0,
        "json_valid_rate_base": 1.0,
        "json_valid_rate_ft": 1.0,
        "validity_delta": 0.0,
        "mean_arg_disagreement": 0.0,
        "hallucination_rate": 0.0,
        "num_cases": 1,
        "num_arg_pairs_compared": 1,
        "ci_95": [1.0, 1.0],
    }


def test_null_statistics_are_taken_as_given_even_when_no_adapter_could_reach_the_limit():
    result = score_recorded(line(null_stats={"mean": 0.9, "std": 0.5, "n": 3}))
    assert (result["verdict"], result["z_score"]) == ("fail", pytest.approx(0.2))


def test_each_limit_is_read():
    weak = {"mean": 0.9, "std": 0.5}
    assert score_recorded(line(null_stats=weak, assert_z_gte=0))["verdict"] == "pass"
    assert score_recorded(line(assert_validity_delta_gte=0.1))["verdict"] == "fail"
    wrong = line(allowed_tools=[])
    assert score_recorded(wrong)["verdict"] == "fail"
    assert score_recorded({**wrong, "assert_hallucination_lte": 1})["verdict"] == "pass"


def test_what_a_line_expects_is_not_looked_at():
    assert score_recorded(line(expect=7)) == score_recorded(line())


def test_no_cases_are_skipped():
    result = score_recorded(line(cases=[], base_outputs=[], ft_outputs=[]))
    assert (result["verdict"], result["score"], result["ci_95"]) == ("skip", None, None)


@pytest.mark.parametrize("stats", [None, {"mean": None, "std": None}, {"mean": math.nan, "std": 1}])
def test_missing_or_meaningless_statistics_give_no_z(stats):
    assert score_recorded(line(null_stats=stats))["z_score"] is None


@pytest.mark.parametrize("key", ["null_stats", "seed", "allowed_tools"])
def test_what_may_be_left_out_has_a_default(key):
    whole = line(null_stats=None, seed=0, allowed_tools=None)
    assert score_recorded({name: value for name, value in whole.items() if name != key}) == score_recorded(whole)


@pytest.mark.parametrize("key", ["cases", "base_outputs", "ft_outputs"])
def test_a_missing_key_is_named(key):
    recorded = line()
    del recorded[key]
    with pytest.raises(ValueError, match=f"^{key} is missing$"):
        score_recorded(recorded)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("asert_z_gte", 1, "asert_z_gte is not a known key"),
        ("cases", {}, "cases must be a list"),
        ("cases", [7], "cases[0] must be an object"),
        ("cases", [{"gold_tool_name": "t"}], "cases[0].tool_spec is missing"),
        ("cases", [{"tool_spec": {}}], "cases[0].gold_tool_name is missing"),
        (
            "cases",
            [{"tool_spec": {}, "gold_tool_name": 7}],
            "cases[0].gold_tool_name must be a string or null",
        ),
        ("base_outputs", GOOD, "base_outputs must be a list of strings"),
        ("base_outputs", [], "base_outputs has 0 entries for 1 cases"),
        ("ft_outputs", [GOOD, GOOD], "ft_outputs has 2 entries for 1 cases"),
        ("ft_outputs", [None], "ft_outputs[0] must be a string"),
        ("null_stats", [], "null_stats must be an object or null"),
        ("null_stats", {"std": 1}, "null_stats.mean is missing"),
        ("null_stats", {"mean": "0", "std": 1}, "null_stats.mean must be a number"),
        ("null_stats", {"mean": 0, "std": True}, "null_stats.std must be a number"),
        ("null_stats", {"mean": 10**400, "std": 1}, "null_stats.mean is too large a number"),
        ("null_stats", {"mean": 0, "std": 1, "n": None}, "null_stats.n must be a number"),
        ("seed", -1, "seed must be an integer of 0 or more"),
        ("seed", 1.0, "seed must be an integer of 0 or more"),
        ("seed", True, "seed must be an integer of 0 or more"),
        ("allowed_tools", "t", "allowed_tools must be a list of strings"),
        ("allowed_tools", [7], "allowed_tools[0] must be a string"),
        ("assert_z_gte", None, "assert_z_gte must be a number"),
        ("assert_z_gte", "3", "assert_z_gte must be a number"),
        ("assert_hallucination_lte", True, "assert_hallucination_lte must be a number"),
        (
            "assert_validity_delta_gte",
            math.nan,
            "assert_validity_delta_gte must be a finite number",
        ),
    ],
)
def test_a_malformed_line_is_refused_with_a_plain_sentence(key, value, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011 (the whole message is compared)
        score_recorded(line(**{key: value}))
    assert str(error.value) == message


def test_a_line_must_be_an_object():
    with pytest.raises(ValueError, match="a line must be a JSON object"):
        score_recorded([])  # type: ignore[arg-type]


@given(st.dictionaries(st.sampled_from([*line(), "assert_z_gte", "expect"]), JSON_WITH_NAN))
def test_any_line_gives_a_result_or_a_sentence(changes):
    try:
        verdict_or_key = score_recorded(line(**changes))["verdict"]
    except ValueError as error:
        verdict_or_key = str(error).split(" ")[0].split(".")[0].split("[")[0]
    # A length that does not fit is told of the outputs, whichever of the two was changed.
    assert verdict_or_key in {"pass", "fail", "skip", "base_outputs", "ft_outputs", *changes}


def test_ten_thousand_cases_take_about_four_times_as_long_as_a_quarter():
    def recorded(n):
        outputs = [GOOD if index % 5 else f"Sure! {GOOD} there" for index in range(n)]
        outputs[0] = "no"
        return line(cases=line()["cases"] * n, base_outputs=outputs, ft_outputs=outputs)

    quarter, whole = recorded(2_500), recorded(10_000)
    assert score_recorded(whole)["raw"] == 0.9999
    assert takes_linear_time(lambda: score_recorded(quarter), lambda: score_recorded(whole))
