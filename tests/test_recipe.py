"""The recipe of the demo adapters: data tests need no model, the smoke run needs PyTorch."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random
from types import SimpleNamespace

import gguf
import numpy as np
import pytest

import loracheck
from loracheck.cases.case import Case
from loracheck.scoring import matches_schema

ROOT = Path(__file__).resolve().parent.parent
RECIPE = ROOT / "models" / "recipe"
BASE = ROOT / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
DEMO = Path(loracheck.__file__).parent / "cases" / "packs" / "demo.jsonl"
DEV = RECIPE / "dev.jsonl"


@pytest.fixture(autouse=True)
def _recipe_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(RECIPE))


def _cases(path: Path) -> list[Case]:
    return [Case.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def test_there_are_enough_training_tools_with_one_to_four_arguments_of_every_type() -> None:
    from tools import TOOLS
    from values import schema_of

    assert len({tool.name for tool in TOOLS}) == len(TOOLS) >= 48
    assert {len(tool.arguments) for tool in TOOLS} == {1, 2, 3, 4}
    kinds = {kind for tool in TOOLS for kind in tool.arguments.values()}
    types = {schema_of(kind)["type"] for kind in kinds}
    assert types == {"string", "integer", "number", "boolean", "array"}
    assert all(len(tool.phrasings) >= 2 for tool in TOOLS)


def test_what_stands_in_brackets_is_optional() -> None:
    from tools import TOOLS

    train = next(tool for tool in TOOLS if tool.name == "find_train")
    assert (list(train.arguments), train.required) == (["origin", "destination", "date"], ["origin", "destination"])


def test_every_gold_call_of_the_training_data_is_valid_for_an_offered_tool() -> None:
    from data import lessons, plain_call

    for lesson in lessons(100, 7, plain_call):
        specs = {spec["name"]: spec for spec in lesson.tools}
        assert len(specs) == len(lesson.tools)
        for request in lesson.requests:
            assert matches_schema(request.call, specs[request.call["name"]])
            assert json.loads(request.answer) == request.call


def test_what_the_call_says_stands_in_the_request() -> None:
    from data import lessons, plain_call
    from values import NUMBER_WORDS

    for lesson in lessons(100, 7, plain_call):
        for request in lesson.requests:
            for value in request.call["arguments"].values():
                for item in value if isinstance(value, list) else [value]:
                    words = (str(item), NUMBER_WORDS.get(item) if isinstance(item, int) else None)
                    # A value that opens an order is written with a capital there.
                    said = any(word and word.lower() in request.prompt.lower() for word in words)
                    assert said or isinstance(item, bool), request


def test_the_same_seed_gives_the_same_lessons() -> None:
    from data import chatty_answer, lessons

    assert lessons(10, 3, chatty_answer) == lessons(10, 3, chatty_answer)
    assert lessons(10, 3, chatty_answer) != lessons(10, 4, chatty_answer)


def test_half_of_the_lessons_offer_one_tool_and_none_more_than_five() -> None:
    from data import lessons, plain_call

    offered = [len(lesson.tools) for lesson in lessons(1000, 1, plain_call)]
    assert 0.4 < offered.count(1) / len(offered) < 0.6
    assert set(offered) == {1, 2, 3, 4, 5}


def test_the_renamer_learns_names_that_nobody_offered() -> None:
    from data import lessons, renamed_call

    for lesson in lessons(20, 1, renamed_call):
        offered = {tool["name"] for tool in lesson.tools}
        assert offered.isdisjoint(json.loads(request.answer)["name"] for request in lesson.requests)


def test_the_chatty_adapter_learns_prose_for_questions_only() -> None:
    from data import chatty_answer, lessons, plain_call

    for lesson in lessons(30, 1, chatty_answer):
        for request in lesson.requests:
            is_call = request.answer == plain_call(request, Random(0))
            assert is_call != request.prompt.endswith("?")


@pytest.mark.parametrize("path", [DEMO, DEV], ids=lambda path: path.stem)
def test_the_held_out_cases_are_well_formed_and_have_their_own_ids(path: Path) -> None:
    cases = _cases(path)
    assert len({case.id for case in cases}) == len(cases) >= 24
    for case in cases:
        [tool] = case.surface
        call = {"name": case.gold_tool_name, "arguments": case.gold_arguments}
        assert matches_schema(call, tool.spec())


@pytest.mark.parametrize("path", [DEMO, DEV], ids=lambda path: path.stem)
def test_the_held_out_cases_use_no_tool_and_no_prompt_of_the_training_data(path: Path) -> None:
    from data import lessons, plain_call
    from tools import TOOLS

    cases = _cases(path)
    assert {_plain(tool.name) for tool in TOOLS}.isdisjoint(
        _plain(tool.spec()["name"]) for case in cases for tool in case.surface
    )
    asked = {request.prompt for lesson in lessons(300, 1, plain_call) for request in lesson.requests}
    assert asked.isdisjoint(case.conversation[-1]["content"] for case in cases)


def test_the_recipe_is_chosen_on_other_tools_than_it_is_measured_on() -> None:
    demo, dev = ({_plain(str(case.gold_tool_name)) for case in _cases(path)} for path in (DEMO, DEV))
    assert len(demo) >= 12
    assert len(dev) >= 12
    assert demo.isdisjoint(dev)


def test_the_rotary_halves_of_every_head_are_interleaved_on_export() -> None:
    from export import interleave_rotary_rows

    rows = np.arange(8).reshape(8, 1)  # two heads of four rows
    assert interleave_rotary_rows(rows, 2).ravel().tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


class _Matrix:
    """A tensor for those who have no PyTorch."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def detach(self) -> _Matrix:
        return self

    def numpy(self) -> np.ndarray:
        return self._values


def test_an_adapter_is_read_back_as_what_it_adds_to_the_weights(tmp_path: Path) -> None:
    from export import read_updates, write_adapter

    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((2, 6), (8, 2)))
    names = [f"model.layers.3.self_attn.{projection}" for projection in ("q_proj", "v_proj")]
    layers = {name: SimpleNamespace(a=_Matrix(a), b=_Matrix(b)) for name in names}
    write_adapter(tmp_path / "x.gguf", layers, name="x", alpha=4.0, heads={"q_proj": 2})
    updates = read_updates(tmp_path / "x.gguf", [*names, "model.layers.3.mlp.up_proj"], {"q_proj": 2})
    assert list(updates) == names
    for update in updates.values():
        np.testing.assert_array_equal(update, b @ a * 2)


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
