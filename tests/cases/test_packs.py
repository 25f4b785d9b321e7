"""The built-in packs: every case fair, all kinds of arguments in balance, nothing in them that adapters trained on."""

from __future__ import annotations

import json
import re
import runpy
from collections import Counter
from difflib import SequenceMatcher
from importlib.resources import files
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from loracheck.cases.load import load_pack
from loracheck.scoring import matches_schema
from loracheck.scoring.arguments import arguments_match

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loracheck.cases.case import Case

RECIPE_TOOLS = Path(__file__).resolve().parents[2] / "models" / "recipe" / "tools.py"
PACKS = sorted(
    entry.name.removesuffix(".jsonl")
    for entry in files("loracheck.cases").joinpath("packs").iterdir()
    if entry.is_file()
)
CORE = load_pack("core")
CALLS = [case for case in CORE if case.expect == "call"]

# What the ids of core begin with, and the fewest cases of each: about the same mix however large the pack grows.
MIX = {
    "near_name": 20, "no_call": 20, "nested": 12, "optional": 12, "array": 10, "boolean": 10, "unicode": 10,
    "context": 8, "enum": 8, "long": 6, "number": 6, "language": 5, "integer": 4, "string": 4,
}  # fmt: skip


def parameters_of(case: Case) -> dict[str, Any]:
    (parameters,) = (tool.parameters for tool in case.surface if tool.name == case.gold)
    assert parameters is not None
    return parameters


