from __future__ import annotations

import math
from dataclasses import replace
from itertools import accumulate, islice, product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from loracheck.engine import Sampling
from loracheck.engine.sampling import draws, sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# So hot that all the tokens let through are equally likely.
HOT = 1e12
JUST_UNDER_1 = math.nextafter(1.0, 0.0)


def row(*logits: float) -> NDArray[np.float32]:
    return np.array(logits, dtype=np.float32)


def first(count: int, seed: int = 0, prompt_text: str = "Hello", trial: int = 0) -> list[float]:
    return list(islice(draws(seed, prompt_text, trial), count))


def test_the_numbers_are_these_everywhere_and_for_good() -> None:
    assert first(5, seed=7, prompt_text="What is the weather in Zürich?", trial=2) == [
        0.2321847852794876,
        0.09341079560330856,
        0.9699134424700755,
        0.9416271039583923,
        0.9512453391604607,
    ]


def test_one_question_has_the_same_numbers_each_time() -> None:
    assert first(100) == first(100)


def test_other_questions_have_other_numbers() -> None:
    asked = [
        (seed, text, trial) for seed in (0, 1, 12, -1) for text in ("", "a", "1\na", "\ud800") for trial in (0, 1, 2)
    ]
    asked += [(1, "a", 23), (12, "3\na", 3), (1, "2\n3\na", 23)]
    assert len({tuple(first(2, *key)) for key in asked}) == len(asked)


def test_the_numbers_are_spread_evenly_and_do_not_follow_each_other() -> None:
    drawn = np.array(first(20_000))
    assert drawn.min() >= 0
    assert drawn.max() < 1
    counts = np.histogram(drawn, bins=20, range=(0, 1))[0]  # (20,)
    assert ((counts - 1000) ** 2 / 1000).sum() < 43.8  # one in a thousand, with 19 degrees of freedom
    for lag in (1, 2, 3, 4):
        assert abs(np.corrcoef(drawn[lag:], drawn[:-lag])[0, 1]) < 0.025  # 3.5 standard errors
    assert abs(np.corrcoef(drawn, first(20_000, trial=1))[0, 1]) < 0.025


def test_a_cold_draw_is_the_likeliest_token() -> None:
    logits = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    for temperature, u in product((1e-3, 1e-9, 1e-320), (0.0, 0.5, JUST_UNDER_1)):
        assert sample(logits, Sampling(temperature), u) == int(logits.argmax())


def test_tokens_come_as_often_as_the_softmax_says() -> None:
    logits, temperature, number = row(2.0, -1.0, 0.5, 0.5, 3.0, -2.0, 1.0), 0.7, 20_000
    shares = np.exp(logits.astype(np.float64) / temperature)
    expected = number * shares / shares.sum()  # (7,)
    tokens = [sample(logits, Sampling(temperature), u) for u in first(number)]
    counts = np.bincount(tokens, minlength=len(logits))  # (7,)
    assert ((counts - expected) ** 2 / expected).sum() < 22.5  # one in a thousand, with 6 degrees of freedom


def test_equally_likely_tokens_stand_in_the_order_of_their_numbers() -> None:
    logits = np.zeros(10_000, dtype=np.float32)
    for place in (0, 1, 255, 256, 4095, 4096, 9_999):
        assert sample(logits, Sampling(0.7), (place + 0.5) / 10_000) == place


def test_a_draw_far_down_the_line_finds_its_token() -> None:
    logits = np.random.default_rng(1).permutation(np.linspace(0, 1, 20_000)).astype(np.float32)
    ranked = np.argsort(-logits, kind="stable")
    shares = np.exp(logits[ranked].astype(np.float64))
    line = np.cumsum(shares) / shares.sum()
    for u in (0.001, 0.01, 0.1, 0.3, 0.7, 0.9, 0.999):
        assert sample(logits, Sampling(1.0), u) == ranked[np.searchsorted(line, u, "right")]


@pytest.mark.parametrize("u", [0.0, 0.5, JUST_UNDER_1])
def test_a_token_that_cannot_come_is_never_drawn(u: float) -> None:
    logits = np.full(700, -np.inf, dtype=np.float32)
    logits[[3, 600]] = [0.1, 0.2]
    for sampling in (Sampling(0.7), Sampling(0.7, top_k=5), Sampling(0.7, top_p=JUST_UNDER_1), Sampling(HOT)):
        assert sample(logits, sampling, u) in (3, 600)


