"""Several tries at each case, from the suite to the words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from loracheck.checking import check, planned
from loracheck.engine.fake import FakeEngine
from loracheck.errors import SuiteError
from loracheck.judge import judge_again
from loracheck.probes import tries_words, words_of
from loracheck.report.json import render
from loracheck.results import Report, differences
from loracheck.store import Store
from suite_factory import Files, call, make_case, make_suite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from loracheck.cases.suite import Suite
    from loracheck.engine import Completion, Prompt, View
    from loracheck.results import ProbeReport

CASES, TRIES = 8, 5


def luck(view: View, prompt: Prompt) -> str:
    """Greedy answers are right; of the tries with the adapter, the third of case1 and all but one of case2 are not."""
    number = prompt.attempt and prompt.attempt.number
    if view.name != "adapter" or number is None:
        return call()
    wrong = {"case1": {2}, "case2": {0, 1, 2, 3}}.get(prompt.id, set())
    return "no idea" if number in wrong else call()


def suite_of(files: Files, cases: int = CASES, **defaults: Any) -> Suite:
    return make_suite(files, cases).with_defaults(**{"trials": TRIES, "temperature": 0.7, **defaults})


def limited(suite: Suite, bound: float) -> Suite:
    limit = {"assert_pass_hat_k_delta_gte": bound}
    return suite.model_copy(update={"entries": tuple(entry.model_copy(update=limit) for entry in suite.entries)})


def run(suite: Suite, engine: FakeEngine | None = None, store: Store | None = None) -> Report:
    return check(suite, engine=engine or FakeEngine(luck), store=store)


def probe_of(report: Report) -> ProbeReport:
    """As a reader of the file would find it."""
    [probe] = Report.model_validate_json(render(report)).judged
    return probe


def test_tries_are_told_beside_a_verdict_that_does_not_look_at_them(files: Files) -> None:
    probe = probe_of(run(suite_of(files)))
    tries = probe.comparison.tries
    assert tries is not None
    assert (probe.verdict, probe.ft_value) == ("pass", 1.0), "the greedy answers decide"
    assert (tries.cases, tries.tries) == (CASES, TRIES)
    assert (tries.exact.base, tries.exact.ft) == (1.0, 1 - 5 / 40)
    assert (tries.exact.worse, tries.exact.better, tries.exact.flaky_ft) == (2, 0, ("case1", "case2"))
    assert tries.all_right
    assert tries.all_right.counts == (6, 2, 0, 0)
    assert [answer.outcome for answer in probe.cases[0].ft.tries] == ["valid", "valid", "no_call", "valid", "valid"]
    (line,) = [line for line in words_of(probe.kind).paragraphs(probe) if "tries" in line]
    assert line == (
        "5 tries at each of 8 cases: valid calls 100.0% to 87.5%, as expected 100.0% to 87.5% "
        "(change -12.5 points, 95% interval -32 to +0), all 5 right 100.0% to 75.0%."
    )
    assert list(tries_words.details(tries))[1:] == ["Now as expected and now not, only with the adapter: case1, case2."]


def test_without_being_asked_nothing_is_drawn(files: Files) -> None:
    engine = FakeEngine(luck)
    probe = probe_of(run(make_suite(files, CASES), engine))
    assert probe.comparison.tries is None
    assert len(engine.asked) == 2 * CASES


def test_both_views_draw_with_the_same_luck_and_each_try_is_asked_once(files: Files) -> None:
    asked: dict[str, list[Any]] = {"base": [], "adapter": []}

    def reply(view: View, prompt: Prompt) -> str:
        asked[view.name].append(prompt.question)
        return call()

    run(suite_of(files, seed=3, top_k=40), FakeEngine(reply))
    assert asked["base"] == asked["adapter"]
    assert len(set(asked["base"])) == len(asked["base"]) == CASES * (TRIES + 1)
    drawn = [attempt for *_, attempt in asked["base"] if attempt]
    assert {(each.seed, each.sampling.temperature, each.sampling.top_k) for each in drawn} == {(3, 0.7, 40)}


class Watching(FakeEngine):
    """Remembers which prompts were to be traced or followed."""

    def __init__(self) -> None:
        super().__init__(luck)
        self.extra: list[Prompt] = []

    def answer(self, view: View, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        self.extra += [prompt for prompt in prompts if prompt.traced or prompt.follow]
        return super().answer(view, prompts)


def test_what_is_drawn_is_neither_traced_nor_does_it_follow(files: Files) -> None:
    engine = Watching()
    run(suite_of(files), engine)
    assert len(engine.extra) == CASES
    assert {prompt.attempt for prompt in engine.extra} == {None}


def test_at_temperature_0_every_try_is_the_greedy_answer(files: Files) -> None:
    engine = FakeEngine(luck)
    probe = probe_of(run(suite_of(files, temperature=0), engine))
    assert len(engine.asked) == 2 * CASES, "which is asked only once"
    tries = probe.comparison.tries
    assert tries is not None
    assert (tries.tries, tries.exact.base, tries.exact.ft) == (TRIES, 1.0, 1.0)
    assert all(answer.text == case.ft.text for case in probe.cases for answer in case.ft.tries)


def test_a_second_run_takes_every_try_from_the_store_and_only_more_tries_are_asked_for(
    files: Files, cache_folder: Any
) -> None:
    with Store(cache_folder / "answers.sqlite") as store:
        first = run(suite_of(files), FakeEngine(luck, name="toy"), store)
        engine = FakeEngine(luck, name="toy")
        assert list(differences(first, run(suite_of(files), engine, store))) == []
        assert engine.asked == []
        run(suite_of(files, trials=TRIES + 1), engine, store)
        assert len(engine.asked) == 2 * CASES
        assert f"view     base: {CASES * (TRIES + 1)} prompts" in "\n".join(planned(suite_of(files), store, engine))


def test_tries_at_cases_that_fit_no_tool_are_kept_and_not_counted(files: Files) -> None:
    suite = make_suite(files).with_cases([make_case(1), make_case(2, expect="no_call")])
    probe = probe_of(run(suite.with_defaults(trials=3, temperature=1.0)))
    assert probe.comparison.tries
    assert probe.comparison.tries.cases == 1
    assert len(probe.cases[1].base.tries) == 3


@pytest.mark.parametrize(("bound", "verdict"), [(-0.25, "pass"), (-0.2, "fail")])
def test_a_limit_on_pass_hat_k_is_judged_where_it_is_given(files: Files, bound: float, verdict: str) -> None:
    report = run(limited(suite_of(files), bound))
    probe = probe_of(report)
    assert probe.verdict == verdict
    rows = {row.name: row for row in words_of(probe.kind).rows(probe)}
    row = rows["all 5 as expected"]
    assert (row.base, row.adapter, row.change, row.kept) == ("100.0%", "75.0%", "-25.0 points", verdict == "pass")
    assert probe.comparison.certainty["assert_pass_hat_k_delta_gte"].grade in ("may_be_chance", "real_drop")
    if verdict == "fail":
        assert probe.message.endswith("missed: pass^k -25.0 points is under the limit of -20.0")
        (reason,) = words_of(probe.kind).reasons(probe)
        assert reason.headline == "All 5 tries are as expected in 75.0% of the cases, in the base in 100.0%."
        assert "the change of pass^k may be" in (words_of(probe.kind).caution(probe) or "")


def test_another_limit_on_pass_hat_k_is_judged_without_a_model(files: Files) -> None:
    report = run(suite_of(files))
    assert judge_again(report, {"assert_pass_hat_k_delta_gte": -0.2}).verdict == "fail"
    again = judge_again(report, {"assert_pass_hat_k_delta_gte": -0.5})
    assert again.verdict == "pass"
    assert again.probes[0].comparison.tries == report.probes[0].comparison.tries


def test_a_limit_on_pass_hat_k_without_tries_is_refused_before_anything_is_asked(files: Files) -> None:
    with pytest.raises(SuiteError, match="tools_intact: assert_pass_hat_k_delta_gte needs trials and a temperature"):
        run(limited(make_suite(files), -0.2), FakeEngine(lambda *_: pytest.fail("asked")))