def every_reading(gold: dict[str, Any], schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All arguments that the gold ones accept, written out."""
    options: list[list[dict[str, Any]]] = []
    for name, value in gold.items():
        declared = schema["properties"][name]
        accepted = value if is_choice(value, declared) else [value]
        options.append([])
        for one in accepted:
            inner = every_reading(one, declared) if isinstance(one, dict) else [one]
            options[-1] += [{} if one is None else {name: written} for written in inner]
    for chosen in product(*options):
        yield {name: value for part in chosen for name, value in part.items()}


def is_choice(gold: Any, declared: dict[str, Any]) -> bool:
    of_arrays = isinstance(gold, list) and any(option is None or isinstance(option, list) for option in gold)
    return isinstance(gold, list) and (declared["type"] != "array" or of_arrays)


def kinds_of(case: Case) -> set[str]:
    """What the gold call has: the types of its arguments, and optional ones left out or filled in."""
    schema, gold = parameters_of(case), case.gold_arguments or {}
    kinds: set[str] = set()
    for name, declared in schema["properties"].items():
        if name not in gold or (is_choice(gold[name], declared) and None in gold[name]):
            kinds.add("optional left out")
            continue
        kinds.add("enum" if "enum" in declared else declared["type"])
        if name not in schema["required"]:
            kinds.add("optional filled in")
    return kinds


def names_of(case: Case) -> tuple[str, ...]:
    return tuple(tool.name for tool in case.surface)


def plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def plain_words(request: str) -> str:
    """The request with nothing but its letters and digits: two that differ only in punctuation are the same."""
    return "".join(letter for letter in request.lower() if letter.isalnum())


@pytest.mark.parametrize("pack", PACKS)
def test_every_reading_of_the_gold_arguments_fits_the_tools_own_schema(pack: str) -> None:
    for case in load_pack(pack):
        if case.expect == "call":
            schema = parameters_of(case)
            assert case.gold_arguments is not None, case.id
            for arguments in every_reading(case.gold_arguments, schema):
                assert matches_schema({"name": case.gold, "arguments": arguments}, {"parameters": schema}), case.id
                validator = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
                assert not list(validator.iter_errors(arguments)), case.id
                assert arguments_match(case.gold_arguments, arguments, schema), case.id


@pytest.mark.parametrize("pack", PACKS)
def test_every_tool_has_a_well_formed_schema_that_declares_what_it_requires(pack: str) -> None:
    for tool in {tool.name: tool for case in load_pack(pack) for tool in case.surface}.values():
        assert tool.description, tool.name
        assert tool.parameters is not None, tool.name
        Draft202012Validator.check_schema(tool.parameters)
        assert set(tool.parameters["required"]) <= set(tool.parameters["properties"]), tool.name


@pytest.mark.parametrize("pack", PACKS)
def test_ids_and_questions_differ(pack: str) -> None:
    cases = load_pack(pack)
    assert len({case.id for case in cases}) == len({plain_words(case.question) for case in cases}) == len(cases)
    assert all(re.fullmatch(r"[a-z_]+_\d+", case.id) for case in cases)


@pytest.mark.parametrize("pack", PACKS)
def test_answers_are_bounded_to_keep_a_run_quick_and_thinking_before_them_is_not(pack: str) -> None:
    for case in load_pack(pack):
        assert case.max_new_tokens is None, "a model that thinks first needs more room than that"
        assert case.answer_tokens is not None
        assert 64 <= case.answer_tokens <= 256


def test_every_gold_call_fits_into_its_tokens() -> None:
    for case in CALLS:
        longest = max(
            len(json.dumps(a, ensure_ascii=False))
            for a in every_reading(case.gold_arguments or {}, parameters_of(case))
        )
        # Two characters a token is more than any tokenizer needs for English, and a call has a name and a fence too.
        assert longest / 2 + 24 <= (case.answer_tokens or 0), case.id


def test_one_tool_name_has_one_schema_throughout_a_pack() -> None:
    specs = {(tool.name, json.dumps(tool.spec())) for case in CORE for tool in case.surface}
    assert len(specs) == len({name for name, _ in specs})


def test_every_turn_has_text_because_many_templates_just_add_it_up() -> None:
    assert all(message.content is not None for case in CORE for message in case.messages or ())


@pytest.mark.parametrize(
    "kind",
    ["string", "integer", "number", "boolean", "enum", "array", "object", "optional left out", "optional filled in"],
)
def test_core_has_every_kind_of_argument_in_at_least_ten_gold_calls(kind: str) -> None:
    assert sum(kind in kinds_of(case) for case in CALLS) >= 10


def test_core_offers_one_to_twelve_tools_and_several_cases_share_each_surface() -> None:
    cases_per_surface = Counter(names_of(case) for case in CORE)
    assert {len(names) for names in cases_per_surface} == set(range(1, 13))
    assert all(count >= (3 if len(names) > 1 else 2) for names, count in cases_per_surface.items())


def test_core_has_enough_cases_to_measure_with_and_some_that_want_no_call() -> None:
    assert len(CALLS) >= 124
    assert sum(case.expect == "no_call" for case in CORE) >= 20
    assert sum(case.messages is not None for case in CORE) >= 10
    assert any(message.role == "tool" for case in CALLS for message in case.messages or ())
    assert any(message.role == "system" for case in CALLS for message in case.messages or ())


def test_core_has_its_mix_of_cases_and_no_kind_outweighs_the_others() -> None:
    cases_of_kind = Counter(re.sub(r"_\d+$", "", case.id) for case in CORE)
    assert cases_of_kind.keys() == MIX.keys()
    assert all(cases_of_kind[kind] >= fewest for kind, fewest in MIX.items())
    assert max(cases_of_kind.values()) <= len(CORE) / 5
    assert {case.id for case in CORE if case.id.startswith("no_call")} == {c.id for c in CORE if c.expect == "no_call"}


def test_the_prompts_of_core_stay_short_because_every_view_reads_all_of_them() -> None:
    lengths = [
        len(json.dumps(part, ensure_ascii=False))
        for case in CORE
        for part in ([tool.spec() for tool in case.surface], case.conversation)
    ]
    assert sum(lengths) / len(CORE) <= 2_090


def test_core_has_names_that_are_easily_mistaken_for_each_other() -> None:
    alike = {
        names: [pair for pair in combinations(names, 2) if SequenceMatcher(None, *pair).ratio() > 0.8]
        for names in map(names_of, CALLS)
    }
    assert sum(bool(pairs) for pairs in alike.values()) >= 8
    assert len({pair for pairs in alike.values() for pair in pairs}) >= 12


def test_core_has_values_in_other_scripts_and_long_ones() -> None:
    written = [next(every_reading(case.gold_arguments or {}, parameters_of(case))) for case in CALLS]
    texts = [[json.dumps(value, ensure_ascii=False) for value in arguments.values()] for arguments in written]
    assert sum(not "".join(values).isascii() for values in texts) >= 10
    assert sum(any(len(value) > 200 for value in values) for values in texts) >= 6


def test_smoke_is_a_dozen_cases_of_core_on_small_surfaces() -> None:
    smoke = load_pack("smoke")
    assert len(smoke) == 12
    assert all(case in CORE for case in smoke)
    assert max(len(case.surface) for case in smoke) <= 6
    assert [case.expect for case in smoke].count("no_call") == 1


def test_no_tool_of_core_is_one_that_the_demo_asks_for_or_its_adapters_trained_on() -> None:
    trained = {plain(tool.name) for tool in runpy.run_path(str(RECIPE_TOOLS))["TOOLS"]}
    asked = {plain(tool.name) for case in load_pack("demo") for tool in case.surface}
    assert len(trained) >= 48
    assert (trained | asked).isdisjoint(plain(tool.name) for case in CORE for tool in case.surface)
