from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.toy_context import BLOCK, END, IN_BLOCKS, N_VOCAB, ToyContext, answer_alone, logits_after
from loracheck.engine import Sampling, Try
from loracheck.engine.cuts import BetweenTiles
from loracheck.engine.decode import Finished, Followed, Job
from loracheck.engine.decode import decode as decode_jobs
from loracheck.engine.rows import Rows
from loracheck.engine.sampling import sampler
from loracheck.engine.trace import expectation
from loracheck.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Answers = dict[int, tuple[tuple[int, ...], bool]]

PREFIX = tuple(range(5)) * 3


def make_jobs(prompts: Sequence[Sequence[int]], limit: int = 12) -> list[Job]:
    return [Job(index, f"case{index}", tuple(prompt), limit) for index, prompt in enumerate(prompts)]


def decode(
    ctx: ToyContext, jobs: Sequence[Job], *, share: bool = True, end: int = END, tiles: BetweenTiles | None = None
) -> Answers:
    answers: Answers = {}
    for done in decode_jobs(ctx, jobs, lambda token: token == end, tiles or IN_BLOCKS, share=share):
        assert done.job.index not in answers
        answers[done.job.index] = (done.tokens, done.truncated)
    return answers


def alone(ctx: ToyContext, jobs: Sequence[Job]) -> Answers:
    return {job.index: answer_alone(job.tokens, job.max_new_tokens, ctx.n_ctx) for job in jobs}


token_lists = st.lists(st.integers(0, N_VOCAB - 1), min_size=1, max_size=12)


@st.composite
def prompt_sets(draw: st.DrawFn) -> list[list[int]]:
    """Prompts of which many begin alike."""
    stems = draw(st.lists(token_lists, min_size=1, max_size=3))
    pick = st.lists(st.sampled_from(stems), max_size=2).map(lambda parts: [token for part in parts for token in part])
    return draw(st.lists(st.tuples(pick, token_lists).map(lambda pair: pair[0] + pair[1]), max_size=12))


@given(prompt_sets(), st.integers(1, 9), st.sampled_from([None, Rows(1, 1), Rows(2, 1), Rows(4, 2)]), st.booleans())
def test_every_answer_is_the_one_its_prompt_gets_alone(
    prompts: list[list[int]], width: int, rows: Rows | None, share: bool
) -> None:
    ctx, jobs = ToyContext(width, n_ctx=40, rows=rows), make_jobs(prompts)
    assert decode(ctx, jobs, share=share) == alone(ctx, jobs)
    assert all(not held for held in ctx.streams[:width])


tile_rules = st.builds(
    BetweenTiles,
    st.sampled_from([Rows(2, 1), Rows(4, 2), Rows(6, 3)]),
    few=st.sampled_from([12, 18]),
    large=st.sampled_from([1000, 24]),
    most=st.just(48),
    worth=st.integers(6, 9),
)


@given(prompt_sets(), st.integers(1, 9), tile_rules, st.booleans())
def test_every_answer_is_the_one_its_prompt_gets_alone_when_it_is_cut_between_tiles(
    prompts: list[list[int]], width: int, tiles: BetweenTiles, share: bool
) -> None:
    ctx, jobs = ToyContext(width, n_ctx=40, tiles=tiles), make_jobs(prompts)
    assert decode(ctx, jobs, share=share, tiles=tiles) == alone(ctx, jobs)
    assert all(not held for held in ctx.streams[:width])


@given(prompt_sets(), tile_rules, st.integers(0, 20), st.booleans())
def test_an_answer_is_the_same_whichever_is_followed_or_drafted(
    prompts: list[list[int]], tiles: BetweenTiles, wrong: int, draft: bool
) -> None:
    """It is the answer itself but for one token."""
    ctx, jobs = ToyContext(6, n_ctx=80, tiles=tiles), make_jobs(prompts, limit=30)
    own = alone(ctx, jobs)
    following = []
    for job in jobs:
        other = list(own[job.index][0])
        other[wrong : wrong + 1] = [5] * bool(other[wrong:])
        following.append(replace(job, draft=tuple(other)) if draft else replace(job, follow=followed(other)))
    assert decode(ctx, following, tiles=tiles) == own
    assert all(not held for held in ctx.streams[:6])


