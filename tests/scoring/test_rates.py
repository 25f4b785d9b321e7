from loracheck.scoring import Answer, Expectation, read_answer
from loracheck.scoring.rates import measure


def readings(*texts):
    case = Expectation({"name": "t"}, "t")
    return [read_answer(case, Answer(text), None) for text in texts]


def call(name="t", a=1):
    return f'{{"name": "{name}", "arguments": {{"a": {a}, "b": 1}}}}'


def test_rates_over_cases_pairs_and_valid_calls():
    base = readings(call(), call(), call(), "no")
    ft = readings(call(a=2), call("invented"), "no", "no")
    rates = measure(base, ft)
    assert rates.json_valid_rate_base == 3 / 4
    assert rates.json_valid_rate_ft == 2 / 4
    assert rates.validity_delta == -1 / 4
    # Two pairs: one differs in one of two leaves; the name is not an argument.
    assert (rates.mean_arg_disagreement, rates.num_arg_pairs_compared) == (1 / 4, 2)
    assert rates.hallucination_rate == 1 / 2
    assert rates.num_cases == 4


def test_nothing_to_compare_is_no_disagreement_and_no_hallucination():
    rates = measure(readings(call(), "no"), readings("no", call()))
    assert (rates.mean_arg_disagreement, rates.num_arg_pairs_compared) == (0.0, 0)
    assert measure(readings(call()), readings("no")).hallucination_rate == 0.0


def test_without_cases_a_valid_rate_is_undefined():
    rates = measure([], [])
    assert rates.json_valid_rate_base is rates.json_valid_rate_ft is rates.validity_delta is None
    assert rates.num_cases == 0