def test_rounding_does_not_draw_a_token_that_cannot_come() -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        possible = rng.standard_normal(3000).astype(np.float32)
        logits = np.concatenate([possible, np.full(10, -np.inf, dtype=np.float32)])
        assert sample(logits, Sampling(0.9), JUST_UNDER_1) == int(possible.argmin())


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_logits_that_are_no_numbers_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match=f"the highest logit is {bad}"):
        sample(row(0.0, bad, 1.0), Sampling(1.0), 0.5)
    with pytest.raises(ValueError, match="the highest logit is -inf"):
        sample(row(-math.inf, -math.inf), Sampling(1.0), 0.5)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"temperature": 0.0}, "temperature is 0.0; it must be a number above 0"),
        ({"temperature": -1.0}, "temperature is -1.0"),
        ({"temperature": math.nan}, "temperature is nan"),
        ({"temperature": math.inf}, "temperature is inf"),
        ({"top_p": 0.0}, "top_p is 0.0; it must be above 0 and at most 1"),
        ({"top_p": 1.1}, "top_p is 1.1"),
        ({"top_p": math.nan}, "top_p is nan"),
        ({"min_p": -0.1}, "min_p is -0.1; it must be at least 0 and under 1"),
        ({"min_p": 1.0}, "min_p is 1.0"),
        ({"min_p": math.nan}, "min_p is nan"),
        ({"top_k": -1}, "top_k is -1; it must be a count of tokens, or 0 for all of them"),
    ],
)
def test_settings_that_make_no_sense_are_refused(values: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sampling(**{"temperature": 0.7, **values})  # type: ignore[arg-type]


def let_through(logits: Sequence[float], sampling: Sampling) -> list[int]:
    """By the book: sort everything, then filter by filter on what the one before has left."""
    kept = sorted(range(len(logits)), key=lambda token: (-logits[token], token))
    if sampling.top_k:
        kept = kept[: sampling.top_k]
    if sampling.top_p < 1:
        weights = [math.exp(logits[token] - logits[kept[0]]) for token in kept]
        line = [mass / math.fsum(weights) for mass in accumulate(weights)]
        # At an edge the last bit decides, and sums are not rounded alike.
        assume(all(abs(mass - sampling.top_p) > 1e-9 for mass in line[:-1]))
        kept = kept[: 1 + sum(mass < sampling.top_p for mass in line[:-1])]
    if sampling.min_p > 0:
        likelihoods = {token: math.exp(logits[token] - logits[kept[0]]) for token in kept}
        assume(all(abs(likelihood - sampling.min_p) > 1e-9 for likelihood in likelihoods.values()))
        kept = [token for token in kept if likelihoods[token] >= sampling.min_p]
    return kept


# Many of them alike, and all exact in single precision.
rows_of_logits = st.lists(st.integers(-24, 24).map(lambda eighths: eighths / 8), min_size=1, max_size=40)
samplings = st.builds(
    Sampling,
    st.floats(0.05, 5),
    top_p=st.just(1.0) | st.floats(0.01, 1),
    min_p=st.just(0.0) | st.floats(0, 0.99),
    top_k=st.integers(0, 45),
)


@given(rows_of_logits, samplings)
def test_the_filters_let_the_right_tokens_through(logits: list[float], sampling: Sampling) -> None:
    kept = let_through(logits, sampling)
    hot = replace(sampling, temperature=HOT)
    assert [sample(row(*logits), hot, (place + 0.5) / len(kept)) for place in range(len(kept))] == kept
    assert sample(row(*logits), hot, JUST_UNDER_1) == kept[-1]


@given(rows_of_logits, samplings, st.floats(0, 1, exclude_max=True))
def test_the_token_is_the_one_on_which_the_draw_falls(logits: list[float], sampling: Sampling, u: float) -> None:
    kept = let_through(logits, sampling)
    weights = [math.exp((logits[token] - logits[kept[0]]) / sampling.temperature) for token in kept]
    line = [mass / math.fsum(weights) for mass in accumulate(weights)]
    assume(all(abs(mass - u) > 1e-9 for mass in line[:-1]))
    assert sample(row(*logits), sampling, u) == kept[sum(mass <= u for mass in line[:-1])]


def test_top_p_stops_at_the_token_that_reaches_it() -> None:
    four_alike = row(1.0, 1.0, 1.0, 1.0)
    assert sample(four_alike, Sampling(1.0, top_p=0.5), JUST_UNDER_1) == 1
    assert sample(four_alike, Sampling(1.0, top_p=0.51), JUST_UNDER_1) == 2
    assert sample(four_alike, Sampling(1.0, top_p=1e-9), JUST_UNDER_1) == 0


def test_top_p_counts_what_top_k_has_left_and_min_p_not_what_top_p_has() -> None:
    # The first two are 70 % of all four, and 78 % of the first three.
    logits = np.log(np.array([0.4, 0.3, 0.2, 0.1])).astype(np.float32)
    assert sample(logits, Sampling(HOT, top_k=3, top_p=0.75), JUST_UNDER_1) == 1
    assert sample(logits, Sampling(HOT, top_p=0.75), JUST_UNDER_1) == 2
    assert sample(logits, Sampling(HOT, top_p=0.75, min_p=0.6), JUST_UNDER_1) == 1


def test_temperature_comes_after_the_filters() -> None:
    # However hot, the second token is half as likely as the first to the filters.
    logits = row(math.log(2), 0.0)
    assert sample(logits, Sampling(HOT, min_p=0.6), JUST_UNDER_1) == 0
    assert sample(logits, Sampling(1e-3, min_p=0.4, top_p=0.7), JUST_UNDER_1) == 0
    assert sample(logits, Sampling(HOT, min_p=0.4, top_p=0.7), JUST_UNDER_1) == 1


def test_what_all_is_let_through_does_not_change_the_draw() -> None:
    logits = np.random.default_rng(2).standard_normal(3000).astype(np.float32) * 4
    everything = Sampling(0.9, top_k=3000, min_p=1e-300)
    for u in first(200):
        assert sample(logits, everything, u) == sample(logits, Sampling(0.9), u)
