"""The engine on the real model with a real adapter."""

from __future__ import annotations

from dataclasses import replace
from math import exp
from typing import TYPE_CHECKING

import numpy as np
import pytest

from loracheck.ask import EFFECT_TEXT
from loracheck.engine import AdapterUse, NullAdapter, Prompt, Settings, View
from loracheck.errors import CasesError
from loracheck.models.null import write_null
from real import BARE, BASE, TOOLCALLER, TUNED, demo_prompts, needs_model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from loracheck.engine import Completion, Trace
    from loracheck.engine.llama import LlamaEngine

pytestmark = needs_model


@pytest.fixture(scope="module")
def engine() -> Iterator[LlamaEngine]:
    from loracheck.engine.llama import LlamaEngine

    with LlamaEngine(Settings(n_ctx=512)) as engine:
        yield engine


def answers(engine: LlamaEngine, view: View, prompts: list[Prompt]) -> list[Completion]:
    found = dict(engine.answer(view, prompts))
    return [found[index] for index in range(len(prompts))]


def digest(engine: LlamaEngine, *adapters: AdapterUse) -> str:
    return engine.fingerprint(View("some", BASE, adapters), EFFECT_TEXT).digest


def test_base_then_adapter_then_base_again_gives_the_first_answers_token_for_token(engine: LlamaEngine) -> None:
    prompts = demo_prompts(2, 16)
    first = answers(engine, BARE, prompts)
    tuned = answers(engine, TUNED, prompts)
    assert answers(engine, BARE, prompts) == first
    assert tuned != first
    assert all(answer.text.startswith('{"name"') for answer in tuned)


def test_a_view_left_in_the_middle_leaves_nothing_behind(engine: LlamaEngine) -> None:
    prompts = demo_prompts(2, 8)
    first = answers(engine, BARE, prompts)
    stream = engine.answer(TUNED, prompts)
    next(stream)
    stream.close()
    assert answers(engine, BARE, prompts) == first


def test_an_adapter_at_scale_zero_computes_what_the_base_does_and_at_scale_one_does_not(engine: LlamaEngine) -> None:
    bare = digest(engine)
    stack = (AdapterUse(TOOLCALLER, 0.0), AdapterUse(NullAdapter(TOOLCALLER, 7), 0.0))
    assert digest(engine, *stack) == bare
    assert digest(engine, AdapterUse(TOOLCALLER)) != bare


def test_scales_and_the_order_of_nothing_else_decide(engine: LlamaEngine) -> None:
    assert digest(engine, AdapterUse(TOOLCALLER, 0.5)) != digest(engine, AdapterUse(TOOLCALLER, 1.0))


def test_a_null_adapter_changes_the_logits_and_its_file_computes_the_same(engine: LlamaEngine, tmp_path: Path) -> None:
    file = write_null(TOOLCALLER, tmp_path / "null.gguf", seed=1000)
    from_file = digest(engine, AdapterUse(file))
    assert from_file == digest(engine, AdapterUse(NullAdapter(TOOLCALLER, 1000)))
    assert from_file not in (digest(engine), digest(engine, AdapterUse(NullAdapter(TOOLCALLER, 1001))))


def test_a_prompt_longer_than_the_context_is_refused_with_the_case_and_both_numbers(engine: LlamaEngine) -> None:
    with pytest.raises(CasesError, match=r"case long: the prompt has 6\d\d tokens and the context holds 512"):
        list(engine.answer(BARE, [Prompt("long", "word " * 600, 8)]))


def test_an_answer_that_fills_the_context_is_cut_there_and_says_so(engine: LlamaEngine) -> None:
    [(_, answer)] = engine.answer(BARE, [Prompt("full", "word " * 500, 100)])
    assert answer.truncated
    assert answer.prompt_tokens + len(answer.tokens) == 512 + 1


