"""What is asked: cases, the files they come from, and the suite file that says what to check with them."""

import difflib
from collections.abc import Iterable, Sequence

MOST = 10_000_000
"""No setting is larger than this, far more than any model takes: llama.cpp would read it as something else."""

PACKS = {
    "core": "What is asked by default: several tools on offer, every kind of argument.",
    "smoke": "A few of the core cases, for a quick look.",
    "demo": "What `loracheck demo` asks: one tool on offer each time.",
}
"""What the built-in packs are for, the main one first."""

_NEAR = 0.6


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a complaint about a word: the nearest of those that are known, or nothing where none is near."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=_NEAR)
    return f"; did you mean {close[0]!r}?" if close else ""


def near_pairs(words: Sequence[str]) -> dict[tuple[str, str], float]:
    """Every two words so near that one of them, misspelt, could be taken for the other; and how near, 1 at the most."""
    pairs: dict[tuple[str, str], float] = {}
    for number, word in enumerate(words):
        matcher = difflib.SequenceMatcher(b=word)
        for other in words[number + 1 :]:
            matcher.set_seq1(other)
            # The first two are quick, and never less than the third.
            if matcher.real_quick_ratio() >= _NEAR and matcher.quick_ratio() >= _NEAR and matcher.ratio() >= _NEAR:
                pairs[word, other] = matcher.ratio()
    return pairs
