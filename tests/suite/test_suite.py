from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from loracheck import quick_suite
from loracheck.engine import Settings
from loracheck.errors import CasesError
from loracheck.probes.null_adapter import NullAdapterProbe
from loracheck.probes.tool_use_fidelity import ToolUseFidelityProbe
from loracheck.suite.suite import AdapterEntry, Suite
from suite_factory import Files, make_case, make_suite


@pytest.fixture
def suite() -> Suite:
    return make_suite(Files(Path("base.gguf"), Path("a.gguf")), cases=2)


def tools(suite: Suite) -> ToolUseFidelityProbe:
    (probe,) = (probe for probe in suite.suite if isinstance(probe, ToolUseFidelityProbe))
    return probe


def noise(suite: Suite) -> list[NullAdapterProbe]:
    return [probe for probe in suite.suite if isinstance(probe, NullAdapterProbe)]


def test_models_that_are_given_replace_those_of_the_file_and_the_others_stay(suite: Suite) -> None:
    stacked = suite.with_models(base_adapters=[AdapterEntry(gguf=Path("sft.gguf"))])
    assert [use.source for use in stacked.ft_view.adapters] == [Path("sft.gguf"), Path("a.gguf")]
    changed = stacked.with_models(Path("other.gguf"), [AdapterEntry(gguf=Path("b.gguf"), scale=0.5)])
    assert changed.models.base.gguf == Path("other.gguf")
    assert [(use.source, use.scale) for use in changed.ft_view.adapters] == [
        (Path("sft.gguf"), 1.0),
        (Path("b.gguf"), 0.5),
    ]
    assert suite.models.base.gguf == Path("base.gguf")


def test_settings_that_are_given_win_and_the_others_stay(suite: Suite) -> None:
    changed = suite.with_defaults(n_ctx=64, threads=3).with_defaults(parallel=2)
    assert changed.settings == Settings(n_ctx=64, threads=3, gpu_layers=0, parallel=2)


def test_settings_out_of_range_are_refused(suite: Suite) -> None:
    with pytest.raises(ValidationError):
        suite.with_defaults(n_ctx=0)


def test_a_new_answer_length_wins_over_what_single_cases_ask_for(suite: Suite) -> None:
    long = suite.with_cases([make_case(max_new_tokens=99)])
    assert tools(long.with_defaults(seed=1)).cases[0].max_new_tokens == 99
    changed = long.with_defaults(max_new_tokens=5)
    assert tools(changed).cases[0].max_new_tokens is None
    assert changed.defaults.max_new_tokens == 5


def test_cases_that_are_given_replace_those_of_the_probe_and_its_limits_stay(suite: Suite) -> None:
    strict = tools(suite).model_copy(update={"assert_z_gte": 9.0})
    changed = suite.model_copy(update={"suite": (strict,)}).with_cases([make_case(7)])
    assert [case.id for case in tools(changed).cases] == ["case7"]
    assert tools(changed).assert_z_gte == 9.0


def test_a_noise_baseline_is_added_once_and_can_be_taken_off(suite: Suite) -> None:
    twice = suite.with_nulls().with_nulls()
    assert [probe.runs for probe in noise(twice)] == [3]
    assert twice.suite[0] is noise(twice)[0]
    assert [probe.runs for probe in noise(twice.with_nulls(5))] == [5]
    assert twice.without_nulls().suite == suite.suite


def test_the_noise_baseline_takes_no_name_that_is_in_use(suite: Suite) -> None:
    named = suite.model_copy(update={"suite": (tools(suite).model_copy(update={"name": "noise"}),)})
    assert len({probe.name for probe in named.with_nulls().suite}) == 2


def test_a_quick_suite_asks_the_built_in_cases_against_noise() -> None:
    suite = quick_suite(Path("base.gguf"), [AdapterEntry(gguf=Path("a.gguf"))])
    assert len(tools(suite).cases) >= 24
    assert [probe.runs for probe in noise(suite)] == [3]


def test_cases_that_a_limit_of_the_suite_cannot_do_without_are_asked_for(files: Files) -> None:
    suite = make_suite(files, assert_abstention_gte=0.5)
    with pytest.raises(CasesError, match="do not fit the suite: assert_abstention_gte needs cases"):
        suite.with_cases([make_case()])
