from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from locating.harmful_engine import HarmfulEngine
from loracheck.cases.suite import AdapterEntry
from loracheck.engine import AdapterPart
from loracheck.errors import AdapterError, InputError
from loracheck.locating import Located, locate
from loracheck.models import read_lora
from loracheck.store import Store
from models.factory import lora_tensors, model_tensors, write_adapter, write_model
from suite_factory import Files, answering, call, make_case, make_suite

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.cases.suite import Suite
    from loracheck.engine import View

LAYERS = 8
CASES = 20


def in_down(name: str) -> float:
    return 1.0 if "ffn_down" in name else 0.0


def in_the_last_layers(name: str) -> float:
    return 1.0 if name.startswith(("blk.6.", "blk.7.")) else 0.0


def everywhere(_: str) -> float:
    return 1.0


def bears_little(number: int) -> float:
    """Every second case breaks when there is harm to speak of; the others bear everything."""
    return 0.5 if number % 2 else 1e9


def bears_half(number: int) -> float:
    """As much as half of the pairs do."""
    return 12.5 if number % 2 else 1e9


@pytest.fixture
def deep(tmp_path: Path) -> Files:
    """A toy of eight layers."""
    base = write_model(tmp_path / "base.gguf", model_tensors(layers=LAYERS))
    return Files(base, write_adapter(tmp_path / "adapter.gguf", lora_tensors(layers=LAYERS)))


@pytest.fixture
def suite(deep: Files) -> Suite:
    return make_suite(deep, CASES)


def words(located: Located) -> str:
    assert located.found is not None
    assert located.found.part is not None
    return located.grid.in_words(located.found.part.mend.removed)


@pytest.mark.parametrize("traces", [True, False])
def test_the_kind_of_module_that_does_the_harm_is_named(suite: Suite, *, traces: bool) -> None:
    located = locate(suite, engine=HarmfulEngine(in_down, bears_little, traces=traces))
    assert (located.ending, words(located), located.exit_code) == ("part", "ffn_down", 0)
    assert located.found
    assert located.found.mended
    assert (located.found.mended.returned, located.found.mended.broken) == (10, 10)


def test_the_layers_that_do_the_harm_are_named(suite: Suite) -> None:
    located = locate(suite, engine=HarmfulEngine(in_the_last_layers, bears_little))
    assert (located.ending, words(located)) == ("part", "layers 6–7")


def test_harm_that_is_everywhere_is_told_as_that(suite: Suite) -> None:
    located = locate(suite, engine=HarmfulEngine(everywhere, bears_half))
    assert located.found
    assert located.ending == "spread"
    assert located.found.scale == 0.5
    assert located.exit_code == 0


def test_two_harms_apart_are_both_named(suite: Suite) -> None:
    def apart(name: str) -> float:
        return float(name in ("blk.0.attn_q.weight", "blk.7.ffn_down.weight"))

    located = locate(suite, engine=HarmfulEngine(apart, bears_little), budget=40)
    assert located.ending == "several_parts"
    assert words(located) == "layer 0 of attn_q plus layer 7 of ffn_down"


def test_an_adapter_that_passes_leaves_nothing_to_locate(suite: Suite) -> None:
    engine = answering()
    located = locate(suite, engine=engine)
    assert (located.ending, located.found, located.exit_code) == ("passed", None, 0)
    assert {view for view, _ in engine.asked} == {"base", "adapter"}


def test_an_adapter_that_fails_without_a_broken_case_is_told_as_that(deep: Files) -> None:
    cases = [make_case(number, gold_arguments={"query": "x"}) for number in range(1, 5)]
    suite = make_suite(deep, assert_exact_arguments_gte=0.9).with_cases(cases)
    located = locate(suite, engine=answering(adapter=call(query="y")))
    assert (located.report.verdict, located.ending, located.exit_code) == ("fail", "nothing_broken", 1)


def test_an_adapter_with_one_pair_has_no_parts(files: Files) -> None:
    tensors = {name: data for name, data in lora_tensors().items() if "blk.0.attn_q" in name}
    write_adapter(files.adapter, tensors)
    engine = answering()
    with pytest.raises(AdapterError, match=r"only blk\.0\.attn_q\.weight: there are no parts to tell apart") as refused:
        locate(make_suite(files), engine=engine)
    assert refused.value.exit_code == 2
    assert not engine.asked


