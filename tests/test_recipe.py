"""The recipe of the demo adapters: data tests need no model, the smoke run needs PyTorch."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import gguf
import numpy as np
import pytest

import loracheck
from loracheck.scoring import matches_schema
from loracheck.suite.case import Case

ROOT = Path(__file__).resolve().parent.parent
RECIPE = ROOT / "models" / "recipe"
BASE = ROOT / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
PACK = Path(loracheck.__file__).parent / "suite" / "packs" / "demo.jsonl"


@pytest.fixture(autouse=True)
def _recipe_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(RECIPE))


def _cases() -> list[dict[str, Any]]:
    return [json.loads(line) for line in PACK.read_text(encoding="utf-8").splitlines()]


def test_there_are_enough_training_tools_with_one_to_four_arguments_of_every_type() -> None:
    from tools import TOOLS
    from values import schema_of

    assert len({tool.name for tool in TOOLS}) == len(TOOLS) >= 48
    assert {len(tool.arguments) for tool in TOOLS} == {1, 2, 3, 4}
    kinds = {kind for tool in TOOLS for kind in tool.arguments.values()}
    types = {schema_of(kind)["type"] for kind in kinds}
    assert types == {"string", "integer", "number", "boolean", "array"}
    assert all(len(tool.phrasings) >= 2 for tool in TOOLS)


def test_every_gold_call_of_the_training_data_is_valid_for_an_offered_tool() -> None:
    from data import examples, plain_call

    for example in examples(500, 7, plain_call):
        specs = [spec for spec in example.tools if spec["name"] == example.call["name"]]
        assert len(specs) == 1
        assert matches_schema(example.call, specs[0])
        assert json.loads(example.answer) == example.call


def test_the_same_seed_gives_the_same_examples() -> None:
    from data import chatty_answer, examples

    assert examples(40, 3, chatty_answer) == examples(40, 3, chatty_answer)
    assert examples(40, 3, chatty_answer) != examples(40, 4, chatty_answer)


def test_half_of_the_training_prompts_offer_one_tool_and_none_more_than_five() -> None:
    from data import examples, plain_call

    offered = [len(example.tools) for example in examples(1000, 1, plain_call)]
    assert 0.4 < offered.count(1) / len(offered) < 0.6
    assert set(offered) == {1, 2, 3, 4, 5}


def test_the_renamer_learns_names_that_nobody_offered() -> None:
    from data import examples, renamed_call

    for example in examples(100, 1, renamed_call):
        assert json.loads(example.answer)["name"] not in {tool["name"] for tool in example.tools}


def test_the_chatty_adapter_learns_prose_for_questions_only() -> None:
    from data import chatty_answer, examples, plain_call

    for example in examples(200, 1, chatty_answer):
        is_call = example.answer == plain_call(example, Random(0))
        assert is_call != example.prompt.endswith("?")


def test_the_demo_pack_holds_well_formed_cases_with_their_own_ids() -> None:
    cases = _cases()
    assert len(cases) >= 24
    assert len({case["id"] for case in cases}) == len(cases)
    assert len({case["gold_tool_name"] for case in cases}) >= 12
    for case in cases:
        Case.model_validate(case)
        call = {"name": case["gold_tool_name"], "arguments": case["gold_arguments"]}
        assert matches_schema(call, case["tool_spec"])


def test_the_demo_pack_uses_no_tool_and_no_prompt_of_the_training_data() -> None:
    from data import examples, plain_call
    from tools import TOOLS

    trained = {tool.name.lower().replace("_", "") for tool in TOOLS}
    cases = _cases()
    assert trained.isdisjoint(case["gold_tool_name"].replace("_", "") for case in cases)
    asked = {example.prompt for example in examples(1000, 1, plain_call)}
    assert asked.isdisjoint(case["prompt"] for case in cases)


def test_the_rotary_halves_of_every_head_are_interleaved_on_export() -> None:
    from export import interleave_rotary_rows

    rows = np.arange(8).reshape(8, 1)  # two heads of four rows
    assert interleave_rotary_rows(rows, 2).ravel().tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


def test_two_training_steps_give_three_loadable_adapters(tmp_path: Path) -> None:
    for module in ("torch", "transformers", "accelerate"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed: see models/recipe/requirements.txt")
    if not BASE.exists():
        pytest.skip(f"{BASE.name} is missing: see models/README.md")
    # A subprocess trains, so that PyTorch's threads and warnings stay out of the test run.
    command = [sys.executable, str(RECIPE / "train.py"), "--steps", "2", "--out", str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(Path(loracheck.__file__).parents[1])}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    files = {path.stem: path for path in tmp_path.glob("*.gguf")}
    pairs = {name: len(gguf.GGUFReader(path).tensors) // 2 for name, path in files.items()}
    assert pairs == {"toolcaller": 210, "renamer": 90, "chatty": 90}