@pytest.mark.parametrize("wrong", [0, 7, 39, None])
def test_an_answer_is_read_as_far_as_it_is_the_one_that_is_followed(wrong: int | None) -> None:
    # No row is ever idle, to guess with.
    tiles = BetweenTiles(Rows(1, 1))
    (job,) = make_jobs([PREFIX], limit=40)
    plain, following = (ToyContext(4, n_ctx=80, tiles=tiles) for _ in range(2))
    answer = decode(plain, [job], tiles=tiles, end=-1)
    other = list(answer[0][0])
    if wrong is not None:
        other[wrong] = (other[wrong] + 1) % N_VOCAB
    assert decode(following, [replace(job, follow=followed(other))], tiles=tiles, end=-1) == answer
    assert plain.steps == 39
    assert following.steps == (0 if wrong is None else 39 - wrong)
    drafting = ToyContext(4, n_ctx=80, tiles=tiles)
    assert decode(drafting, [replace(job, draft=tuple(other))], tiles=tiles, end=-1) == answer
    assert drafting.steps == following.steps


@pytest.mark.parametrize(("count", "most"), [(1, 35), (2, 38), (3, 39), (4, 39), (5, 39)])
def test_rows_without_a_case_guess_what_another_says_next(count: int, most: int) -> None:
    """The toy model knows seven tokens, so a guess is often right."""
    tiles = BetweenTiles(Rows(4, 2))
    jobs = make_jobs([(*PREFIX, number) for number in range(count)], limit=40)
    ctx = ToyContext(6, n_ctx=80, tiles=tiles)
    assert decode(ctx, jobs, tiles=tiles, end=-1) == {
        job.index: answer_alone(job.tokens, 40, 80, end=-1) for job in jobs
    }
    assert ctx.steps <= most
    assert ctx.rows_stepped >= 4 * ctx.steps


def test_what_comes_up_again_is_guessed_all_at_once() -> None:
    class Repeating(ToyContext):
        def _logits(self, stream: int) -> NDArray[np.float32]:
            """Like one that can't stop: 0, 1, 2, 3, 4 and over again."""
            logits = np.zeros(N_VOCAB, np.float32)
            logits[len(self.streams[stream]) % 5] = 1
            return logits

    tiles = BetweenTiles(Rows(8, 4))
    ctx = Repeating(8, n_ctx=80, tiles=tiles)
    answers = decode(ctx, make_jobs([PREFIX], limit=41), tiles=tiles)
    assert answers == {0: ((*range(5),) * 8 + (0,), True)}
    assert (ctx.steps, ctx.rows_stepped) == (5, 40)


def test_the_ends_of_prompts_are_read_together_where_that_takes_little_filling() -> None:
    tiles = BetweenTiles(Rows(4, 2), most=48)
    about_as_long = [(*PREFIX, *(number,) * (5 + number % 3)) for number in range(5)]
    ctx = ToyContext(4, tiles=tiles)
    assert decode(ctx, make_jobs(about_as_long), tiles=tiles) == alone(ctx, make_jobs(about_as_long))
    assert ctx.ends_read == [2, 2, 1], "a batch has 48 rows"
    one_longer = [(1, 2, 3, 4), (2, 3, 4, 5), (3,) * 24, (4, 3, 2, 1)]
    ctx = ToyContext(4, tiles=tiles)
    assert decode(ctx, make_jobs(one_longer), tiles=tiles) == alone(ctx, make_jobs(one_longer))
    assert ctx.ends_read == [2, 1, 1]


def test_what_is_over_is_told_before_the_next_prompts_are_read_to_their_ends() -> None:
    tiles = BetweenTiles(Rows(4, 2))
    ctx, jobs = ToyContext(4, tiles=tiles), make_jobs([(1,) * 4, (2,) * 24], limit=1)
    done = decode_jobs(ctx, jobs, lambda token: token == END, tiles, share=True)
    assert next(done).job.index == 0
    assert ctx.ends_read == [1]


def test_a_prompt_that_leaves_no_room_for_filling_is_read_as_it_is_in_any_company() -> None:
    tiles = BetweenTiles(Rows(4, 2))
    prompts = [(1,) * 12, (2,) * 13, (3,) * 12]
    ctx = ToyContext(4, n_ctx=20, tiles=tiles)
    assert decode(ctx, make_jobs(prompts), tiles=tiles) == alone(ctx, make_jobs(prompts))
    assert ctx.ends_read == [1, 1], "their streams do not follow one another"