def test_of_two_adapters_it_is_not_guessed_which_is_meant(suite: Suite, tmp_path: Path) -> None:
    second = write_adapter(tmp_path / "second.gguf", lora_tensors(layers=LAYERS, seed=1))
    several = suite.with_models(adapters=[*suite.models.ft.adapters, AdapterEntry(gguf=second)])
    with pytest.raises(InputError, match="locate looks into one adapter, and there are 2"):
        locate(several, engine=answering())


def test_a_part_that_llama_cpp_refuses_is_an_error_of_its_own(suite: Suite) -> None:
    class Refusing(HarmfulEngine):
        def answer(self, view: View, prompts: Any) -> Any:
            if any(isinstance(use.source, AdapterPart) for use in view.adapters):
                raise AdapterError("adapter.gguf: llama.cpp refuses blk.0.attn_q.weight as an adapter of its own")
            return super().answer(view, prompts)

    with pytest.raises(AdapterError, match="refuses blk"):
        locate(suite, engine=Refusing(in_down, bears_little))


def test_trials_ask_parts_and_never_a_new_file(suite: Suite) -> None:
    engine = HarmfulEngine(in_down, bears_little)
    located = locate(suite, engine=engine)
    sources = [use.source for view in engine.views for use in view.adapters]
    assert {source for source in sources if not isinstance(source, AdapterPart)} == {suite.models.ft.adapters[0].gguf}
    assert all(len(source.pairs) == 1 for source in sources if isinstance(source, AdapterPart))
    assert located.found
    assert located.found.views <= located.budget


def test_trials_ask_the_broken_cases_first_and_the_others_only_where_these_come_back(suite: Suite) -> None:
    engine = HarmfulEngine(in_down, bears_little)
    locate(suite, engine=engine)
    asked: dict[str, set[str]] = {}
    for view, case in engine.asked:
        asked.setdefault(view, set()).add(case)
    broken = {f"case{number}" for number in range(1, CASES + 1, 2)}
    trials = {view: cases for view, cases in asked.items() if view not in ("base", "adapter") and "all" not in view}
    assert all(len(cases & broken) <= 8 and len(cases - broken) <= 8 for cases in trials.values())
    assert any(not cases - broken for cases in trials.values())


def test_a_second_run_asks_nothing(suite: Suite, tmp_path: Path) -> None:
    results = []
    for _ in range(2):
        engine = HarmfulEngine(in_down, bears_little, name="the same")
        with Store(tmp_path / "answers.sqlite") as store:
            results.append(locate(suite, engine=engine, store=store))
    assert engine.asked == []
    first, second = (replace(each, seconds=0.0) for each in results)
    assert first.found
    assert second.found
    assert (first.found.harms, first.found.curve, first.answers) == (
        second.found.harms,
        second.found.curve,
        second.answers,
    )


def test_a_run_that_was_stopped_goes_on(suite: Suite, tmp_path: Path) -> None:
    class Stopped(HarmfulEngine):
        def answer(self, view: View, prompts: Any) -> Any:
            for answer in super().answer(view, prompts):
                if len(self.asked) > 60:
                    raise KeyboardInterrupt
                yield answer

    mended = tmp_path / "mended.gguf"
    whole = HarmfulEngine(in_down, bears_little)
    locate(suite, engine=whole)
    stopped, then = (kind(in_down, bears_little, name="the same") for kind in (Stopped, HarmfulEngine))
    with Store(tmp_path / "answers.sqlite") as store, pytest.raises(KeyboardInterrupt):
        locate(suite, engine=stopped, store=store, write=mended)
    assert not [path for path in tmp_path.iterdir() if "mended" in path.name]
    with Store(tmp_path / "answers.sqlite") as store:
        assert locate(suite, engine=then, store=store, write=mended).exit_code == 0
    # The file's own check comes on top.
    assert len(then.asked) < len(whole.asked) - 60 + CASES + 2


# Writing


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_mended_adapter_is_the_adapter_without_the_part(suite: Suite, deep: Files, tmp_path: Path) -> None:
    before, mended = digest(deep.adapter), tmp_path / "mended.gguf"
    located = locate(suite, engine=HarmfulEngine(in_down, bears_little), write=mended)
    assert located.writing
    assert (located.report.verdict, located.writing.report.verdict, located.exit_code) == ("fail", "pass", 0)
    kept = {pair.name for pair in read_lora(mended).pairs}
    assert kept == {pair.name for pair in read_lora(deep.adapter).pairs if "ffn_down" not in pair.name}
    assert digest(deep.adapter) == before
    # The report names the file, not what it was called before it was proven.
    assert located.writing.report.provenance.ft_adapters[0].path == str(mended)
    assert not list(tmp_path.glob(".*.part"))


