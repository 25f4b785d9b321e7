from __future__ import annotations

import math

import numpy as np
import pytest

from loracheck.engine.trace import CANDIDATES, expectation


def plainly(logits: np.ndarray) -> tuple[list[int], list[float]]:
    """The likeliest and their log-probabilities, as one would write it down."""
    total = math.log(sum(math.exp(logit - float(logits.max())) for logit in logits.tolist())) + float(logits.max())
    ranked = sorted(range(len(logits)), key=lambda token: -logits[token])[:CANDIDATES]
    return ranked, [float(logits[token]) - total for token in ranked]


@pytest.mark.parametrize("size", [1, 5, CANDIDATES, 100, 255, 256, 257, 1_000, 49_152])
@pytest.mark.parametrize("spread", [0.1, 3.0, 20.0])
def test_the_likeliest_tokens_and_their_log_probabilities(size: int, spread: float) -> None:
    logits = (np.random.default_rng(size).standard_normal(size) * spread).astype(np.float32)
    ranked, log_probs = plainly(logits)
    expected = expectation(logits)
    assert (expected.candidates, expected.top) == (tuple(ranked), ranked[0])
    assert expected.log_probs == pytest.approx(log_probs, abs=2e-6)


def test_the_likeliest_may_stand_side_by_side() -> None:
    logits = np.zeros(10_000, np.float32)
    logits[5_000:5_020] = np.arange(20)
    assert expectation(logits).candidates == tuple(range(5_019, 5_003, -1))


def test_of_equally_likely_tokens_the_first_ones_count() -> None:
    assert expectation(np.zeros(1_000, np.float32)).candidates == tuple(range(CANDIDATES))


def test_tokens_that_are_ruled_out_have_no_part() -> None:
    logits = np.full(1_000, -np.inf, np.float32)
    logits[[7, 900]] = 0
    expected = expectation(logits)
    assert expected.candidates[:2] == (7, 900)
    assert expected.log_probs[:2] == (pytest.approx(-math.log(2)),) * 2


def test_another_views_candidates_are_looked_up() -> None:
    logits = np.array([1, 2, 3], np.float32)
    expected = expectation(logits, [2, 0])
    assert (expected.candidates, expected.top) == ((2, 0), 2)
    assert expected.log_probs[0] - expected.log_probs[1] == pytest.approx(2)