def test_special_tokens_in_a_prompt_are_recognised(engine: LlamaEngine) -> None:
    plain, special = answers(
        engine, BARE, [Prompt("plain", "im_start im_start", 1), Prompt("special", "<|im_start|><|im_start|>", 1)]
    )
    assert special.prompt_tokens == 2
    assert plain.prompt_tokens > 2


def test_the_log_of_llama_cpp_never_reaches_the_screen(capfd: pytest.CaptureFixture[str]) -> None:
    from loracheck.engine.llama import LlamaEngine

    with LlamaEngine(Settings(n_ctx=256)) as engine:
        engine.fingerprint(TUNED, "hello")
    assert capfd.readouterr() == ("", "")


def kl_of(a: Trace, b: Trace | None) -> float:
    """The mean divergence over the places of an answer, as drift is reported, by the candidates that a has there."""
    assert b is not None
    assert (a.tokens, a.candidates) == (b.tokens, b.candidates)
    places = list(zip(a.log_probs, b.log_probs, strict=True))
    return sum(exp(p) * (p - q) for ours, theirs in places for p, q in zip(ours, theirs, strict=True)) / len(places)


def test_tracing_changes_no_answer_and_following_ones_own_answer_finds_what_was_expected(engine: LlamaEngine) -> None:
    prompts = demo_prompts(2, 48)
    plain = dict(engine.answer(TUNED, prompts))
    traced = dict(engine.answer(TUNED, [replace(prompt, traced=True) for prompt in prompts]))
    assert {index: (one.text, one.tokens) for index, one in traced.items()} == {
        index: (one.text, one.tokens) for index, one in plain.items()
    }
    traces = {index: one.trace for index, one in traced.items()}
    followed = dict(engine.answer(TUNED, [replace(p, follow=traces[index]) for index, p in enumerate(prompts)]))
    for index, trace in traces.items():
        assert trace is not None
        # Step by step other kernels run than in a block: the same but for rounding.
        assert kl_of(trace, followed[index].trace) < 1e-3
        assert len(trace.log_probs) == len(trace.tokens) + 1
        # Greedy: what was written is what was likeliest, and then the end.
        assert [places[0] for places in trace.candidates[:-1]] == list(trace.tokens)
        assert trace.top[-1] == "<|im_end|>"
        assert trace.ends[-1] == len(traced[index].text.encode())


def test_another_view_expects_something_else_of_the_same_answer(engine: LlamaEngine) -> None:
    (prompt,) = demo_prompts(1, 48)
    ((_, tuned),) = engine.answer(TUNED, [replace(prompt, traced=True)])
    ((_, bare),) = engine.answer(BARE, [replace(prompt, follow=tuned.trace)])
    assert tuned.trace is not None
    assert bare.trace is not None
    assert (bare.trace.tokens, bare.trace.candidates) == (tuned.trace.tokens, tuned.trace.candidates)
    assert bare.trace.log_probs[0] != tuned.trace.log_probs[0]
    assert bare.text != tuned.text


def test_an_adapter_whose_rank_is_filled_up_computes_what_it_did_but_for_rounding(
    engine: LlamaEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokens = engine.load(BASE), list(range(100, 130))
    if model._promised is None:
        pytest.skip("on this processor adapters are loaded as they are")

    def logits(*adapters: AdapterUse) -> np.ndarray:
        with model._view(View("any", BASE, adapters), 64, 1) as ctx:
            read = ctx.read(0, tokens, 0, len(tokens))
            assert read is not None
            return read.copy()  # (n_vocab,)

    filled_up, bare = logits(AdapterUse(TOOLCALLER, 0.7)), logits()
    as_it_is = tmp_path / "as-it-is.gguf"
    as_it_is.write_bytes(TOOLCALLER.read_bytes())
    monkeypatch.setattr(model._adapters, "_with_a_rank_for_kernels", lambda path, _: path)
    apart = np.abs(filled_up - logits(AdapterUse(as_it_is, 0.7))).max()
    assert apart < 0.01 * np.abs(filled_up - bare).max()
