from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.scoring.assignment import assign


def cost_of(costs, pairs):
    return sum(costs[row][column] for row, column in pairs)


def cheapest(costs):
    """By trying every pairing."""
    rows, columns = len(costs), len(costs[0])
    if rows > columns:
        return cheapest(list(zip(*costs, strict=True)))
    return min(
        sum(costs[row][column] for row, column in enumerate(chosen)) for chosen in permutations(range(columns), rows)
    )


@st.composite
def matrices(draw, most=5):
    rows, columns = draw(st.integers(1, most)), draw(st.integers(1, most))
    cost = st.integers(-3, 3) | st.integers(-(10**30), 10**30)
    return draw(st.lists(st.lists(cost, min_size=columns, max_size=columns), min_size=rows, max_size=rows))


@given(matrices())
def test_no_pairing_is_cheaper(costs):
    pairs = assign(costs)
    assert len(pairs) == min(len(costs), len(costs[0]))
    assert len({row for row, _ in pairs}) == len({column for _, column in pairs}) == len(pairs)
    assert cost_of(costs, pairs) == cheapest(costs)


def test_a_row_gives_way_where_another_one_needs_its_column():
    assert assign([[1, 2], [1, 9]]) == [(0, 1), (1, 0)]


@pytest.mark.parametrize("costs", [[], [[], []]])
def test_nobody_is_paired_with_nobody(costs):
    assert assign(costs) == []


def test_fifty_on_each_side():
    # The cheapest pairing of rows and columns by the product of their numbers runs the one side against the other.
    costs = [[(row + 1) * (column + 1) for column in range(50)] for row in range(50)]
    assert assign(costs) == [(row, 49 - row) for row in range(50)]