WITH_BODIES = BetweenTiles(Rows(4, 2), few=8, large=12, most=30, worth=4)
LONG = tuple(place % 5 for place in range(300))


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 5), st.integers(1, 9)), max_size=6))
def test_long_prompts_share_what_they_can_and_are_cut_only_where_they_may(parts: list[tuple[int, int, int]]) -> None:
    jobs = make_jobs([(*LONG[:length], *(number,) * count) for length, number, count in parts], limit=3)
    ctx = ToyContext(4, n_ctx=320, tiles=WITH_BODIES)
    assert decode(ctx, jobs, tiles=WITH_BODIES) == alone(ctx, jobs)


def test_the_body_of_a_long_prompt_is_shared_by_prompts_of_about_its_length() -> None:
    prompts = [(*LONG[:length], number, 1, 2, 3, 4) for number, length in enumerate((40, 150, 153, 172, 171, 152))]
    ctx = ToyContext(4, n_ctx=250, tiles=WITH_BODIES)
    assert {WITH_BODIES.body(len(prompt)) for prompt in prompts} == {0, 144, 168}
    assert decode(ctx, make_jobs(prompts), tiles=WITH_BODIES) == alone(ctx, make_jobs(prompts))
    assert ctx.prompt_tokens_read < sum(map(len, prompts)) / 2


def test_between_tiles_all_that_prompts_have_in_common_is_read_once() -> None:
    tiles = BetweenTiles(Rows(4, 2), worth=4)
    common = (1, 2, 3, 4, 5, 1, 2, 3, 4, 5)
    prompts = [(*common, number, number, 0, 1) for number in range(5)]
    ctx = ToyContext(tiles=tiles)
    assert decode(ctx, make_jobs(prompts), tiles=tiles) == alone(ctx, make_jobs(prompts))
    assert ctx.prompt_tokens_read == len(common) + 5 * 4


def test_what_is_hardly_worth_a_batch_is_not_shared() -> None:
    tiles = BetweenTiles(Rows(2, 1), worth=11)
    prompts = [((1,) * 10 + (number, number)) for number in range(4)]
    ctx = ToyContext(tiles=tiles)
    assert decode(ctx, make_jobs(prompts), tiles=tiles) == alone(ctx, make_jobs(prompts))
    assert ctx.prompt_tokens_read == 4 * 12


@pytest.mark.parametrize("count", [1, 2, 3, 4, 20])
@pytest.mark.parametrize("share", [True, False])
def test_any_number_of_jobs_fits_any_number_of_streams(count: int, share: bool) -> None:
    ctx, jobs = ToyContext(width=3), make_jobs([(*PREFIX, number % N_VOCAB, 1) for number in range(count)])
    assert decode(ctx, jobs, share=share) == alone(ctx, jobs)


@pytest.mark.parametrize("limit", [1, 2, 7, 20])
def test_answers_of_any_length_are_those_of_their_prompts_alone(limit: int) -> None:
    ctx, jobs = ToyContext(n_ctx=40), make_jobs([(*PREFIX, number, 1) for number in range(N_VOCAB)], limit)
    assert decode(ctx, jobs) == alone(ctx, jobs)


def test_a_step_shrinks_with_the_cases_that_are_left() -> None:
    """One short answer after another ends, and the longest one is not in the first stream."""
    jobs = [replace(job, max_new_tokens=3 + job.index) for job in make_jobs([(number, 1) for number in range(6)])]
    fixed, shrinking = ToyContext(6), ToyContext(6, rows=Rows(2, 1))
    assert decode(fixed, jobs, end=-1) == decode(shrinking, jobs, end=-1)
    assert fixed.steps == shrinking.steps == 7, "the longest answer takes eight tokens, the first of them no step"
    assert fixed.rows_stepped == 7 * 6
    assert shrinking.rows_stepped == 6 + 6 + 5 + 4 + 3 + 2 + 2


def test_no_jobs_take_no_step() -> None:
    ctx = ToyContext()
    assert decode(ctx, []) == {}
    assert ctx.steps == 0


def test_answers_that_end_at_once_are_empty_whole_and_take_no_step() -> None:
    ends_at_once = [
        prompt for prompt in ([a, b] for a in range(7) for b in range(7)) if not answer_alone(prompt, 1, 9)[0]
    ]
    assert len(ends_at_once) > 3
    ctx = ToyContext(width=2)
    assert decode(ctx, make_jobs(ends_at_once)) == dict.fromkeys(range(len(ends_at_once)), ((), False))
    assert ctx.steps == 0


