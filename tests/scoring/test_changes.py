from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.scoring.changes import counts, differs_at, transitions

outcomes = st.sampled_from(["valid", "wrong_tool", "bad_arguments", "malformed", "truncated", "no_call"])


def test_outcomes_are_counted_the_most_frequent_first():
    assert list(counts(["no_call", "valid", "valid"]).items()) == [("valid", 2), ("no_call", 1)]
    assert counts([]) == {}


def test_transitions_say_what_became_of_each_outcome():
    base = ["valid", "valid", "valid", "malformed", "no_call"]
    ft = ["valid", "malformed", "valid", "valid", "no_call"]
    assert transitions(base, ft) == {
        "valid": {"valid": 2, "malformed": 1},
        "malformed": {"valid": 1},
        "no_call": {"no_call": 1},
    }
    assert transitions([], []) == {}


@given(st.lists(st.tuples(outcomes, outcomes)))
def test_transitions_add_up_to_the_counts_of_both_views(pairs):
    base, ft = [was for was, _ in pairs], [became for _, became in pairs]
    table = transitions(base, ft)
    assert {was: sum(row.values()) for was, row in table.items()} == counts(base)
    assert {became: sum(row.get(became, 0) for row in table.values()) for became in set(ft)} == counts(ft)
    assert all(number > 0 for row in table.values() for number in row.values())


def test_views_of_different_length_are_refused():
    with pytest.raises(ValueError, match="longer"):
        transitions(["valid"], ["valid", "valid"])


@pytest.mark.parametrize(
    ("a", "b", "at"),
    [
        ("", "", None),
        ("same", "same", None),
        ("", "x", 0),
        ("abc", "abd", 2),
        ("abc", "ab", 2),
        ("xbc", "abc", 0),
        ("naïve 😀!", "naïve 😀?", 7),
    ],
)
def test_texts_part_where_their_common_start_ends(a, b, at):
    assert differs_at(a, b) == at
    assert differs_at(b, a) == at


@given(st.text(alphabet="ab", max_size=30), st.text(alphabet="ab", max_size=30))
def test_it_is_the_length_of_the_common_prefix(a, b):
    common = sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(a, b, strict=False)))
    assert differs_at(a, b) == (None if a == b else common)


def test_long_texts_that_part_at_the_very_end():
    start = "x" * 1_000_000
    assert differs_at(start + "y", start + "z") == 1_000_000
