from __future__ import annotations

from typing import Any

import pytest

from loracheck.cases import did_you_mean, near_pairs
from loracheck.cases.fit import fit_of
from loracheck.cases.load import load_pack, pack_names
from suite_factory import make_case

WEATHER = {
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "unit": {"enum": ["C", "F"]},
            "days": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        },
        "required": ["city"],
    },
}
NOW = {"name": "now"}
SURFACE = {"tool_spec": None, "tools": [WEATHER, NOW]}


def problems(**changes: Any) -> list[str]:
    """What does not fit in a case."""
    fit = fit_of([make_case(**{**SURFACE, "gold_tool_name": "get_weather", **changes})])
    assert all((misfit.case, misfit.tool) == ("case1", "get_weather") for misfit in fit.misfits)
    return [misfit.problem for misfit in fit.misfits]


def closed(**schema: Any) -> list[dict[str, Any]]:
    """The tools on offer, one with more in its schema."""
    return [{**WEATHER, "parameters": {**WEATHER["parameters"], **schema}}, NOW]


@pytest.mark.parametrize(
    "gold",
    [None, {"city": "Rome"}, {"city": ["Rome", "Roma"], "unit": ["C", "F", None], "days": [["sat"], ["sat", "sun"]]}],
)
def test_a_case_whose_every_choice_the_schema_takes_fits(gold: Any) -> None:
    assert problems(gold_arguments=gold) == []


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        ({"city": 3}, ["city: 3 does not fit the schema"]),
        ({"city": ["Rome", 3]}, ["city: 3 does not fit the schema"]),
        ({"city": "Rome", "unit": ["K", "R"]}, [f'unit: "{unit}" does not fit the schema' for unit in "KR"]),
        ({"city": "Rome", "days": ["a", "b", "c"]}, ['days: ["a", "b", "c"] does not fit the schema']),
        ({"unit": "C"}, ["city is left out, and the schema requires it"]),
        ({"city": ["Rome", None]}, ["city is left out, and the schema requires it"]),
        ({"city": []}, ["no arguments would be right; is one of the choices empty?"]),
        ({"city": "Rome", "unti": "C"}, ["no argument 'unti' in the schema; did you mean 'unit'?"]),
        ({"city": "Rome", "x": 1, "unit": "K"}, ["no argument 'x' in the schema", 'unit: "K" does not fit the schema']),
    ],
)
def test_what_the_schema_would_not_take_is_named(gold: dict[str, Any], expected: list[str]) -> None:
    assert problems(gold_arguments=gold) == expected
    assert problems(gold_arguments=gold, tools=closed(additionalProperties=False)) == expected


def test_a_schema_may_take_arguments_that_it_does_not_list() -> None:
    gold = {"city": "Rome", "x": 1}
    for more in ({"additionalProperties": True}, {"additionalProperties": {}}, {"patternProperties": {"^x": {}}}):
        assert problems(gold_arguments=gold, tools=closed(**more)) == []
    assert problems(gold_arguments=gold, tools=closed(additionalProperties={"type": "string"})) == [
        "x: 1 does not fit the schema"
    ]


def test_arguments_that_fit_alone_and_not_together_are_a_misfit() -> None:
    together = {"not": {"required": ["unit", "days"]}}
    gold = {"city": "Rome", "unit": "C", "days": ["sat"]}
    assert problems(gold_arguments=gold, tools=closed(**together)) == ["the arguments do not fit the schema together"]


def test_every_one_of_several_calls_must_fit_and_the_same_mistake_is_named_once() -> None:
    calls = [{"name": "now"}, *[{"name": "get_weather", "arguments": {"city": 3}}] * 2]
    assert problems(gold_tool_name=None, gold_calls=calls) == ["city: 3 does not fit the schema"]


def test_a_name_that_is_not_on_offer_is_a_misfit() -> None:
    # Beside a tool_spec any name may be expected: such a case loads.
    assert problems(tool_spec={"name": "get_weathers"}, tools=None) == ["not on offer; did you mean 'get_weathers'?"]


def test_a_schema_that_is_none_is_named_once_and_nothing_is_checked_by_it() -> None:
    bad = {"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "float"}}}}
    cases = [make_case(number, tool_spec=bad, gold_arguments={"a": "x"}) for number in (1, 2)]
    (misfit,) = fit_of(cases).misfits
    assert (misfit.case, misfit.tool) == ("case1", "add")
    assert misfit.problem.startswith("parameters: properties.a.type: 'float' is not valid")


def test_cases_that_expect_no_call_or_any_fit() -> None:
    for expect in ("no_call", "any_call"):
        assert fit_of([make_case(**SURFACE, expect=expect)]).misfits == ()


def test_a_long_value_is_cut_and_a_deep_one_does_no_harm() -> None:
    (problem,) = problems(gold_arguments={"city": "Rome", "unit": "x" * 5000})
    assert len(problem) < 200
    deep: Any = "x"
    for _ in range(190):
        deep = {"a": deep}
    assert len(problems(gold_arguments={"city": "Rome", "unit": deep})) == 1


def test_tools_that_no_case_expects_by_name_are_listed_in_their_order() -> None:
    more = [{"name": name} for name in ("zip", "add", "search_web")]
    cases = [
        make_case(1, tool_spec=None, tools=[*more, NOW], gold_tool_name="now"),
        make_case(2, tool_spec=None, tools=[*more, WEATHER], gold_calls=[{"name": "add"}]),
        make_case(3, tool_spec=None, tools=[*more, WEATHER], expect="any_call"),
    ]
    assert fit_of(cases).not_asked_for == ("zip", "search_web", "get_weather")


def test_names_are_near_when_a_misspelling_would_suggest_the_other() -> None:
    names = ["get_user", "get_users", "delete_user", "clock", "get_weather"]
    pairs = near_pairs(names)
    for number, word in enumerate(names):
        for other in names[number + 1 :]:
            # The same measure, and the same side for the word that is looked for.
            assert ((word, other) in pairs) == bool(did_you_mean(word, [other]))
    assert max(pairs, key=lambda pair: pairs[pair]) == ("get_user", "get_users")


def test_only_tools_that_are_on_offer_together_can_be_confused() -> None:
    one, two, far = {"name": "get_user"}, {"name": "get_users"}, {"name": "clock"}
    apart = [make_case(1, tool_spec=one), make_case(2, tool_spec=two)]
    assert fit_of(apart).near == ()
    together = make_case(3, tool_spec=None, tools=[two, far, one], gold_tool_name="clock")
    assert fit_of([*apart, together]).near == (("get_user", "get_users"),)


@pytest.mark.parametrize("name", pack_names())
def test_the_built_in_packs_fit(name: str) -> None:
    assert fit_of(load_pack(name)).misfits == ()