def test_an_answer_is_cut_at_its_limit() -> None:
    jobs = make_jobs([PREFIX], limit=5)
    answer, truncated = decode(ToyContext(), jobs, end=-1)[0]
    assert (len(answer), truncated) == (5, True)


def test_an_answer_is_cut_where_the_context_is_full() -> None:
    ctx = ToyContext(n_ctx=len(PREFIX) + 3)
    answer, truncated = decode(ctx, make_jobs([PREFIX], limit=1000), end=-1)[0]
    # The last token need not be fed, so one more than there is room for comes out.
    assert (len(answer), truncated) == (4, True)


def test_a_shared_prefix_is_read_once() -> None:
    prompts = [(*PREFIX, number, number) for number in range(6)]
    shared, apart = ToyContext(), ToyContext()
    assert decode(shared, make_jobs(prompts)) == decode(apart, make_jobs(prompts), share=False)
    whole_blocks = len(PREFIX) - len(PREFIX) % BLOCK
    assert apart.prompt_tokens_read == 6 * len(prompts[0])
    assert shared.prompt_tokens_read == apart.prompt_tokens_read - 5 * whole_blocks


def test_prefixes_inside_prefixes_are_each_read_once_in_whatever_order_the_prompts_come() -> None:
    stem, branch = (1,) * BLOCK, (2,) * BLOCK
    prompts = [(*stem, *branch, 3), (*stem, 5), (*stem, *branch, 4), (0,), (*stem, 6)]
    ctx = ToyContext()
    decode(ctx, make_jobs(prompts))
    assert ctx.prompt_tokens_read == len(stem) + len(branch) + 5


def test_a_turn_that_prompts_share_is_shared_to_its_very_end() -> None:
    turn = (1, 2, 3, 4, 5, END)
    prompts = [(*turn, number, 0, 1) for number in range(4)]
    ctx = ToyContext()
    assert decode(ctx, make_jobs(prompts)) == alone(ctx, make_jobs(prompts))
    assert ctx.prompt_tokens_read == len(turn) + 4 * 3


def test_prompts_with_nothing_in_common_do_not_use_the_trunk() -> None:
    ctx = ToyContext()
    decode(ctx, make_jobs([(number,) * 9 for number in range(5)]))
    assert ctx.prompt_tokens_read == 5 * 9
    assert ctx.streams[ctx.trunk] == []


def tries_at(prompt: Sequence[int], count: int, first_index: int = 0, limit: int = 12) -> list[Job]:
    """A greedy answer and as many tries; the toy model is sure of itself, so they need some heat."""
    text = str(prompt)
    greedy = Job(first_index, text, tuple(prompt), limit)
    samplers = [sampler(Try(Sampling(temperature=3.0), 0, number), text) for number in range(count)]
    return [greedy, *(replace(greedy, index=first_index + 1 + n, sampler=each) for n, each in enumerate(samplers))]


@given(prompt_sets(), st.integers(1, 9), st.sampled_from([None, Rows(1, 1), Rows(2, 1), Rows(4, 2)]), st.booleans())
def test_every_try_is_the_one_that_is_drawn_alone(
    prompts: list[list[int]], width: int, rows: Rows | None, share: bool
) -> None:
    def jobs() -> list[Job]:
        return [job for place, prompt in enumerate(prompts) for job in tries_at(prompt, 4, 5 * place)]

    ctx = ToyContext(width, n_ctx=40, rows=rows)
    answers = decode(ctx, jobs(), share=share)
    assert answers == {job.index: answer_alone(job.tokens, 12, ctx.n_ctx, job.sampler) for job in jobs()}
    assert all(not held for held in ctx.streams[:width])


def test_tries_differ_and_share_one_reading_of_their_prompt() -> None:
    ctx, apart = ToyContext(width=3), ToyContext(width=3)
    answers = decode(ctx, tries_at(PREFIX, 7))
    assert decode(apart, tries_at(PREFIX, 7), share=False) == answers
    assert len({tokens for tokens, _ in answers.values()}) > 4
    assert (ctx.prompt_tokens_read, apart.prompt_tokens_read) == (len(PREFIX), 8 * len(PREFIX))


