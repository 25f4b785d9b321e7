"""How far two calls' arguments are apart. No recursion: values may be nested without limit."""

from __future__ import annotations

from typing import Any

_ABSENT = object()


def field_disagreement(base_call: dict[str, Any], ft_call: dict[str, Any]) -> float:
    """The share of leaf paths, over both calls, whose values differ or which one side lacks."""
    base_arguments = base_call.get("arguments") or {}
    ft_arguments = ft_call.get("arguments") or {}
    if not isinstance(base_arguments, dict) or not isinstance(ft_arguments, dict):
        return 1.0
    leaves = differing = 0
    # Both sides are walked in step: spelling out the path of every leaf would take quadratic space.
    pending: list[tuple[Any, Any]] = [(base_arguments, ft_arguments)]
    while pending:
        base, ft = pending.pop()
        if isinstance(base, dict) or isinstance(ft, dict):
            # A leaf opposite a dict is a path that the other side lacks.
            lone = sum(not isinstance(side, dict) and side is not _ABSENT for side in (base, ft))
            leaves += lone
            differing += lone
            left, right = (side if isinstance(side, dict) else {} for side in (base, ft))
            pending.extend((left.get(key, _ABSENT), right.get(key, _ABSENT)) for key in left.keys() | right.keys())
        else:
            leaves += 1
            differing += not same_value(base, ft)
    return differing / leaves if leaves else 0.0


def same_value(a: Any, b: Any) -> bool:
    """Deep equality of JSON values, where 1 equals 1.0 but not true, at any depth.

    NaN equals nothing, itself included.
    """
    pending: list[tuple[Any, Any]] = [(a, b)]
    while pending:
        left, right = pending.pop()
        if isinstance(left, dict) and isinstance(right, dict):
            if left.keys() != right.keys():
                return False
            pending.extend((value, right[key]) for key, value in left.items())
        elif isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
            if len(left) != len(right):
                return False
            pending.extend(zip(left, right, strict=True))
        elif isinstance(left, bool) != isinstance(right, bool) or left != right:
            return False
    return True
