from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.text import interval_points, points, signed


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (-0.388, -0.074, "-39 to -7"),
        (-0.138, -0.002, "-13.8 to -0.2"),
        (0.004, 0.12, "+0.4 to +12.0"),
        (-0.138, 0.138, "-14 to +14"),
        (-0.000_2, 0.000_7, "-0.02 to +0.07"),
        (-0.05, 0.0, "-5 to +0"),
        (-0.05, -1e-17, "-5 to +0"),  # a rounding error
    ],
)
def test_no_end_of_an_interval_passes_for_0_unless_it_is_0(low: float, high: float, text: str) -> None:
    assert interval_points(low, high) == text


@pytest.mark.parametrize(
    ("delta", "digits", "text"),
    [
        (None, 1, "–"),
        (-0.066_7, 0, "-7 points"),
        (-0.002, 0, "-0.2 points"),  # one case of 500
        (-0.000_2, 1, "-0.02 points"),
        (0.0, 0, "+0 points"),
        (0.0, 1, "+0.0 points"),
        (-0.0, 1, "+0.0 points"),
        (0.3 - 0.2 - 0.1, 1, "+0.0 points"),
    ],
)
def test_no_change_passes_for_0_unless_it_is_0(delta: float | None, digits: int, text: str) -> None:
    assert points(delta, digits) == text


@given(st.integers(1, 100_000), st.integers(1, 100_000), st.integers(0, 1))
def test_the_side_of_0_a_change_is_on_can_always_be_seen(part: int, cases: int, digits: int) -> None:
    delta = min(part, cases) / cases
    for text, end in ((points(delta, digits), delta), (points(-delta, digits), -delta)):
        shown = float(text.removesuffix(" points"))
        assert shown * end > 0
    low, high = map(float, interval_points(-delta, delta).split(" to "))
    assert low < 0 < high


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (None, 1, "–"),
        (2.71, 1, "+2.7"),
        (-0.04, 1, "-0.04"),
        (-0.04, 2, "-0.04"),
        (-0.004, 2, "-0.004"),
        (-1e-9, 2, "+0.00"),
    ],
)
def test_a_signed_number_shows_its_side_of_0(value: float | None, digits: int, text: str) -> None:
    assert signed(value, digits) == text
