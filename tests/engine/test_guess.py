from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.engine.guess import Guesser

DRAFT = tuple(range(100, 140))


def test_a_draft_is_gone_on_with_where_the_last_tokens_stand_in_it() -> None:
    assert Guesser(DRAFT)((1, 2, *DRAFT[10:14]), 30) == DRAFT[14:29]


def test_no_more_is_guessed_than_there_is_room_for() -> None:
    assert Guesser(DRAFT)(DRAFT[:4], 7) == DRAFT[4:11]
    assert not Guesser(DRAFT)(DRAFT[:4], 3)


@pytest.mark.parametrize("answer", [(), DRAFT[:3], (1, 2, 3, 4, 5), (*DRAFT[:3], 7)])
def test_nothing_is_guessed_where_there_is_little_to_go_by(answer: tuple[int, ...]) -> None:
    assert not Guesser(DRAFT)(answer, 60)
    assert not Guesser()(answer, 60)


def test_the_end_of_a_draft_is_too_short_for_a_reading_of_its_own() -> None:
    assert not Guesser(DRAFT)(DRAFT[:36], 60)


def test_an_answer_in_rounds_goes_on_with_them() -> None:
    answer = (1, 2, 3, 4, 5) * 4
    assert tuple(Guesser()(answer, 12)) == (1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2)


def test_guesses_grow_while_they_are_right_and_need_more_proof_once_they_are_wrong() -> None:
    guess = Guesser(range(100, 300))
    sizes = []
    for _ in range(4):
        sizes.append(len(guess(DRAFT[:8], 100)))
        guess.was(right=True)
    assert sizes == [15, 31, 59, 59]
    guess.was(right=False)
    assert not guess((0, *DRAFT[:7]), 100)
    assert len(guess(DRAFT[:8], 100)) == 15


@given(st.lists(st.integers(0, 2), max_size=60), st.lists(st.integers(0, 2), max_size=60), st.integers(0, 80))
def test_a_guess_is_never_longer_than_its_room_nor_too_short(answer: list[int], draft: list[int], room: int) -> None:
    guess = Guesser(draft)(answer, room)
    assert not guess or 6 <= len(guess) <= room
