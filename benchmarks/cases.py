"""What is asked, as suites, and the files that are needed for it."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice, product
from pathlib import Path
from typing import Any

from contender import Work

from loracheck.cases.case import Case
from loracheck.cases.load import load_pack
from loracheck.cases.suite import Suite
from loracheck.demo import adapter_file, find_model
from loracheck.models.null import write_null
from loracheck.plan import read
from loracheck.store import Store
from loracheck.suites import build_suite

SURFACE = 6
"""Tools offered in every prompt of `with_one_surface`."""
OPENINGS = (
    "",
    "Quick one: ",
    "Please help. ",
    "Now this: ",
    "For my notes: ",
    "Hello! ",
    "One more: ",
    "Next: ",
    "When you can: ",
    "Thanks! And now: ",
    "A small thing: ",
)
WORDS = ("a", "river", "and", "the", "old", "house", "by", "some", "long", "road", "where", "many", "people", "talk")
"""Each is one token of SmolLM2's."""
NOISE = 0.005
"""So small that answers hardly change, and yet both views have to be asked."""


def with_one_surface(count: int) -> list[Case]:
    """Different questions behind the same tools."""
    cases = load_pack("demo")
    tools = list({case.surface[0].name: case.surface[0] for case in cases}.values())[:SURFACE]
    questions = [case for case in cases if case.surface[0] in tools]
    asked = islice(product(OPENINGS, questions), count)
    return [
        Case(id=str(number), prompt=f"{opening}{case.prompt}", tools=tuple(tools), gold_tool_name=case.gold)
        for number, (opening, case) in enumerate(asked, 1)
    ]


def of_length(tokens: int) -> list[Case]:
    """Eight bare texts of so many tokens. The first half is the same in all, like tools and a system text."""
    tool = load_pack("demo")[0].surface[0]
    shared = random.Random(0).choices(WORDS, k=tokens // 2)
    return [
        Case(
            id=str(seed),
            prompt=" ".join(shared + random.Random(seed).choices(WORDS, k=tokens - len(shared))),
            tool_spec=tool,
        )
        for seed in range(1, 9)
    ]


def that_expect_a_call(pack: str) -> list[Case]:
    return [case for case in load_pack(pack) if case.expect == "call"]


def write_work(path: Path, *, n_ctx: int = 1024, **of_suite: Any) -> Path:
    """A piece of work for the contenders; the suite is made as `build_suite` makes it."""
    suite = build_suite(**of_suite)
    work = Work(
        model=str(suite.models.base.gguf),
        adapter=str(suite.models.ft.adapters[0].gguf),
        prompts=_prompts(suite),
        n_ctx=n_ctx,
        threads=suite.defaults.threads,
        suite=suite.model_dump(mode="json"),
    )
    path.write_text(json.dumps(asdict(work)), encoding="utf-8")
    return path


def _prompts(suite: Suite) -> list[tuple[str, int]]:
    plan = read(suite, Store())
    asked = next(questions for questions in plan.questions if questions.view == plan.views.base)
    return [(prompt.text, prompt.max_new_tokens) for prompt in asked.prompts]


def noise_adapters(like: str, folder: Path, seeds: Sequence[int]) -> list[Path]:
    """Adapters in the shape of one that ships."""
    return [
        write_null(adapter_file(like), folder / f"{like}-{seed}.gguf", seed=seed, init_scale=NOISE) for seed in seeds
    ]


def required(model: str, adapter: str) -> Path:
    """The model's file; FileNotFoundError when it or the adapter is not there."""
    path = find_model(model)
    if path is None:
        raise FileNotFoundError(f"the model is not on this machine; `python -m loracheck.demo {model}` fetches it")
    if not adapter_file(adapter).is_file():
        raise FileNotFoundError(f"{adapter_file(adapter).name} is not there")
    return path