def test_where_a_scale_keeps_more_of_the_update_it_is_written_into_the_file(suite: Suite, tmp_path: Path) -> None:
    def few_bear(number: int) -> float:
        # What is left at scale 0.9 is borne; so much is in every pair that one less does not do.
        return 0.9 * 24 * 1.0001 if number % 2 else 1e9

    mended = tmp_path / "mended.gguf"
    located = locate(suite, engine=HarmfulEngine(everywhere, few_bear), write=mended)
    assert located.found
    assert located.found.mended
    mend = located.found.mended.mend
    assert (read_lora(mended).alpha or 0) == pytest.approx(8.0 * mend.scale)
    assert located.exit_code == 0


def test_what_does_not_pass_as_a_file_is_not_written(suite: Suite, deep: Files, tmp_path: Path) -> None:
    class OnlyParts(HarmfulEngine):
        def harm_of(self, view: View) -> float:
            files = [use.source for use in view.adapters if not isinstance(use.source, AdapterPart)]
            return 100.0 if files not in ([], [deep.adapter]) else super().harm_of(view)

    mended = tmp_path / "mended.gguf"
    mended.write_bytes(b"an earlier one")
    located = locate(suite, engine=OnlyParts(in_down, bears_little), write=mended)
    assert located.writing
    assert not located.writing.written
    assert located.exit_code == 1
    assert mended.read_bytes() == b"an earlier one"
    assert not list(tmp_path.glob(".*.part"))


def test_the_original_is_never_the_target(suite: Suite, deep: Files) -> None:
    engine = answering()
    with pytest.raises(InputError, match="the new adapter is made from this file"):
        locate(suite, engine=engine, write=deep.adapter)
    assert not engine.asked


def test_an_adapter_at_a_scale_is_mended_for_that_scale(suite: Suite, deep: Files, tmp_path: Path) -> None:
    halved = suite.with_models(adapters=[AdapterEntry(gguf=deep.adapter, scale=0.5)])
    engine = HarmfulEngine(in_down, bears_little)
    located = locate(halved, engine=engine, write=tmp_path / "mended.gguf")
    assert located.exit_code == 0
    scales = {use.scale for view in engine.views for use in view.adapters if isinstance(use.source, AdapterPart)}
    assert scales == {0.5}
    assert located.writing
    assert located.writing.report.provenance.ft_adapters[0].scale == 0.5


def test_a_budget_that_finds_nothing_is_refused(suite: Suite) -> None:
    with pytest.raises(InputError, match="give at least 6"):
        locate(suite, engine=answering(), budget=3)


def test_it_is_told_how_far_the_parts_together_are_from_the_whole(suite: Suite) -> None:
    located = locate(suite, engine=HarmfulEngine(in_down, bears_little))
    assert located.difference
    # This engine's fingerprints tell every stack from every other.
    assert not located.difference.bitwise_same
    assert (located.difference.changed, located.difference.drift) == (0, pytest.approx(0, abs=1e-9))


def test_cases_that_are_not_asked_are_taken_to_fare_as_those_that_are(deep: Files) -> None:
    """Of forty broken cases eight are asked: their coming back is enough for the verdict of a trial."""
    engine = HarmfulEngine(in_down, lambda _: 0.5)
    located = locate(make_suite(deep, 40), engine=engine)
    assert located.ending == "part"
    assert located.asked == (8, 0)


@pytest.mark.parametrize("other", ["quantize", "models.ft.gguf"])
def test_another_model_file_is_none_to_look_into(deep: Files, suite: Suite, other: str) -> None:
    asking = suite.with_defaults(quantize="Q8_0")
    if other == "models.ft.gguf":
        ft = suite.models.ft.model_copy(update={"gguf": deep.base})
        asking = suite.model_copy(update={"models": suite.models.model_copy(update={"ft": ft})})
    with pytest.raises(InputError, match=rf"on the base's own file; take out {other}"):
        locate(asking, engine=answering())


def test_only_greedy_answers_are_asked(suite: Suite) -> None:
    class Greedy(HarmfulEngine):
        def answer(self, view: View, prompts: Any) -> Any:
            assert all(prompt.attempt is None for prompt in prompts)
            return super().answer(view, prompts)

    engine = Greedy(in_down, bears_little)
    drawn = suite.with_defaults(trials=3, temperature=0.7)
    assert locate(drawn, engine=engine).ending == locate(suite, engine=engine).ending
