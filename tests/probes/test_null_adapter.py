from __future__ import annotations

from typing import TYPE_CHECKING

from loracheck.cases.entries import NullAdapterEntry
from loracheck.cases.suite import AdapterEntry
from loracheck.checking import check
from loracheck.engine import NullAdapter
from loracheck.engine.fake import FakeEngine
from suite_factory import Files, answering, call, make_suite

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.cases.suite import Suite
    from loracheck.engine import Prompt, View


class Recorder(FakeEngine):
    """Keeps the null views and the prompts they were asked."""

    def __init__(self) -> None:
        super().__init__(self._note)
        self.views: dict[View, list[Prompt]] = {}

    def _note(self, view: View, prompt: Prompt) -> str:
        if view.name in ("base", "adapter"):
            return call()
        self.views.setdefault(view, []).append(prompt)
        return "no idea"


def with_nulls(suite: Suite, **settings: object) -> Suite:
    return suite.model_copy(update={"entries": (NullAdapterEntry(name="nulls", **settings), *suite.entries)})


def saturated(prompt: Prompt) -> str:
    return call() if prompt.id == "search_web" else call("calculator", a=2, b=2)


def test_three_null_adapters_answer_two_sentinels_each_as_bare_text(files: Files) -> None:
    engine = Recorder()
    check(make_suite(files).with_nulls(), engine=engine)
    assert [view.adapters[0].source for view in engine.views] == [
        NullAdapter(files.adapter, seed) for seed in (1000, 1001, 1002)
    ]
    for prompts in engine.views.values():
        assert [(prompt.text, prompt.max_new_tokens) for prompt in prompts] == [
            ("Search the web for the capital of France.", 256),
            ("Add 2 and 2.", 256),
        ]


def test_a_null_adapter_takes_the_place_and_the_scale_of_each_adapter_under_test(files: Files, tmp_path: Path) -> None:
    engine = Recorder()
    sft = AdapterEntry(gguf=files.adapter, scale=0.7)
    stack = [AdapterEntry(gguf=files.adapter, scale=0.5), AdapterEntry(gguf=files.adapter)]
    check(make_suite(files).with_models(None, stack, [sft]).with_nulls(1), engine=engine)
    (view,) = engine.views
    kept, *nulls = view.adapters
    assert (kept.source, kept.scale) == (files.adapter, 0.7)
    assert [use.scale for use in nulls] == [0.5, 1.0]
    seeds = [use.source.seed for use in nulls if isinstance(use.source, NullAdapter)]
    assert len(set(seeds)) == 2


def test_the_settings_of_the_suite_reach_the_null_adapters(files: Files) -> None:
    engine = Recorder()
    settings = {"runs": 2, "init_scale": 0.1, "seed_base": 7, "rank_multipliers": (0.5, 2.0), "match": "norm"}
    report = check(with_nulls(make_suite(files), **settings), engine=engine)
    made = [view.adapters[0].source for view in engine.views]
    assert made == [NullAdapter(files.adapter, seed, 0.1, rank, "norm") for rank in (0.5, 2.0) for seed in (7, 8)]
    assert report.probes[0].evidence.model_dump() == {
        "on": "sentinels",
        "match": "norm",
        "init_scale": 0.1,
        "seeds": (7, 8),
        "valid_by_rank": {"rank_0.50": (0, 0), "rank_2.00": (0, 0)},
        "cases_per_run": 2,
    }


def test_null_adapters_have_no_verdict_of_their_own(files: Files) -> None:
    report = check(make_suite(files).with_nulls(), engine=answering())
    assert [probe.verdict for probe in report.probes] == ["skip", "pass"]
    assert report.verdict == "pass"


def test_null_adapters_that_break_every_call_give_an_honest_z(files: Files) -> None:
    probe = check(make_suite(files).with_nulls(), engine=answering()).probes[1]
    # No null adapter called a tool: p = 0.5/7 over two cases is the least spread there can be.
    spread = (0.5 / 7 * (1 - 0.5 / 7) / 2) ** 0.5
    assert probe.z_score is not None
    assert abs(probe.z_score - 1 / spread) < 1e-9
    assert probe.comparison.null.model_dump() == {
        "mean": 0.0, "std": spread, "n": 3, "rates": (0.0, 0.0, 0.0), "usable": True, "why": None, "on": "sentinels",
        "match": "scale", "p_value": None, "base_z": probe.z_score,
        "samples": {"rank_1.00": {"valid": (0, 0, 0), "cases": 2}},
    }  # fmt: skip
    assert probe.comparison.z_by_rank == {"rank_1.00": probe.z_score}


def test_every_rank_multiplier_has_a_z_and_the_one_nearest_to_one_decides(files: Files) -> None:
    def reply(view: View, prompt: Prompt) -> str:
        ranks = {use.source.rank_multiplier for use in view.adapters if isinstance(use.source, NullAdapter)}
        if not ranks:
            return call()
        return (
            saturated(prompt) if ranks == {0.1} else call() if ranks == {4.0} and view.name == "null 1/3" else "no idea"
        )

    suite = with_nulls(make_suite(files, assert_z_gte=1.0), rank_multipliers=(4.0, 1.0, 0.1))
    probe = check(suite, engine=FakeEngine(reply)).probes[1]
    by_rank = probe.comparison.z_by_rank
    # Null adapters of a tenth of the rank break nothing, so they have no z.
    assert list(by_rank) == ["rank_1.00", "rank_4.00"]
    assert probe.z_score == by_rank["rank_1.00"] != by_rank["rank_4.00"]


def test_null_adapters_that_break_nothing_give_no_z_and_say_why(files: Files) -> None:
    probe = check(make_suite(files).with_nulls(), engine=answering(nulls=saturated)).probes[1]
    assert (probe.verdict, probe.z_score) == ("pass", None)
    null = probe.comparison.null
    assert (null.usable, null.mean, null.rates) == (False, 1.0, (1.0, 1.0, 1.0))
    assert null.why.startswith("null adapters still give 100% valid calls")
    assert null.why in probe.message


def test_without_null_adapters_there_is_no_z_and_the_report_says_why(files: Files) -> None:
    (probe,) = check(make_suite(files), engine=answering()).probes
    assert probe.z_score is None
    assert probe.message.endswith("no calibration: the suite has no null_adapter probe")
    assert probe.comparison.null.n == 0
