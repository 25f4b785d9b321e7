"""The real models and adapters, for the tests that run llama.cpp."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from loracheck import plan
from loracheck.cases.load import load_pack
from loracheck.demo import adapter_file, find_model
from loracheck.engine import AdapterUse, Prompt, View
from loracheck.models import chat_template, read_model_header
from loracheck.prompts.chat import render_chat

if TYPE_CHECKING:
    from collections.abc import Iterator

# Looked up here, before the tests get cache folders of their own.
BASE = find_model() or Path("no-model")
QWEN = find_model("qwen") or Path("no-qwen-model")

needs_base = pytest.mark.skipif(not BASE.is_file(), reason="the base model is not here: `make model` fetches it")
needs_model = [pytest.mark.engine, needs_base]

NO_QWEN = "the Qwen model is not here: `make model-qwen` fetches it"
needs_qwen = [pytest.mark.engine, pytest.mark.qwen]

TOOLCALLER = adapter_file("toolcaller")
BARE = View("base", BASE)
TUNED = View("adapter", BASE, (AdapterUse(TOOLCALLER),))


def demo_prompts(count: int, max_new_tokens: int) -> list[Prompt]:
    """Prompts of the demo's cases, as the product writes them."""
    template = chat_template(read_model_header(BASE))
    assert template is not None
    return [
        Prompt(
            case.id,
            render_chat(template, case.conversation, [tool.spec() for tool in case.surface]),
            max_new_tokens,
        )
        for case in load_pack("demo")[:count]
    ]


@contextmanager
def brief_answers(most: int = 48) -> Iterator[None]:
    """Long enough for every call of a demo adapter. SmolLM2 alone, and an adapter of noise, talk on and on."""
    longest_answer = plan.longest_answer

    def shorter(*case: Any, **model: Any) -> int:
        return min(most, longest_answer(*case, **model))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "longest_answer", shorter)
        yield
