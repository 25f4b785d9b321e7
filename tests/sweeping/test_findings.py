from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from loracheck.results import CaseReport, ProbeReport, Report
from loracheck.sweeping.building import build
from loracheck.sweeping.results import Figures, Sweep, SweepCell, figures_of
from report.factory import answer, make_case, make_probe, report_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loracheck.results import Verdict

RIGHT, WRONG = answer('{"name": "f"}', "valid", {"name": "f"}), answer("no", "no_call")


def case(number: int, *, right: bool) -> CaseReport:
    return make_case(number, "toolcaller", id=f"case{number}", base=RIGHT, ft=RIGHT if right else WRONG)


def report(wrong: Iterable[int], cases: int = 20) -> Report:
    """A report on so many cases, in which the adapter gets some wrong and the base none."""
    wrong = set(wrong)
    return report_of(make_probe([case(number, right=number not in wrong) for number in range(cases)]))


def cell(wrong: Iterable[int] | None, verdict: Verdict | None = None, **place: Any) -> SweepCell:
    """One that was judged, or with None one that was not."""
    found = None if wrong is None else report(wrong)
    return SweepCell(
        **{"base": "base.gguf", "adapter": "a.gguf", "scale": 1.0, **place},
        verdict=verdict or (found.verdict if found else "error"),
        reason=None if found else "because",
        figures=figures_of(found) if found else Figures(),
        report=found,
    )


def along_scales(**wrong: Iterable[int] | None) -> Sweep:
    """`s50` is the cell at scale 0.5."""
    cells = [cell(which, scale=int(name[1:]) / 100) for name, which in wrong.items()]
    return build(cells, {})


def test_the_largest_scale_that_passes_is_named() -> None:
    found = along_scales(s25=[], s50=[], s100=range(10))
    assert found.findings[0] == "a.gguf: the largest scale that passes is 0.5."


def test_a_scale_that_fails_below_one_that_passes_is_named_too() -> None:
    found = along_scales(s25=range(5), s50=[], s100=range(10))
    assert found.findings[0] == "a.gguf: the largest scale that passes is 0.5, but 0.25 below it fails."


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"s50": range(9), "s100": range(10)}, "a.gguf: no scale passes."),
        ({"s50": [], "s100": []}, "a.gguf: every scale that was judged passes, up to 1."),
    ],
)
def test_where_all_or_none_passes_it_says_so(wrong: dict[str, Any], sentence: str) -> None:
    assert along_scales(**wrong).findings[0] == sentence


def test_scales_are_taken_in_their_order_however_they_were_given() -> None:
    found = along_scales(s100=range(12), s25=[], s50=[])
    assert [found.cells[number].scale for number in found.curves[0].cells] == [0.25, 0.5, 1.0]
    assert found.curves[0].shape == "falls"


def test_a_fall_that_chance_explains_is_noise() -> None:
    found = along_scales(s25=[], s50=[1, 2], s75=[3], s100=[1, 2, 3])
    assert found.curves[0].shape == "flat"
    assert found.findings[1] == (
        "a.gguf: right calls go from 100.0% at 0.25 to 85.0% at 1; "
        "what moves between neighbours is noise (McNemar p of 0.05 or more)."
    )


def test_a_fall_in_small_steps_is_a_fall_over_the_whole_way() -> None:
    found = along_scales(s25=[], s50=range(3), s75=range(6), s100=range(9))
    assert all(step.is_noise for step in found.curves[0].steps)
    assert found.curves[0].shape == "falls"
    assert "the curve falls monotonely, over the whole way 9 lost, 0 gained: p 0.0039" in found.findings[1]


def test_a_curve_that_falls_and_rises_again_is_not_monotone() -> None:
    found = along_scales(s25=[], s50=range(10), s100=[])
    assert found.curves[0].shape == "not monotone"
    assert "down from 0.25 to 0.5 (10 lost, 0 gained: p 0.002), up from 0.5 to 1" in found.findings[1]


def test_where_no_answer_changes_it_says_so() -> None:
    found = along_scales(s25=[1], s50=[1])
    assert found.findings[1].endswith("no answer changes between right and wrong.")


def test_a_cell_that_could_not_run_is_stepped_over() -> None:
    found = along_scales(s25=[], s50=None, s100=range(10))
    assert len(found.curves[0].steps) == 1
    assert "down from 0.25 to 1 (10 lost, 0 gained: p 0.002)" in found.findings[1]


def test_a_cell_without_effect_counts_with_its_bases_answers() -> None:
    bare = SweepCell(base="base.gguf", adapter="a.gguf", scale=0, verdict="skip", reason="at scale 0 …")
    found = build([bare, cell(range(10))], {})
    assert found.cells[0].figures.right_calls == 1
    assert (found.curves[0].steps[0].lost, found.curves[0].steps[0].gained) == (10, 0)


def checkpoints(**wrong: Iterable[int] | None) -> Sweep:
    """`c10` is checkpoint-10, `end` the final adapter."""
    cells = [
        cell(
            which,
            adapter="outputs" if name == "end" else f"checkpoint-{name[1:]}",
            run="outputs",
            checkpoint=None if name == "end" else int(name[1:]),
        )
        for name, which in wrong.items()
    ]
    return build(cells, {})


def test_the_first_checkpoint_that_fails_is_named() -> None:
    found = checkpoints(c10=[], c20=[], c30=range(10), end=range(12))
    assert found.findings[0] == "outputs: the first checkpoint that fails is checkpoint-30, those before it pass."
    assert found.curves[0].axis == "checkpoint"
    assert "from 100.0% at 10 to 40.0% at the end" in found.findings[1]


def test_a_later_checkpoint_that_passes_again_is_named() -> None:
    found = checkpoints(c10=range(10), c20=[], c30=range(10))
    assert found.findings[0] == (
        "outputs: the first checkpoint that fails is checkpoint-10, the very first one that was judged; "
        "later, checkpoint-20 passes again."
    )


def test_every_base_has_its_own_curve_and_is_named() -> None:
    cells = [cell([], scale=scale, base=base) for base in ("a", "b") for scale in (0.5, 1.0)]
    found = build([*cells[:3], cell(range(10), scale=1.0, base="b")], {})
    assert [curve.of for curve in found.curves] == ["a.gguf on a", "a.gguf on b"]
    assert "Bases on which every cell passes: a, of 2." in found.findings


def test_alternatives_that_pass_are_listed() -> None:
    found = build([cell([], adapter="good"), cell(range(9), adapter="bad"), cell([], adapter="fine")], {})
    assert found.findings == ("Adapters that pass somewhere: good and fine, of 3.",)


def test_where_no_cell_has_an_effect_that_is_all_there_is_to_say() -> None:
    bare = SweepCell(base="b", adapter="a", scale=0, verdict="skip", reason="at scale 0 …")
    assert build([bare], {}).findings == ("No cell has an effect: each computes what its base does.",)


def test_figures_of_several_probes_are_over_all_their_cases() -> None:
    def probe(name: str, wrong: int, cases: int) -> ProbeReport:
        made = make_probe([case(number, right=number >= wrong) for number in range(cases)])
        return made.model_copy(update={"name": name})

    both = report_of(probe("one", 0, 10), probe("two", 15, 30))
    figures = figures_of(both)
    assert figures.cases == 40
    assert figures.valid_calls == pytest.approx(25 / 40)
    assert figures.right_calls == pytest.approx(25 / 40)
    assert figures.valid_calls_floor == pytest.approx(0.95)
