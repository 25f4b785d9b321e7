"""How long the rest will take: by tokens, as far as they are known."""

from __future__ import annotations

import random

import pytest

from loracheck.pace import Pace, Spent, Stretch


def test_nothing_is_said_before_anything_was_done() -> None:
    pace = Pace([Stretch(4, 400, 400)])
    assert (pace.seconds_left, pace.share) == (None, 0.0)
    pace.begin()
    assert (pace.seconds_left, pace.share) == (None, 0.0)


def test_the_first_blocks_tell_how_long_all_views_will_take() -> None:
    pace = Pace([Stretch(10, 1000, 10_000), Stretch(10, 1000, 10_000)])
    pace.begin()
    pace.spend(Spent(read=100, read_seconds=1.0))
    # 1,900 tokens are left to read at 10 ms, and 20 answers of 40 tokens to write at about twice that.
    assert pace.seconds_left == pytest.approx(19 + 16)


def test_reading_and_writing_have_their_own_speed() -> None:
    pace = Pace([Stretch(2, 200, 1000), Stretch(2, 200, 1000)])
    pace.begin()
    pace.spend(Spent(200, 1.0, 100, 50.0))
    pace.answered(50)
    pace.answered(50)
    pace.begin()
    # 200 tokens at 5 ms, and two answers at 0.5 s for a token; they are expected somewhat shorter than the last ones.
    assert pace.seconds_left == pytest.approx(1 + 2 * 45 * 0.5)


def test_no_answer_is_longer_than_it_may_be() -> None:
    pace = Pace([Stretch(2, 100, 20)])
    pace.begin()
    pace.spend(Spent(100, 1.0))
    assert pace.seconds_left == pytest.approx(20 * 0.02)


def test_an_engine_that_says_nothing_is_timed_by_its_answers() -> None:
    now = 0.0
    pace = Pace([Stretch(2, 100, 1000), Stretch(2, 100, 1000)], clock=lambda: now)
    pace.begin()
    now = 10.0
    pace.answered(40)
    # Of two equal views with two answers each, one answer took ten seconds.
    assert pace.seconds_left == pytest.approx(30.0)
    assert pace.share == pytest.approx(0.25)


def test_what_answers_under_way_have_written_is_no_longer_ahead() -> None:
    pace = Pace([Stretch(10, 100, 10_000)])
    pace.begin()
    pace.spend(Spent(100, 1.0, 100, 10.0))
    # Ten answers of 40 tokens, of which 100 are there.
    assert pace.seconds_left == pytest.approx(300 * 0.1)


def test_answers_that_are_longer_than_expected_still_have_some_way_to_go() -> None:
    pace = Pace([Stretch(10, 100, 10_000)])
    pace.begin()
    for _ in range(10):
        pace.spend(Spent(100, 0.1, 100, 10.0))
        left = pace.seconds_left
        assert left is not None
        assert left >= 10.0


def test_the_share_never_goes_back_and_ends_at_the_whole() -> None:
    luck = random.Random(0)
    pace = Pace([Stretch(20, 2000, 5000), Stretch(20, 2000, 5000), Stretch(2, 100, 512)])
    shares = []
    for answers in (20, 20, 2):
        pace.begin()
        for _ in range(answers):
            written = luck.randrange(1, 250)
            pace.spend(Spent(100, luck.random(), written, luck.random()))
            pace.answered(written)
            shares.append(pace.share)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert pace.seconds_left == pytest.approx(0.0)


def test_a_view_that_is_in_the_store_takes_no_time() -> None:
    pace = Pace([Stretch(0), Stretch(2, 100, 200)])
    pace.begin()
    pace.begin()
    pace.spend(Spent(100, 1.0, 100, 1.0))
    pace.answered(50)
    pace.answered(50)
    assert (pace.seconds_left, pace.share) == (0.0, 1.0)


def test_what_the_first_view_had_to_read_corrects_what_was_expected_of_the_others() -> None:
    pace = Pace([Stretch(1, 1000, 10), Stretch(1, 1000, 10)])
    pace.begin()
    pace.spend(Spent(2000, 20.0, 100, 0.0))
    pace.answered(40)
    pace.begin()
    assert pace.seconds_left == pytest.approx(20.0)


def test_a_view_that_reads_the_answers_of_another_takes_longer() -> None:
    plain, following = (Pace([Stretch(4, 100, 0, follows=follows)]) for follows in (0, 4))
    for pace in (plain, following):
        pace.begin()
        pace.spend(Spent(100, 1.0))
    assert plain.seconds_left == 0
    # Four answers of 40 tokens.
    assert following.seconds_left == pytest.approx(1.6)
