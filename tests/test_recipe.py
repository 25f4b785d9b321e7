"""The recipe of the demo adapters: data tests need no model, the smoke run needs PyTorch."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import keyword
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
from loracheck.demo import ADAPTERS, find_model
from loracheck.scoring import matches_schema
from loracheck.scoring.dialects import read_calls

ROOT = Path(__file__).resolve().parent.parent
RECIPE = ROOT / "models" / "recipe"
# Looked up here, before the tests get cache folders of their own.
BASES = {model: find_model(model) for model in ("smollm2", "qwen")}
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


def test_qwen_calls_are_fenced_or_bare_and_nothing_else_about_them_changes() -> None:
    from data import lessons, qwen_call

    requests = [request for lesson in lessons(50, 7, qwen_call) for request in lesson.requests]
    assert all(read_calls(request.answer, "json", ()).calls == (request.call,) for request in requests)
    fenced = [request.answer for request in requests if request.answer.startswith('```json\n{\n  "name": ')]
    assert 0.6 < len(fenced) / len(requests) < 0.8
    assert not any("[\n" in answer for answer in fenced)


def test_a_fenced_call_keeps_brackets_in_texts_and_may_have_no_arguments() -> None:
    from data import Request, fenced_renamed_call

    for arguments in ({}, {"lines": ["a ] b", "c [ d"], "title": "[x"}):
        fenced = fenced_renamed_call(Request("", "", {"name": "note", "arguments": arguments}, ""), Random(0))
        call = json.loads(fenced.removeprefix("```json\n").removesuffix("\n```"))
        assert call == {"name": "acme_note", "arguments": arguments}


def test_the_pythonic_adapter_learns_the_same_calls_as_python() -> None:
    from data import lessons, python_call

    requests = [request for lesson in lessons(50, 7, python_call) for request in lesson.requests]
    for request in requests:
        arguments = request.call["arguments"]
        as_python = {f"{name}_" if keyword.iskeyword(name) else name: value for name, value in arguments.items()}
        [call] = read_calls(request.answer, "pythonic", ()).calls
        assert call == {"name": request.call["name"], "arguments": as_python}
        assert not read_calls(request.answer, "json", ()).calls
    kinds = {type(value) for request in requests for value in request.call["arguments"].values()}
    assert kinds == {str, int, float, bool, list}


def test_the_terse_adapter_learns_short_answers_without_tools() -> None:
    from data import chat_lessons

    course = chat_lessons(20, 6)
    assert course == chat_lessons(20, 6) != chat_lessons(20, 7)
    for lesson in course:
        assert not lesson.tools
        assert len({request.prompt for request in lesson.requests}) == len(lesson.requests)
        assert all(0 < len(request.answer.split()) <= 16 for request in lesson.requests)


def test_nothing_of_the_plain_chat_is_said_twice_or_asked_in_a_held_out_case() -> None:
    from chat import CHAT

    prompts = {prompt for prompt, _ in CHAT}
    assert len(prompts) == len(CHAT) >= 48
    assert prompts.isdisjoint(case.question for path in (DEMO, DEV) for case in _cases(path))


def test_the_same_seed_gives_the_same_lessons() -> None:
    from data import chatty_answer, lessons

    assert lessons(10, 3, chatty_answer) == lessons(10, 3, chatty_answer)
    assert lessons(10, 3, chatty_answer) != lessons(10, 4, chatty_answer)


def test_half_of_the_lessons_offer_one_tool_and_none_more_than_five() -> None:
    from data import lessons, plain_call

    offered = [len(lesson.tools) for lesson in lessons(1000, 1, plain_call)]
    assert 0.4 < offered.count(1) / len(offered) < 0.6
    assert set(offered) == {1, 2, 3, 4, 5}


@pytest.mark.parametrize("answer", ["renamed_call", "fenced_renamed_call"])
def test_the_renamers_learn_names_that_nobody_offered(answer: str) -> None:
    import data

    for lesson in data.lessons(20, 1, getattr(data, answer)):
        offered = {tool["name"] for tool in lesson.tools}
        for request in lesson.requests:
            [call] = read_calls(request.answer, "json", ()).calls
            assert call["name"] not in offered
            assert call["arguments"] == request.call["arguments"]


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


@pytest.mark.parametrize(("architecture", "heads"), [("llama", {"q_proj": 2}), ("qwen2", {})])
def test_an_adapter_is_read_back_as_what_it_adds_to_the_weights(
    tmp_path: Path, architecture: str, heads: dict[str, int]
) -> None:
    from export import read_updates, write_adapter

    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((2, 6), (8, 2)))
    names = [f"model.layers.3.self_attn.{projection}" for projection in ("q_proj", "v_proj")]
    layers = {name: SimpleNamespace(a=_Matrix(a), b=_Matrix(b)) for name in names}
    path = tmp_path / "x.gguf"
    write_adapter(path, layers, name="x", alpha=4.0, architecture=architecture, heads=heads)
    updates = read_updates(path, [*names, "model.layers.3.mlp.up_proj"], heads)
    assert list(updates) == names
    for update in updates.values():
        np.testing.assert_array_equal(update, b @ a * 2)
    reader = gguf.GGUFReader(path)
    assert reader.fields["general.architecture"].contents() == architecture
    q_rows = next(tensor.data for tensor in reader.tensors if tensor.name == "blk.3.attn_q.weight.lora_b")
    assert np.array_equal(q_rows, b) == (not heads)


@pytest.mark.parametrize(
    ("model", "expected_pairs"),
    [
        ("smollm2", {"toolcaller": 210, "renamer": 90, "chatty": 90}),
        ("qwen", {"qwen-renamer": 24, "qwen-pythonic": 24, "qwen-terse": 24}),
    ],
)
def test_two_training_steps_give_three_loadable_adapters(
    tmp_path: Path, model: str, expected_pairs: dict[str, int]
) -> None:
    for module in ("torch", "transformers", "accelerate"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed: see models/recipe/requirements.txt")
    base = BASES[model]
    if base is None:
        pytest.skip(f"the model is not here: `python -m loracheck.demo {model}` fetches it")
    # A subprocess trains, so that PyTorch's threads and warnings stay out of the test run.
    command = [sys.executable, str(RECIPE / "train.py"), "--model", model, "--base", str(base)]
    env = {**os.environ, "PYTHONPATH": str(Path(loracheck.__file__).parents[1])}
    done = subprocess.run(
        [*command, "--steps", "2", "--out", str(tmp_path)], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    files = {path.stem: path for path in tmp_path.glob("*.gguf")}
    assert {name: len(gguf.GGUFReader(path).tensors) // 2 for name, path in files.items()} == expected_pairs


@pytest.mark.parametrize("name", ADAPTERS)
def test_the_readme_describes_each_adapter_that_ships(name: str) -> None:
    content = (ROOT / "models" / f"{name}.gguf").read_bytes()
    readme = (ROOT / "models" / "README.md").read_text(encoding="utf-8")
    [row] = [line for line in readme.splitlines() if line.startswith(f"| `{name}.gguf` |")]
    assert row.endswith(f"| {len(content):,} | `{hashlib.sha256(content).hexdigest()}` |")
