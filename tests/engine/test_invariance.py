"""The guarantee: a case's tokens do not depend on its batch, on any quantization we could make."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from loracheck.demo import adapter_file
from loracheck.engine import AdapterUse, Prompt, Sampling, Settings, Try, View
from loracheck.engine.context import End
from loracheck.engine.rows import FLASH_TILE, WIDTH, promised_rows, rows_of
from loracheck.engine.stored import StoredEngine
from loracheck.file_types import FILE_TYPES, MAKEABLE
from loracheck.models.model import read_model_header
from loracheck.store import Store
from models.factory import write_runnable_model
from real import BARE, BASE, TUNED, demo_prompts, needs_model

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from loracheck.engine import Completion
    from loracheck.engine.llama import LlamaEngine
    from loracheck.engine.rows import Rows

pytestmark = needs_model

FORMATS = {"Q4_1": None, "Q8_0": 7, "Q4_0": 2, "F16": 1, "Q4_K_M": 15, "Q2_K": 10}
"""llama.cpp's numbers for the formats that the Q4_1 file is turned into."""

# With the adapter on, its F16 kernels run as well as those of the format; alone, one format of each family will do.
ALONE = ("Q4_1", "F16", "Q4_K_M")
PAIRS = [(name, view) for name in FORMATS for view in (TUNED, BARE) if view == TUNED or name in ALONE]
# What a step of any number of rows computes is tested in every format; whole answers, in one of each family.
QUICK = [("Q4_1", TUNED), ("Q4_1", BARE), ("Q8_0", TUNED), ("F16", TUNED), ("Q4_K_M", TUNED)]

QWEN_TERSE = (AdapterUse(adapter_file("qwen-terse")),)
with_and_without_an_adapter = pytest.mark.parametrize("adapters", [(), QWEN_TERSE], ids=["base", "adapter"])


@pytest.fixture(scope="module")
def models() -> dict[str, Path]:
    """Those that were made so far, by their formats."""
    return {"Q4_1": BASE}


