"""How many answers hang by a hair: the base asked once more, rounding otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from loracheck.checking import check
from loracheck.engine import Completion, Trace
from loracheck.engine.fake import FakeEngine
from loracheck.probes import words_of
from suite_factory import Files, call, make_suite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from loracheck.engine import Prompt, View


def flipping(view: View, prompt: Prompt) -> str:
    """The base loses its second case and words its third one differently when it is asked again."""
    if view.width is None:
        return call()
    return {"case2": "no idea", "case3": call(query="y")}.get(prompt.id, call())


def test_what_changes_when_the_base_is_asked_again_is_measured(files: Files) -> None:
    engine = FakeEngine(flipping)
    (probe,) = check(make_suite(files, 8).with_defaults(flips=True), engine=engine).judged
    flips = probe.comparison.flips
    assert flips is not None
    assert (flips.answers, flips.outcomes, flips.cases, flips.width) == (0.25, 0.125, 8, 1)
    assert flips.rate == 1.5 / 9
    assert probe.comparison.power.flip_rate == flips.rate
    assert [name for name, _ in engine.asked].count("base again") == 8
    assert any("the base changed 25.0% of its answers" in line for line in words_of(probe.kind).paragraphs(probe))


def test_without_being_asked_nothing_is_asked_twice(files: Files) -> None:
    engine = FakeEngine(flipping)
    (probe,) = check(make_suite(files, 8), engine=engine).judged
    assert probe.comparison.flips is None
    assert {name for name, _ in engine.asked} == {"base", "adapter"}


class Tracing(FakeEngine):
    """Computes the same numbers however many cases are decoded in step."""

    def answer(self, view: View, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        for index, completion in super().answer(view, prompts):
            yield index, replace(completion, trace=Trace((1,), (1,), ((1,), (2,)), ((0.0,), (0.0,)), ("a", "b")))


def test_a_model_that_rounds_alike_at_both_widths_has_no_flips_to_measure(files: Files) -> None:
    (probe,) = check(make_suite(files, 8).with_defaults(flips=True), engine=Tracing(lambda *_: call())).judged
    assert probe.comparison.flips
    assert probe.comparison.flips.rounded_alike
    assert probe.comparison.flips.rate is None
    assert probe.comparison.power.flip_rate == 0.02, "one in 50, as without measuring"
    assert any("that measures no flips" in line for line in words_of(probe.kind).paragraphs(probe))
