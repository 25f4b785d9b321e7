"""What an answer may go on with: a draft of it, or the rounds it goes in.

An adapter that does no harm repeats most of what its base answers, and a model that rambles repeats itself. A guess is
read at once, which is faster than to write it token by token; how much of it is right, the model says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_FIRST, _MOST = 16, 60
"""Rows of the first guess, which double with each that was right, and of the largest."""
_SHORTEST = 6
"""Tokens that are worth a reading of their own."""
_SEEN = 4
"""A draft is gone on with where the answer's last tokens, so many, stand in it."""
_ROUND = 3
"""It takes so many times as many that the answer has had before."""


@dataclass(slots=True)
class Guesser:
    """For one answer."""

    draft: Sequence[int] = ()
    _rows: int = _FIRST
    _seen: int = _SEEN

    def __call__(self, answer: Sequence[int], room: int) -> Sequence[int]:
        """What may come next, `room` tokens at the most; nothing where there is little to go by."""
        most = min(self._rows - 1, room)
        if most < _SHORTEST:
            return ()
        goes_on = self._in_draft(answer) or self._in_rounds(answer, most)
        return goes_on[:most] if len(goes_on) >= _SHORTEST else ()

    def was(self, right: bool) -> None:
        """How the last one came out. Each that was wrong makes it harder to convince."""
        self._rows = min(_MOST, 2 * self._rows) if right else _FIRST
        self._seen += 0 if right else _SEEN

    def _in_draft(self, answer: Sequence[int]) -> Sequence[int]:
        place = _place_after(answer[-self._seen :], self._seen, self.draft)
        return self.draft[place:] if place else ()

    def _in_rounds(self, answer: Sequence[int], most: int) -> Sequence[int]:
        seen = _ROUND * self._seen
        place = _place_after(answer[-seen:], seen, answer[:-1])
        once = answer[place:] if place else ()
        return [*once] * (most // len(once) + 1) if once else ()


def _place_after(last: Sequence[int], seen: int, tokens: Sequence[int]) -> int | None:
    """Where tokens go on after they were the same as these, `seen` in number, the last time."""
    for place in range(len(tokens), seen - 1, -1) if len(last) == seen else ():
        if tokens[place - 1] == last[-1] and tuple(tokens[place - seen : place]) == tuple(last):
            return place
    return None
