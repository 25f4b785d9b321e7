"""Could noise have done as well? An exact test beside z, which is a rule of thumb."""

from __future__ import annotations

import math


def null_p_value(ft_valid: int, ft_n: int, null_valid: int, null_n: int) -> float | None:
    """The chance that ft has at least this many of all the valid answers if it is no better than noise.

    Fisher's exact test, one-sided; None when either side has no answers.
    """
    if not (0 <= ft_valid <= ft_n and 0 <= null_valid <= null_n):
        raise ValueError(f"{ft_valid} of {ft_n} and {null_valid} of {null_n} valid answers: more valid than answers")
    if not ft_n or not null_n:
        return None
    if ft_valid * null_n > null_valid * ft_n:
        return _at_least(ft_valid, ft_n, null_valid, null_n)
    # Under the mean the other tail is the short one; in it, few valid answers are many invalid ones.
    fewer = ft_valid - 1
    return 1.0 if fewer < 0 else 1 - _at_least(ft_n - fewer, ft_n, null_n - null_valid - 1, null_n)


def _at_least(ft: int, ft_n: int, null: int, null_n: int) -> float:
    """P(X >= ft) for the hypergeometric X with ft + null hits in all, ft at or above its mean."""
    hits = ft + null
    most = min(ft_n, hits)
    if null < 0:
        return 0.0
    tail = term = math.comb(ft_n, ft) * math.comb(null_n, null) / math.comb(ft_n + null_n, hits)
    for k in range(ft, most):
        term *= (ft_n - k) * (hits - k) / ((k + 1) * (null_n - hits + k + 1))
        tail += term
        if term < tail * 1e-17:
            break
    return min(1.0, tail)
