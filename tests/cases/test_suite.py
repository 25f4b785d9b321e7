from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from loracheck.cases.entries import Entry, NullAdapterEntry, ToolUseEntry
from loracheck.cases.suite import AdapterEntry, Suite, adapter_entry, quick_suite
from loracheck.errors import CasesError, InputError
from suite_factory import make_case


@pytest.fixture
def suite() -> Suite:
    adapters = [AdapterEntry(gguf=Path("a.gguf"))]
    return quick_suite(Path("base.gguf"), adapters, [], [make_case(1), make_case(2)])


def tools(suite: Suite) -> ToolUseEntry:
    (entry,) = (entry for entry in suite.entries if isinstance(entry, ToolUseEntry))
    return entry


def nulls(suite: Suite) -> list[NullAdapterEntry]:
    return [entry for entry in suite.entries if isinstance(entry, NullAdapterEntry)]


def of_entries(suite: Suite, *entries: Entry) -> Suite:
    return suite.model_copy(update={"entries": entries})


def test_models_that_are_given_replace_those_of_the_file_and_the_others_stay(suite: Suite) -> None:
    stacked = suite.with_models(base_adapters=[AdapterEntry(gguf=Path("sft.gguf"))])
    assert [entry.gguf for entry in stacked.adapters] == [Path("sft.gguf"), Path("a.gguf")]
    changed = stacked.with_models(Path("other.gguf"), [AdapterEntry(gguf=Path("b.gguf"), scale=0.5)])
    assert changed.models.base.gguf == Path("other.gguf")
    assert [(entry.gguf, entry.scale) for entry in changed.adapters] == [
        (Path("sft.gguf"), 1.0),
        (Path("b.gguf"), 0.5),
    ]
    assert suite.models.base.gguf == Path("base.gguf")


def test_settings_that_are_given_win_and_the_others_stay(suite: Suite) -> None:
    changed = suite.with_defaults(n_ctx=64, threads=3).with_defaults(parallel=2)
    defaults = changed.defaults
    assert (defaults.n_ctx, defaults.threads, defaults.gpu_layers, defaults.parallel) == (64, 3, 0, 2)


def test_settings_out_of_range_are_refused(suite: Suite) -> None:
    with pytest.raises(ValidationError):
        suite.with_defaults(n_ctx=0)


def test_a_new_answer_length_wins_over_what_single_cases_ask_for(suite: Suite) -> None:
    long = suite.with_cases([make_case(max_new_tokens=99)])
    assert tools(long.with_defaults(seed=1)).cases[0].max_new_tokens == 99
    changed = long.with_defaults(max_new_tokens=5)
    assert tools(changed).cases[0].max_new_tokens is None
    assert changed.defaults.max_new_tokens == 5


def test_template_arguments_are_json(suite: Suite) -> None:
    assert suite.with_defaults(template_args={"a": [1, None]}).defaults.template_args == {"a": [1, None]}
    for odd in (object(), float("nan"), {1, 2}):
        with pytest.raises(ValidationError, match="a value that is not JSON; give text, numbers"):
            suite.with_defaults(template_args={"a": odd})


def test_cases_that_are_given_replace_those_of_the_probe_and_its_limits_stay(suite: Suite) -> None:
    strict = tools(suite).model_copy(update={"assert_z_gte": 9.0})
    changed = of_entries(suite, strict).with_cases([make_case(7)])
    assert [case.id for case in tools(changed).cases] == ["case7"]
    assert tools(changed).assert_z_gte == 9.0


def test_null_adapters_are_added_once_and_can_be_taken_off(suite: Suite) -> None:
    twice = suite.with_nulls().with_nulls()
    assert [entry.runs for entry in nulls(twice)] == [3]
    assert twice.entries[0] is nulls(twice)[0]
    assert [entry.runs for entry in nulls(twice.with_nulls(5))] == [5]
    assert twice.without_nulls().entries == suite.entries


def test_null_adapters_take_no_name_that_is_in_use(suite: Suite) -> None:
    named = of_entries(suite, tools(suite).model_copy(update={"name": "nulls"}))
    assert len({entry.name for entry in named.with_nulls().entries}) == 2


def test_a_quick_suite_asks_the_given_cases_and_nothing_else(suite: Suite) -> None:
    assert suite.entries == (tools(suite),)
    assert tools(suite).cases == (make_case(1), make_case(2))
    stacked = quick_suite(
        Path("base.gguf"), suite.adapters, [AdapterEntry(gguf=Path("sft.gguf"), scale=0.5)], tools(suite).cases
    )
    assert [entry.gguf for entry in stacked.adapters] == [Path("sft.gguf"), Path("a.gguf")]


def test_cases_that_a_limit_of_the_suite_cannot_do_without_are_asked_for(suite: Suite) -> None:
    strict = of_entries(suite, tools(suite).model_copy(update={"assert_abstention_gte": 0.5}))
    with pytest.raises(CasesError, match="do not fit the suite: assert_abstention_gte needs cases"):
        strict.with_cases([make_case()])


def test_an_adapter_may_be_written_with_its_scale(tmp_path: Path) -> None:
    assert adapter_entry("a.gguf") == AdapterEntry(gguf=Path("a.gguf"))
    assert adapter_entry("a.gguf@0.5") == AdapterEntry(gguf=Path("a.gguf"), scale=0.5)
    odd = tmp_path / "a@2"
    odd.touch()
    assert adapter_entry(odd) == AdapterEntry(gguf=odd)
    assert adapter_entry(f"{odd}@3") == AdapterEntry(gguf=odd, scale=3.0)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("a.gguf@much", "'much' in 'a.gguf@much' is not a scale; write PATH@0.5"), ("a@nan", "not a finite number")],
)
def test_a_scale_that_is_no_number_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        adapter_entry(text)


def test_every_model_file_can_be_replaced_at_once(suite: Suite) -> None:
    stacked = suite.with_models(base_adapters=[AdapterEntry(gguf=Path("sft.gguf"), scale=0.5)])
    moved = stacked.with_files(lambda path: Path("/cache") / path)
    assert moved.models.base.gguf == Path("/cache/base.gguf")
    assert [(entry.gguf, entry.scale) for entry in moved.adapters] == [
        (Path("/cache/sft.gguf"), 0.5),
        (Path("/cache/a.gguf"), 1.0),
    ]