def test_tries_at_a_prompt_that_others_begin_like_read_nothing_twice() -> None:
    longer = (*PREFIX, 1, *PREFIX)
    ctx = ToyContext()
    decode(ctx, [*tries_at(longer, 3), *tries_at(PREFIX, 3, 4), *tries_at((2, 2), 3, 8)])
    whole_blocks = len(PREFIX) - len(PREFIX) % BLOCK
    assert ctx.prompt_tokens_read == len(PREFIX) + 2 + len(longer) - whole_blocks


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("after", [1, len(PREFIX) + 2])
def test_numbers_that_are_none_end_a_try_with_the_same_error(value: float, after: int) -> None:
    (_, tried) = tries_at(PREFIX, 1)
    with pytest.raises(EngineError, match=f"the model computed {value} instead of a number"):
        decode(SpoiltContext(value, after), [tried], end=-1)


def finished(ctx: ToyContext, jobs: Sequence[Job]) -> dict[int, Finished]:
    return {done.job.index: done for done in decode_jobs(ctx, jobs, lambda token: token == END, IN_BLOCKS, share=True)}


def expected_after(prompt: Sequence[int], answer: Sequence[int]) -> list[NDArray[np.float32]]:
    """The toy model's logits for each token of the answer, and for what follows it."""
    return [logits_after([*prompt, *answer[:place]]) for place in range(len(answer) + 1)]


def followed(answer: Sequence[int]) -> Followed:
    """Some answer of another view, with two candidates at each place."""
    return Followed(tuple(answer), ((0, 1),) * (len(answer) + 1))


@given(prompt_sets(), st.integers(1, 5))
def test_tracing_whole_answers_changes_none_of_them_and_tells_what_was_expected_at_every_place(
    prompts: list[list[int]], width: int
) -> None:
    ctx = ToyContext(width, n_ctx=40)
    jobs = [replace(job, traced=True) for job in make_jobs(prompts)]
    done = finished(ctx, jobs)
    assert {index: (one.tokens, one.truncated) for index, one in done.items()} == alone(ctx, jobs)
    for one in done.values():
        if one.truncated:
            assert one.expected is None
        else:
            assert one.expected == tuple(map(expectation, expected_after(one.job.tokens, one.tokens)))


@given(prompt_sets(), token_lists)
def test_another_answer_is_followed_to_its_end_and_the_own_stays(prompts: list[list[int]], other: list[int]) -> None:
    ctx = ToyContext(2, n_ctx=60)
    jobs = [replace(job, follow=followed(other)) for job in make_jobs(prompts)]
    done = finished(ctx, jobs)
    assert {index: (one.tokens, one.truncated) for index, one in done.items()} == alone(ctx, jobs)
    for one in done.values():
        assert one.expected == tuple(expectation(row, (0, 1)) for row in expected_after(one.job.tokens, other))


def test_a_known_answer_takes_no_step_while_another_is_followed() -> None:
    (job,) = make_jobs([PREFIX])
    answer, truncated = answer_alone(PREFIX, 12, 64)
    assert answer
    assert not truncated
    ctx = ToyContext()
    done = finished(ctx, [replace(job, follow=followed((1, 2)), known=answer)])[0]
    assert (done.tokens, done.truncated, ctx.steps) == (answer, False, 0)
    assert done.expected == tuple(expectation(row, (0, 1)) for row in expected_after(PREFIX, (1, 2)))


def test_numbers_that_are_none_in_a_followed_answer_end_with_an_error_that_names_the_case() -> None:
    (job,) = make_jobs([PREFIX])
    with pytest.raises(EngineError, match="case case0: the model computed nan"):
        finished(SpoiltContext(np.nan, len(PREFIX) + 2), [replace(job, follow=followed((1, 2, 3)))])


class SpoiltContext(ToyContext):
    """Computes `value` for every token once a stream is as long as `after`."""

    def __init__(self, value: float, after: int) -> None:
        super().__init__()
        self._value, self._after = value, after

    def _logits(self, stream: int) -> Any:
        logits = super()._logits(stream)
        if len(self.streams[stream]) >= self._after:
            logits[:] = self._value
        return logits


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("after", [1, len(PREFIX) + 2])
def test_numbers_that_are_none_end_with_an_error_that_names_the_case(value: float, after: int) -> None:
    with pytest.raises(EngineError, match=f"case case0: the model computed {value} instead of a number"):
        decode(SpoiltContext(value, after), make_jobs([PREFIX]), end=-1)


def test_a_single_nan_among_the_logits_is_seen() -> None:
    class OneNan(ToyContext):
        def _logits(self, stream: int) -> Any:
            logits = super()._logits(stream)
            logits[3] = np.nan
            return logits

    with pytest.raises(EngineError, match="case0"):
        decode(OneNan(), make_jobs([PREFIX]))