@pytest.fixture
def model(request: pytest.FixtureRequest, models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    if request.param not in models:
        path = tmp_path_factory.mktemp("quantized") / f"{request.param}.gguf"
        models[request.param] = quantized(path, FORMATS[request.param], BASE)
    return models[request.param]


def quantized(path: Path, file_type: int | None, model: Path) -> Path:
    from loracheck.engine.native import capture_log, llama_cpp

    capture_log()
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype = file_type
    params.allow_requantize = True
    assert llama_cpp.llama_model_quantize(str(model).encode(), str(path).encode(), params) == 0
    return path


@pytest.fixture(scope="module")
def engine() -> Iterator[LlamaEngine]:
    """The last model that was asked stays loaded."""
    from loracheck.engine.llama import LlamaEngine

    with LlamaEngine(Settings(n_ctx=1024)) as engine:
        yield engine


@dataclass(frozen=True)
class Runs:
    """Answers of one view, asked in any company."""

    engine: LlamaEngine
    view: View

    def __call__(self, prompts: list[Prompt], *, share: bool = True) -> dict[str, Completion]:
        answers = self.engine.load(self.view.model).answer(self.view, prompts, share=share)
        return {prompts[index].id: answer for index, answer in answers}


@pytest.mark.parametrize(
    ("model", "view"),
    [
        pytest.param(*pair, id=f"{pair[0]}-{pair[1].name}", marks=[] if pair in QUICK else pytest.mark.slow)
        for pair in PAIRS
    ],
    indirect=["model"],
)
def test_tokens_are_the_same_alone_together_shuffled_and_with_or_without_sharing(
    engine: LlamaEngine, model: Path, view: View
) -> None:
    assert_that_nothing_depends_on_the_batch(Runs(engine, replace(view, model=model)), demo_prompts(2, 6))


@pytest.mark.qwen
def test_on_the_second_model_too(engine: LlamaEngine, qwen_model: Path) -> None:
    assert_that_nothing_depends_on_the_batch(Runs(engine, qwen_tuned(qwen_model)), [])


def qwen_tuned(model: Path) -> View:
    return View("adapter", model, QWEN_TERSE)


def assert_that_nothing_depends_on_the_batch(run: Runs, prompts: list[Prompt]) -> None:
    # More cases than streams, of very different lengths; those of the demo share a prefix.
    prompts = [
        *prompts,
        Prompt("long", "one two three " * 30, 4),
        *(Prompt(text, text, 9) for text in ("Hello", "Name a colour.", "Count to three.", "Why?", "Once upon a time")),
        *(Prompt(f"{number}", f"Say {number}.", 2 + number % 8) for number in range(11)),
    ]
    together = run(prompts)
    shuffled = random.Random(5).sample(prompts, len(prompts))
    assert run(shuffled, share=False) == together
    for prompt in (prompts[1], prompts[-1]):
        assert run([prompt]) == {prompt.id: together[prompt.id]}


def tried(prompts: list[Prompt], tries: int) -> list[Prompt]:
    """Each prompt with its tries; ids tell them apart."""
    sampling = Sampling(temperature=0.7)
    return [
        replace(prompt, id=f"{prompt.id} {number}", attempt=None if number is None else Try(sampling, 0, number))
        for prompt in prompts
        for number in (None, *range(tries))
    ]


@pytest.mark.parametrize("model", ["Q4_1", pytest.param("Q8_0", marks=pytest.mark.slow)], indirect=True)
def test_a_try_is_the_same_alone_together_reversed_and_with_or_without_sharing(
    engine: LlamaEngine, model: Path
) -> None:
    assert_that_no_try_depends_on_the_batch(Runs(engine, replace(TUNED, model=model)), demo_prompts(1, 6))


@pytest.mark.qwen
def test_a_try_on_the_second_model_too(engine: LlamaEngine, qwen_model: Path) -> None:
    assert_that_no_try_depends_on_the_batch(Runs(engine, qwen_tuned(qwen_model)), [])


def assert_that_no_try_depends_on_the_batch(run: Runs, prompts: list[Prompt]) -> None:
    # The last two leave much open, so that their tries differ.
    asked = tried([*prompts, *(Prompt(text, text, 6) for text in ("Name a colour.", "Once upon a time"))], 5)
    together = run(asked)
    assert len({together[prompt.id].tokens for prompt in asked[-12:]}) > 6
    assert run(asked[::-1], share=False) == together
    for prompt in (asked[0], asked[5], asked[-2]):
        assert run([prompt]) == {prompt.id: together[prompt.id]}
    greedy = [prompt for prompt in asked if prompt.attempt is None]
    assert run(greedy) == {prompt.id: together[prompt.id] for prompt in greedy}


def test_tries_that_are_stored_are_gone_on_with_and_come_out_as_in_one_go(
    engine: LlamaEngine, cache_folder: Path
) -> None:
    asked = tried([Prompt(text, text, 6) for text in ("Name a colour.", "Once upon a time")], 4)
    with Store(cache_folder / "answers.sqlite") as store:
        in_one_go = dict(engine.answer(TUNED, asked))
        kept = StoredEngine(store, engine)
        some = dict(kept.answer(TUNED, asked[3:7]))
        rest = dict(kept.answer(TUNED, asked))
        assert [rest[index].stored for index in range(len(asked))] == [3 <= index < 7 for index in range(len(asked))]
        assert rest == in_one_go
        assert [some[index] for index in range(4)] == [in_one_go[index] for index in range(3, 7)]
        assert all(answer.stored for _, answer in kept.answer(TUNED, asked))


@pytest.mark.parametrize("model", FORMATS, indirect=True)
def test_every_number_of_rows_that_a_step_may_have_computes_the_same_bits(engine: LlamaEngine, model: Path) -> None:
    assert_that_rows_compute_the_same(engine, model, TUNED.adapters)


@pytest.mark.qwen
@with_and_without_an_adapter
def test_every_number_of_rows_computes_the_same_bits_on_the_second_model_too(
    engine: LlamaEngine, qwen_model: Path, adapters: tuple[AdapterUse, ...]
) -> None:
    assert_that_rows_compute_the_same(engine, qwen_model, adapters)


def assert_that_rows_compute_the_same(engine: LlamaEngine, path: Path, adapters: tuple[AdapterUse, ...]) -> None:
    """What rows.py promises for the types of tensors that this model has, in any stream."""
    header = read_model_header(path)
    width = WIDTH
    rows = rows_of(header, gpu_layers=0, width=width)
    prompts = [[7 + 3 * number + place for place in range(5 + number % 4)] for number in range(width)]
    with engine.load(path)._view(View("any", path, adapters), 64, width) as ctx:

        def read(places: list[int]) -> None:
            ctx.clear()
            for stream, number in enumerate(places):
                ctx.read(stream, prompts[number], 0, len(prompts[number]))

        def step(places: list[int]) -> dict[int, bytes]:
            """The logits that each prompt's next token gets when these prompts, and no others, have a step together."""
            lengths = [len(prompts[number]) for number in places]
            logits = ctx.step([[11]] * len(places), lengths)
            computed = {number: logits[stream, 0].tobytes() for stream, number in enumerate(places)}
            for stream, length in enumerate(lengths):
                ctx.forget(stream, length)
            return computed

        everywhere = list(range(width))
        read(everywhere)
        whole = step(everywhere)
        for count in sorted({rows.holding(live, width) for live in everywhere[1:]}, reverse=True):
            for stream in everywhere[count:]:
                ctx.forget(stream)
            assert step(everywhere[:count]) == {number: whole[number] for number in range(count)}, count
        read(everywhere[::-1])
        assert step(everywhere[::-1]) == whole, "which stream a case is in makes no difference"


@pytest.mark.parametrize(
    "model", [name if name in ALONE else pytest.param(name, marks=pytest.mark.slow) for name in FORMATS], indirect=True
)
def test_a_prompt_comes_out_the_same_wherever_it_is_cut_between_tiles(engine: LlamaEngine, model: Path) -> None:
    assert_that_cuts_change_nothing(engine, model, TUNED.adapters)


@pytest.mark.qwen
@with_and_without_an_adapter
def test_a_prompt_comes_out_the_same_wherever_it_is_cut_on_the_second_model_too(
    engine: LlamaEngine, qwen_model: Path, adapters: tuple[AdapterUse, ...]
) -> None:
    assert_that_cuts_change_nothing(engine, qwen_model, adapters)


def assert_that_cuts_change_nothing(
    engine: LlamaEngine, path: Path, adapters: tuple[AdapterUse, ...], vocabulary: int = 4096
) -> None:
    """The logits after a prompt, and those of the step after it, which hang on all that it left in memory."""
    rows = promised(path)
    least, tile = rows.least, rows.multiple
    with engine.load(path)._view(View("any", path, adapters), 1024, least) as ctx:

        def digests(length: int, sizes: Sequence[int]) -> tuple[bytes, bytes]:
            tokens, start = some_tokens(length, vocabulary), 0
            ctx.clear()
            for size in sizes:
                ctx.read(0, tokens, start, start + size)
                start += size
            last = ctx.read_ends([End(0, tokens, start)])[0].tobytes()
            return last, ctx.step([[11]] * least, [length, *[0] * (least - 1)])[0].tobytes()

        for left_over in (0, 3):
            length = 40 + left_over
            whole = digests(length, ())
            for sizes in ((least,), (least + tile, 3 * tile)):
                assert digests(length, sizes) == whole, (length, sizes)
        # The body of a long prompt.
        half = FLASH_TILE + 4
        assert digests(2 * half + 8, (half, half)) == digests(2 * half + 8, (2 * half,))


@pytest.mark.parametrize(
    "model", [name if name in ALONE else pytest.param(name, marks=pytest.mark.slow) for name in FORMATS], indirect=True
)
def test_a_prompt_comes_out_the_same_whatever_is_read_beside_it(engine: LlamaEngine, model: Path) -> None:
    assert_that_company_changes_nothing(engine, model, TUNED.adapters)


@pytest.mark.qwen
@with_and_without_an_adapter
def test_a_prompt_comes_out_the_same_whatever_is_read_beside_it_on_the_second_model_too(
    engine: LlamaEngine, qwen_model: Path, adapters: tuple[AdapterUse, ...]
) -> None:
    assert_that_company_changes_nothing(engine, qwen_model, adapters)


def assert_that_company_changes_nothing(
    engine: LlamaEngine, path: Path, adapters: tuple[AdapterUse, ...], vocabulary: int = 4096
) -> None:
    """The logits after four prompts, and after two tokens more, one by one or both in one step."""
    least, following = promised(path).least, (11, 12)
    prompts = [some_tokens(length + 1, vocabulary)[1:] for length in (9, 14, 21, 12)]
    with engine.load(path)._view(View("any", path, adapters), 64, least) as ctx:

        def alone(prompt: list[int]) -> list[bytes]:
            ctx.clear()
            computed = [ctx.read_ends([End(0, prompt, 0)])[0].tobytes()]
            for place, token in enumerate(following, len(prompt)):
                logits = ctx.step([[token], *[[0]] * (least - 1)], [place, *[0] * (least - 1)])
                computed.append(logits[0, 0].tobytes())
                for stream in range(1, least):
                    ctx.forget(stream)
            return computed

        by_itself = [alone(prompt) for prompt in prompts]
    with engine.load(path)._view(View("any", path, adapters), 64, max(least, len(prompts))) as ctx:
        read = ctx.read_ends([End(stream, prompt, 0) for stream, prompt in enumerate(prompts)])
        stepped = ctx.step([following] * len(prompts), [len(prompt) for prompt in prompts])
        together = zip(read, stepped, strict=True)
        assert [[first.tobytes(), *(row.tobytes() for row in rows)] for first, rows in together] == by_itself


TOY_VOCABULARY = 512


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_runnable_model(tmp_path_factory.mktemp("toy") / "F32.gguf", vocab=TOY_VOCABULARY)


@pytest.mark.parametrize("name", MAKEABLE)
def test_what_rows_promise_holds_for_every_type_where_all_matrices_have_it(
    engine: LlamaEngine, toy: Path, tmp_path: Path, name: str
) -> None:
    """The two real models are too narrow for the blocks of most types, and fall back to others."""
    numbers = {name: number for number, name in FILE_TYPES.items()}
    path = quantized(tmp_path / "model.gguf", numbers[name], toy)
    assert_that_rows_compute_the_same(engine, path, ())
    assert_that_cuts_change_nothing(engine, path, (), TOY_VOCABULARY)
    assert_that_company_changes_nothing(engine, path, (), TOY_VOCABULARY)
    assert_that_reading_is_stepping(engine, path, (), TOY_VOCABULARY)


def promised(path: Path) -> Rows:
    rows = promised_rows(read_model_header(path), gpu_layers=0)
    if rows is None:
        pytest.skip("on this processor prompts are read in blocks of their own")
    return rows


def some_tokens(count: int, vocabulary: int = 4096) -> list[int]:
    return [7 + 5 * place % (vocabulary - 96) for place in range(count)]


@pytest.mark.parametrize("model", FORMATS, indirect=True)
def test_a_token_that_is_read_computes_the_same_bits_as_one_in_a_step(engine: LlamaEngine, model: Path) -> None:
    assert_that_reading_is_stepping(engine, model, TUNED.adapters)


@pytest.mark.qwen
@with_and_without_an_adapter
def test_a_token_that_is_read_computes_the_same_bits_on_the_second_model_too(
    engine: LlamaEngine, qwen_model: Path, adapters: tuple[AdapterUse, ...]
) -> None:
    assert_that_reading_is_stepping(engine, qwen_model, adapters)


def assert_that_reading_is_stepping(
    engine: LlamaEngine, path: Path, adapters: tuple[AdapterUse, ...], vocabulary: int = 4096
) -> None:
    rows = promised(path)
    prompt, count = 21, max(12, rows.least)
    tokens = some_tokens(prompt + count, vocabulary)
    with engine.load(path)._view(View("any", path, adapters), 64, rows.least) as ctx:
        ctx.read_ends([End(0, tokens[:prompt], 0)])
        read = [row.tobytes() for row in ctx.read_all(0, tokens[prompt:], prompt)]
        ctx.forget(0, prompt)
        stepped = []
        for place in range(prompt, prompt + count):
            logits = ctx.step([[tokens[place]], *[[0]] * (rows.least - 1)], [place, *[0] * (rows.least - 1)])
            stepped.append(logits[0, 0].tobytes())
            for stream in range(1, rows.least):
                ctx.forget(stream)
    assert read == stepped


@pytest.mark.parametrize("model", ["Q4_1", "Q8_0", "Q4_K_M"], indirect=True)
def test_an_answer_is_the_same_whichever_is_followed(engine: LlamaEngine, model: Path) -> None:
    assert_that_following_changes_nothing(Runs(engine, replace(TUNED, model=model)), demo_prompts(2, 40))


@pytest.mark.qwen
def test_an_answer_is_the_same_whichever_is_followed_on_the_second_model_too(
    engine: LlamaEngine, qwen_model: Path
) -> None:
    asked = [
        Prompt(text, f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n", 40)
        for text in ("What is 2 + 2?", "What is 3 + 4?")
    ]
    assert_that_following_changes_nothing(Runs(engine, qwen_tuned(qwen_model)), asked)


def assert_that_following_changes_nothing(run: Runs, prompts: list[Prompt]) -> None:
    promised(run.view.model)
    plain = run([replace(prompt, traced=True) for prompt in prompts])
    traces = [answer.trace for answer in plain.values() if answer.trace]
    assert len(traces) == len(prompts), "whole answers, with their traces"
    # What a view expects at its own answer is the same to the last bit when it reads that answer.
    assert run([replace(prompt, follow=plain[prompt.id].trace) for prompt in prompts]) == plain
    tokens = {prompt: answer.tokens for prompt, answer in plain.items()}
    for trace in traces:
        wrong = len(trace.tokens) // 2
        other = replace(trace, tokens=(*trace.tokens[:wrong], 99, *trace.tokens[wrong + 1 :]))
        for asked in ({"follow": other}, {"draft": other.tokens}, {"draft": trace.tokens}):
            found = run([replace(prompt, **asked) for prompt in prompts])
            assert {prompt: answer.tokens for prompt, answer in found.items()} == tokens
