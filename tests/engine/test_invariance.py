"""The guarantee: a case's tokens do not depend on its batch, on any quantization we could make."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from loracheck.engine import Prompt, Settings
from real import BARE, BASE, TUNED, demo_prompts, needs_model

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.engine import Completion, View

pytestmark = needs_model

FORMATS = {"Q4_1": None, "Q8_0": 7, "Q4_0": 2, "F16": 1, "Q4_K_M": 15, "Q2_K": 10}
"""llama.cpp's numbers for the formats that the Q4_1 file is turned into."""

# With the adapter on, its F16 kernels run as well as those of the format; alone, one format of each family will do.
ALONE = ("Q4_1", "F16", "Q4_K_M")
PAIRS = [(name, view) for name in FORMATS for view in (TUNED, BARE) if view == TUNED or name in ALONE]


@pytest.fixture(scope="module")
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    number = FORMATS[request.param]
    if number is None:
        return BASE
    from loracheck.engine.native import capture_log, llama_cpp

    capture_log()
    path: Path = tmp_path_factory.mktemp("quantized") / f"{request.param}.gguf"
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype = number
    params.allow_requantize = True
    assert llama_cpp.llama_model_quantize(str(BASE).encode(), str(path).encode(), params) == 0
    return path


def run(model: Path, view: View, prompts: list[Prompt], *, share: bool = True) -> dict[str, Completion]:
    from loracheck.engine.llama import LlamaEngine

    with LlamaEngine(Settings(n_ctx=1024), share_prefixes=share) as engine:
        on_model = replace(view, model=model)
        return {prompts[index].id: answer for index, answer in engine.answer(on_model, prompts)}


@pytest.mark.parametrize(
    ("model", "view"), PAIRS, indirect=["model"], ids=[f"{name}-{view.name}" for name, view in PAIRS]
)
def test_tokens_are_the_same_alone_together_shuffled_and_with_or_without_sharing(model: Path, view: View) -> None:
    # Ten cases on eight streams, of very different lengths; the first four share a prefix in pairs.
    prompts = [
        *demo_prompts(4, 6),
        Prompt("long", "one two three " * 30, 4),
        *(Prompt(text, text, 9) for text in ("Hello", "Name a colour.", "Count to three.", "Why?", "Once upon a time")),
    ]
    together = run(model, view, prompts)
    shuffled = random.Random(5).sample(prompts, len(prompts))
    assert run(model, view, shuffled, share=False) == together
    for prompt in (prompts[3], prompts[5]):
        assert run(model, view, [prompt]) == {prompt.id: together[prompt.id]}
