import json
import random
from dataclasses import replace
from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.scoring import Answer, Expectation, Trial, judge, matches_schema, read_answer
from loracheck.scoring.arguments import arguments_match
from loracheck.scoring.evidence import SeveralCalls
from loracheck.scoring.several import ExpectedCall, Matched, match_calls

from .json_values import JSON, KEYS, nested

SEARCH = {"name": "search", "parameters": {"properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}}}
SORT = {"name": "sort", "parameters": {"properties": {"items": {"type": "array"}}, "required": ["items"]}}
TOOLS = (SEARCH, SORT)


def search(**arguments):
    return {"name": "search", "arguments": arguments}


def wanted(**arguments):
    return ExpectedCall("search", arguments)


def test_calls_are_paired_in_any_order():
    matched = match_calls([wanted(query="a"), wanted(query="b")], [search(query="b"), search(query="a")], TOOLS)
    assert matched == Matched(((0, 1), (1, 0)), (True, True), (), (), right=True)


def test_strict_order_wants_the_sequence_too():
    expected = [wanted(query="a"), wanted(query="b")]
    assert match_calls(expected, [search(query="a"), search(query="b")], TOOLS, "strict").right
    swapped = match_calls(expected, [search(query="b"), search(query="a")], TOOLS, "strict")
    assert swapped == Matched(((0, 1), (1, 0)), (True, True), (), (), right=False)


def test_calls_that_could_be_paired_crosswise_are_in_sequence():
    for expected in permutations([wanted(query=["a", "b"]), wanted(query=["b", "a"])]):
        matched = match_calls(expected, [search(query="a"), search(query="a")], TOOLS, "strict")
        assert (matched.pairs, matched.right) == (((0, 0), (1, 1)), True)


def test_a_choice_leaves_to_another_call_the_only_value_that_fits_it():
    expected = [wanted(query=["Rome", "Roma"]), wanted(query="Rome")]
    for answered in permutations([search(query="Rome"), search(query="Roma")]):
        assert match_calls(expected, answered, TOOLS).right


def test_what_was_not_made_is_missing_and_what_was_not_expected_is_extra():
    expected = [wanted(query="a"), ExpectedCall("sort", {"items": [1]})]
    answered = [search(query="z"), search(query="a"), {"name": "delete", "arguments": {}}]
    assert match_calls(expected, answered, TOOLS) == Matched(((0, 1),), (True,), (1,), (0, 2), right=False)


def test_a_call_too_many_is_wrong_even_if_it_is_a_repetition():
    matched = match_calls([wanted(query="a")], [search(query="a")] * 2, TOOLS)
    assert (matched.right_arguments, matched.extra, matched.right) == ((True,), (1,), False)


def test_a_call_of_the_right_tool_with_wrong_arguments_has_a_partner():
    matched = match_calls([wanted(query="a")], [search(query="b")], TOOLS)
    assert matched == Matched(((0, 0),), (False,), (), (), right=False)
    assert matched.wrong_arguments == 1


def test_the_partner_of_a_call_that_is_right_nowhere_is_the_nearest():
    expected = [wanted(query="a", limit=1), wanted(query="b", limit=2)]
    answered = [search(query="b", limit=3), search(query="a", limit=3)]
    assert match_calls(expected, answered, TOOLS).pairs == ((0, 1), (1, 0))


def test_one_right_call_is_worth_more_than_any_number_of_arguments():
    names = [f"x{number}" for number in range(40)]
    expected = [wanted(**{name: [1, 2] for name in names}), wanted(**dict.fromkeys(names, 1), y=0)]
    # The other way round, each would have but one argument that is not as expected.
    answered = [search(**dict.fromkeys(names, 1)), search(**dict.fromkeys(names, 2), z=0)]
    matched = match_calls(expected, answered, TOOLS)
    assert (matched.pairs, matched.right_arguments) == (((0, 0), (1, 1)), (True, False))


def test_a_call_that_does_not_fit_its_tool_is_not_right():
    for gold in ({"query": 7}, None):
        matched = match_calls([ExpectedCall("search", gold)], [search(query=7)], TOOLS)
        assert matched.right_arguments == (False,)
    assert not match_calls([ExpectedCall("sort", {"items": []})], [{"name": "sort", "arguments": {}}], TOOLS).right


def test_without_expected_arguments_any_that_fit_will_do():
    assert match_calls([ExpectedCall("search")], [search(query="whatever", other=1)], TOOLS).right


def test_the_schema_says_which_list_is_a_choice():
    assert match_calls([wanted(query=["a", None])], [search()], TOOLS).right
    expected = [ExpectedCall("sort", {"items": [1, 2]}), ExpectedCall("sort", {"items": [[2, 1], [1, 2]]})]
    answered = [{"name": "sort", "arguments": {"items": items}} for items in ([1, 2], [2, 1])]
    wrapped = [{"type": "function", "function": tool} for tool in TOOLS]
    assert match_calls(expected, answered, wrapped).right
    assert not match_calls(expected, answered).right


def test_values_that_look_alike_are_compared_each_for_itself():
    for gold, other in [(1, True), (1, "1"), (0, False), ([1], [True]), ({"a": 1}, {"a": "1"}), (None, "None")]:
        expected = [ExpectedCall("f", {"x": [gold]}), ExpectedCall("f", {"x": [other]})]
        answered = [{"name": "f", "arguments": {"x": value}} for value in (gold, other)]
        assert match_calls(expected, answered).pairs == ((0, 0), (1, 1))
        assert match_calls(expected, [answered[1]] * 2).right_arguments.count(True) == 1


@pytest.mark.parametrize(
    "call",
    [
        {},
        {"name": None, "arguments": {}},
        {"name": ["search"], "arguments": {"query": "a"}},
        {"name": "search"},
        {"name": "search", "arguments": "query"},
        {"name": "search", "arguments": nested(100_000)},
        {"name": "search", "arguments": {"query": 1 << 100_000}},
        {"name": "search", "arguments": {"query": float("nan")}},
    ],
)
def test_an_answer_may_hold_anything(call):
    matched = match_calls([wanted(query="a")], [call, search(query="a")], TOOLS)
    assert matched == Matched(((0, 1),), (True,), (), (0,), right=False)


def test_nothing_expected_and_nothing_made_is_right():
    assert match_calls([], [], TOOLS) == Matched((), (), (), (), right=True)
    assert match_calls([], [search(query="a")], TOOLS).extra == (0,)
    assert match_calls([wanted(query="a")], [], TOOLS).missing == (0,)


def test_all_calls_of_an_answer_count():
    text = '<tool_call>{"name": "search", "arguments": {"query": "a"}}</tool_call>' * 2
    case = Expectation(SEARCH, "search", TOOLS, several=(wanted(query="a"),) * 2)
    assert read_answer(case, Answer(text), None, "hermes").matched.right
    assert read_answer(case, Answer("none"), None, "hermes").matched.missing == (0, 1)


def test_the_first_call_may_be_any_of_the_expected_ones_unless_their_order_is_strict():
    case = Expectation(
        SEARCH,
        "search",
        TOOLS,
        accepted_names=("search", "sort"),
        several=(wanted(query="a"), ExpectedCall("sort", {"items": []})),
    )
    text = '{"name": "sort", "arguments": {"items": []}}'
    reading = read_answer(case, Answer(text), None, "json")
    assert (reading.outcome, reading.arguments_correct) == ("valid", True)
    strict = read_answer(replace(case, accepted_names=("search",), order="strict"), Answer(text), None, "json")
    assert strict.outcome == "wrong_tool"


# Few values, so that calls are often nearly alike.
names = st.sampled_from(["f", "g"])
values = st.sampled_from([1, 2, True, "1"])
arguments = st.dictionaries(st.sampled_from(["x", "y"]), values)
golds = st.none() | st.dictionaries(
    st.sampled_from(["x", "y"]), values | st.lists(st.none() | values, min_size=1, max_size=3)
)
expected_calls = st.lists(st.builds(ExpectedCall, names, golds), max_size=4)
answered_calls = st.lists(st.fixed_dictionaries({"name": names, "arguments": arguments}), max_size=4)
TYPED = ({"name": "f", "parameters": {"required": ["x"]}}, {"name": "g"})


def is_right(expected, call):
    spec = TYPED[expected.name == "g"]
    fits = call["name"] == expected.name and matches_schema(call, spec)
    return fits and (
        expected.arguments is None or arguments_match(expected.arguments, call["arguments"], spec.get("parameters"))
    )


def differing(expected, call):
    if expected.arguments is None:
        return 0
    gold, given = expected.arguments, call["arguments"]
    parts = [({name: gold[name]} if name in gold else {}, name) for name in gold.keys() | given.keys()]
    return sum(not arguments_match(part, {name: given[name]} if name in given else {}, {}) for part, name in parts)


def quality(expected, answered, pairs):
    """The better, the greater."""
    both = [(expected[here], answered[there]) for here, there in pairs]
    return sum(is_right(*one) for one in both), len(both), -sum(differing(*one) for one in both)


def every_pairing(expected, answered):
    for size in range(min(len(expected), len(answered)) + 1):
        for ours in combinations(range(len(expected)), size):
            for theirs in permutations(range(len(answered)), size):
                pairs = list(zip(ours, theirs, strict=True))
                if all(expected[here].name == answered[there]["name"] for here, there in pairs):
                    yield pairs


@given(expected_calls, answered_calls)
def test_no_pairing_is_better(expected, answered):
    matched = match_calls(expected, answered, TYPED)
    best = max(quality(expected, answered, pairs) for pairs in every_pairing(expected, answered))
    assert quality(expected, answered, matched.pairs) == best
    assert matched.right_arguments == tuple(is_right(expected[here], answered[there]) for here, there in matched.pairs)
    assert matched.right == (best[0] == len(expected) == len(answered))


@given(expected_calls, answered_calls)
def test_each_call_is_in_one_place(expected, answered):
    matched = match_calls(expected, answered, TYPED)
    assert sorted([*matched.missing, *(here for here, _ in matched.pairs)]) == list(range(len(expected)))
    assert sorted([*matched.extra, *(there for _, there in matched.pairs)]) == list(range(len(answered)))


def contents(matched, expected, answered):
    """What was made of each call, whatever its place and the order of its arguments."""
    wants = [json.dumps([call.name, call.arguments], sort_keys=True) for call in expected]
    calls = [json.dumps(call, sort_keys=True) for call in answered]
    pairs = [(wants[here], calls[there]) for here, there in matched.pairs]
    return (
        sorted(zip(pairs, matched.right_arguments, strict=True)),
        sorted(wants[here] for here in matched.missing),
        sorted(calls[there] for there in matched.extra),
    )


@given(expected_calls, answered_calls, st.integers(0, 999))
def test_the_order_changes_nothing_but_the_places(expected, answered, seed):
    matched = match_calls(expected, answered, TYPED)
    shuffle = random.Random(seed)
    wants, calls = (shuffle.sample(side, len(side)) for side in (expected, answered))
    again = match_calls(wants, calls, TYPED)
    assert contents(again, wants, calls) == contents(matched, expected, answered)
    assert again.right == matched.right


def test_which_of_several_calls_that_are_all_as_far_off_is_missing_or_extra_does_not_depend_on_the_order():
    ours = [ExpectedCall("g", {"x": value}) for value in (1, 2, 3)]
    theirs = [{"name": "g", "arguments": {"x": value}} for value in (7, 8, 9)]
    for expected, answered in ((ours, theirs), (ours, theirs[:2]), (ours[:2], theirs)):
        orders = [(wants, calls) for wants in permutations(expected) for calls in permutations(answered)]
        made = {json.dumps(contents(match_calls(wants, calls), wants, calls)) for wants, calls in orders}
        assert len(made) == 1


@given(expected_calls, answered_calls)
def test_strict_order_is_right_only_call_by_call(expected, answered):
    in_sequence = len(expected) == len(answered) and all(map(is_right, expected, answered))
    assert match_calls(expected, answered, TYPED, "strict").right == in_sequence


@given(st.lists(st.dictionaries(KEYS, JSON, max_size=3), max_size=4), st.lists(JSON, max_size=4))
def test_whatever_is_expected_and_answered_is_matched(expected, answered):
    calls = [{"name": "f", "arguments": value} for value in answered]
    matched = match_calls([ExpectedCall("f", gold) for gold in expected], calls, TYPED)
    assert len(matched.pairs) == min(len(expected), len(answered))


def test_fifty_calls_find_fifty_others():
    def arguments_of(number):
        return {"query": f"q{number % 7}", "limit": number, "page": number // 7}

    expected = [wanted(**arguments_of(number)) for number in range(50)]
    answered = [search(**arguments_of(number)) for number in range(50)]
    random.Random(0).shuffle(answered)
    matched = match_calls(expected, answered, TOOLS)
    assert matched.right
    assert all(answered[there]["arguments"]["limit"] == here for here, there in matched.pairs)


RIGHT = Matched(((0, 0), (1, 1)), (True, True), (), (), right=True)
LACKING = Matched(((0, 0),), (True,), (1,), (), right=False)
WRONG = Matched(((0, 1), (1, 0)), (False, False), (), (2,), right=False)


def compare_calls(base, ft):
    """The evidence on answers whose calls have been matched."""
    reading = read_answer(Expectation(SEARCH, "search", TOOLS), Answer(""), None)
    trials = [Trial(*(replace(reading, matched=side) for side in sides)) for sides in zip(base, ft, strict=True)]
    return judge(trials).evidence.several


def test_both_views_are_counted_and_compared_case_by_case():
    evidence = compare_calls([RIGHT, RIGHT, LACKING, WRONG], [RIGHT, WRONG, RIGHT, LACKING])
    assert evidence.cases == 4
    assert (evidence.right_base, evidence.right_ft) == (0.5, 0.5)
    assert (evidence.missing_base, evidence.missing_ft) == (1, 1)
    assert (evidence.extra_base, evidence.extra_ft) == (1, 1)
    assert (evidence.wrong_arguments_base, evidence.wrong_arguments_ft) == (2, 2)
    assert evidence.paired.counts == (1, 1, 1, 1)
    assert evidence.paired.mcnemar_p == 1.0


def test_six_lost_answers_are_no_accident():
    evidence = compare_calls([RIGHT] * 8, [LACKING] * 6 + [RIGHT] * 2)
    assert (evidence.right_base, evidence.right_ft) == (1.0, 0.25)
    assert (evidence.missing_base, evidence.missing_ft) == (0, 6)
    assert evidence.paired.mcnemar_p == pytest.approx(0.03125)


def test_without_such_cases_there_is_no_such_evidence():
    assert compare_calls([], []) is None
    assert compare_calls([None, None], [None, None]) is None
    assert compare_calls([None, RIGHT], [None, RIGHT]).cases == 1


def test_the_evidence_can_be_written_and_read():
    evidence = compare_calls([RIGHT, LACKING], [WRONG, RIGHT])
    assert SeveralCalls.model_validate_json(evidence.model_dump_json()) == evidence
