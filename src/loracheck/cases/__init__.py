"""What is asked: cases, the files they come from, and the suite file that says what to check with them."""

import difflib
from collections.abc import Iterable

MOST = 10_000_000
"""No setting is larger than this, far more than any model takes: llama.cpp would read it as something else."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a complaint about a word: the nearest of those that are known, or nothing where none is near."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
