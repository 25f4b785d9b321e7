import numpy as np
import pytest

from loracheck.scoring.interval import bootstrap_ci_95


def one_matrix(flags, seed):
    n = len(flags)
    picks = np.random.default_rng(seed).integers(0, n, size=(1000, n))  # (1000, n)
    means = np.array(flags, dtype=float)[picks].mean(axis=1)  # (1000,)
    return tuple(np.percentile(means, [2.5, 97.5]))


@pytest.mark.parametrize("n", [2, 3, 999, 1000, 1001, 1537, 3001])
@pytest.mark.parametrize("seed", [0, 7])
def test_blocks_of_rows_give_what_one_matrix_gives(n, seed):
    flags = [index % 3 == 0 for index in range(n)]
    assert bootstrap_ci_95(flags, seed) == pytest.approx(one_matrix(flags, seed), rel=0, abs=1e-12)


def test_equal_flags_give_their_value_twice():
    assert bootstrap_ci_95([True] * 5, 0) == (1.0, 1.0)
    assert bootstrap_ci_95([False], 0) == (0.0, 0.0)


def test_no_flags_give_no_interval():
    assert bootstrap_ci_95([], 0) is None


def test_the_seed_decides():
    flags = [True, False, True, True, False, True, False] * 9
    assert bootstrap_ci_95(flags, 1) == bootstrap_ci_95(flags, 1)
    assert len({bootstrap_ci_95(flags, seed) for seed in range(10)}) > 1
