"""Judge: a plan and its answers become a report; a report and other limits become another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from loracheck.ask import ask
from loracheck.cases.entries import NullAdapterEntry
from loracheck.checking import check
from loracheck.cli.check import EXIT_CODES
from loracheck.errors import ReportError
from loracheck.judge import judge, judge_again
from loracheck.plan import read
from loracheck.probes import words_of
from loracheck.progress import QuietProgress
from loracheck.results import Report
from loracheck.store import Store
from models.factory import lora_tensors, write_adapter
from suite_factory import Files, answering, call, failing_from, make_case, make_suite

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.cases.suite import Suite
    from loracheck.engine import Prompt
    from loracheck.engine.fake import FakeEngine

HALF_SATURATED = {"search_web": call(), "calculator": "no idea"}


def findings(report: Report) -> dict[str, Any]:
    """All that a report says, but for the limits that stand in its suite and how long it took."""
    return report.model_dump(exclude={"timing", "provenance", "judged_with"})


def with_limits(suite: Suite, **limits: float) -> Suite:
    return suite.model_copy(
        update={
            "entries": tuple(entry if entry.is_baseline else entry.model_copy(update=limits) for entry in suite.entries)
        }
    )


def saved(report: Report) -> Report:
    """As it comes back from a file."""
    return Report.model_validate_json(report.model_dump_json())


def engine() -> FakeEngine:
    """An adapter that loses calls, writes other names and other arguments, and calls where it should not."""

    def adapter(prompt: Prompt) -> str:
        number = int(prompt.id.removeprefix("case"))
        return {0: call(query="y"), 1: call(), 2: call("find"), 3: "I cannot do that."}[number % 4]

    return answering(
        base=failing_from(11), adapter=adapter, nulls=lambda prompt: HALF_SATURATED.get(prompt.id, "no idea")
    )


def rich_suite(files: Files, nulls: NullAdapterEntry | None = None) -> Suite:
    """A suite in which every limit has something to say."""
    cases = [
        *(make_case(number, gold_arguments={"query": "x"}) for number in range(1, 9)),
        *(make_case(number, expect="no_call") for number in range(9, 13)),
    ]
    suite = make_suite(files).with_cases(cases).with_defaults(seed=3, schema="strict")
    entries = suite.entries if nulls is None else (nulls, *suite.entries)
    return suite.model_copy(update={"entries": entries})


# Judge


def test_judging_takes_a_plan_and_its_answers_and_nothing_else(files: Files) -> None:
    plan = read(rich_suite(files, NullAdapterEntry(name="nulls")), Store())
    answers = ask(plan, engine(), QuietProgress())
    first = judge(plan, answers)
    files.base.unlink()
    files.adapter.unlink()
    assert judge(plan, answers) == first
    assert first.model_dump_json() == judge(plan, answers).model_dump_json()


def test_a_check_reports_what_judging_its_answers_gives(files: Files) -> None:
    suite = rich_suite(files, NullAdapterEntry(name="nulls"))
    plan = read(suite, Store())
    by_hand = judge(plan, ask(plan, engine(), QuietProgress()))
    whole = check(suite, engine=engine())
    assert by_hand.model_dump(exclude={"timing"}) == whole.model_dump(exclude={"timing"})
    assert set(whole.timing) - set(by_hand.timing) == {"total_seconds"}


def test_answers_from_the_store_are_counted_apart(files: Files, tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        check(make_suite(files, cases=1), engine=answering(name="toy"), store=store)
        timing = check(make_suite(files, cases=3), engine=answering(name="toy"), store=store).timing
    assert (timing["answers_from_store"], timing["answers_computed"]) == (2, 4)


def test_doubts_come_before_what_is_to_be_said_of_the_adapters(files: Files, tmp_path: Path) -> None:
    tensors = {**lora_tensors(), "blk.0.attn_norm.weight": lora_tensors()["blk.0.attn_q.weight.lora_a"][0]}
    adapter = write_adapter(tmp_path / "extra.gguf", tensors)
    few, ignored = check(make_suite(Files(files.base, adapter), cases=2), engine=answering()).warnings
    assert few.startswith("tools_intact: only 2 cases")
    assert ignored.startswith(f"{adapter}: llama.cpp ignores 1")


@pytest.mark.parametrize(
    ("adapter", "verdict", "exit_code"), [("It is noon.", "pass", 0), (call(), "fail", 1), ('{"name": "sea', "fail", 1)]
)
@pytest.mark.parametrize("nulls", [False, True])
def test_a_suite_that_asks_for_no_call_at_all_is_judged_by_how_often_none_is_made(
    files: Files, adapter: str, verdict: str, exit_code: int, nulls: bool
) -> None:
    suite = make_suite(files).with_cases([make_case(number, expect="no_call") for number in (1, 2)])
    suite = with_limits(suite.with_nulls() if nulls else suite, assert_abstention_gte=0.9)
    report = check(suite, engine=answering("Hello!", adapter))
    probe = report.judged[0]
    assert (report.verdict, EXIT_CODES[report.verdict]) == (verdict, exit_code)
    assert (probe.verdict, probe.score, probe.z_score, probe.ci_95) == (verdict, None, None, None)
    assert report.warnings == ()
    missed = "; missed: 0% abstention is under the limit of 90%" if verdict == "fail" else ""
    share = "0%" if verdict == "fail" else "100%"
    grade = "established" if verdict == "fail" else "may be chance"
    assert probe.message == (
        f"{grade}: no case asks for a call; adapter makes none in {share} of the cases, base in 100%{missed}"
    )


def test_why_there_is_no_z_is_true_where_null_adapters_ran_for_nothing(files: Files) -> None:
    suite = make_suite(files).with_cases([make_case(1, expect="no_call")])
    assert null_why(suite.with_nulls()) == "no case asks for a call"
    assert null_why(suite) == "the suite has no null_adapter probe"


def null_why(suite: Suite) -> str | None:
    return check(suite, engine=answering()).judged[0].comparison.null.why


def test_without_a_limit_on_it_a_suite_that_asks_for_no_call_cannot_be_judged(files: Files) -> None:
    suite = make_suite(files).with_cases([make_case(1, expect="no_call")])
    assert check(suite, engine=answering()).verdict == "skip"


def test_two_misses_are_told_once_with_and_between_them(files: Files) -> None:
    def adapter(prompt: Prompt) -> str:
        return {"case1": "No.", "case2": call("find")}.get(prompt.id, call())

    (probe,) = check(make_suite(files), engine=answering(adapter=adapter)).probes
    told = probe.message.split("; missed: ")
    assert told[1:] == [
        "delta -25.0 points is under the limit of -5.0 and 33.3% wrong tool names is over the limit of 10%"
    ]
    assert len(words_of(probe.kind).reasons(probe)) == 2


# Judge again

LIMITS: list[dict[str, float]] = [
    {"assert_validity_delta_gte": -1.0},
    {"assert_validity_delta_gte": 0.5},
    {"assert_hallucination_lte": 1.0},
    {"assert_z_gte": 0.1},
    {"assert_z_gte": 2.0},
    {"assert_z_gte": 50.0},
    {"assert_exact_arguments_gte": 0.9},
    {"assert_abstention_gte": 0.0},
    {"assert_validity_delta_gte": -1.0, "assert_hallucination_lte": 1.0, "assert_z_gte": -50.0},
]
NULLS = [
    None,
    NullAdapterEntry(name="nulls"),
    NullAdapterEntry(name="nulls", on="cases", runs=2),
    NullAdapterEntry(name="nulls", rank_multipliers=(0.333, 1.0, 4.0), match="norm"),
    NullAdapterEntry(name="nulls", rank_multipliers=(0.001, 7.0)),
]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("nulls", NULLS, ids=["none", "sentinels", "cases", "ranks", "far ranks"])
def test_judging_again_gives_what_a_run_with_those_limits_gives(
    files: Files, limits: dict[str, float], nulls: NullAdapterEntry | None
) -> None:
    suite = rich_suite(files, nulls)
    report = check(suite, engine=engine())
    ran = check(with_limits(suite, **limits), engine=engine())
    again = judge_again(report, limits)
    assert findings(again) == findings(ran)
    assert findings(judge_again(saved(report), limits)) == findings(ran)
    assert (again.judged_with, report.judged_with, ran.judged_with) == (limits, None, None)
    assert (again.provenance, again.timing) == (report.provenance, report.timing)


def test_the_suites_own_limits_give_the_same_report(files: Files) -> None:
    report = check(rich_suite(files, NullAdapterEntry(name="nulls")), engine=engine())
    again = judge_again(judge_again(report, {"assert_z_gte": 50.0}), {"assert_z_gte": 3.0})
    assert findings(again) == findings(report)


def two_probes(files: Files) -> Suite:
    suite = make_suite(files)
    (entry,) = suite.entries
    other = entry.model_copy(update={"name": "dotted.name", "weight": 3.0})
    return suite.model_copy(update={"entries": (entry, other)})


def deltas(report: Report) -> list[float]:
    return [probe.comparison.limits.assert_validity_delta_gte for probe in report.judged]


def test_a_limit_is_for_all_probes_or_for_the_one_that_is_named(files: Files) -> None:
    report = check(two_probes(files), engine=answering(adapter=failing_from(4)))
    assert report.verdict == "fail"
    limit = "assert_validity_delta_gte"
    assert deltas(judge_again(report, {limit: -0.5})) == [-0.5, -0.5]
    one = judge_again(report, {f"dotted.name.{limit}": -0.5})
    assert (deltas(one), [probe.verdict for probe in one.probes], one.verdict) == (
        [-0.05, -0.5],
        ["fail", "pass"],
        "fail",
    )
    assert one.probes[0] == report.probes[0]
    for both in ({limit: -0.5, f"tools_intact.{limit}": -0.1}, {f"tools_intact.{limit}": -0.1, limit: -0.5}):
        assert deltas(judge_again(report, both)) == [-0.1, -0.5]


def test_a_limit_that_does_not_exist_is_named_with_those_that_do(files: Files) -> None:
    report = check(make_suite(files), engine=answering())
    for spelled in ("assert_beauty_gte", "tools_intact.assert_beauty_gte", "", "tools_intact"):
        with pytest.raises(
            ReportError,
            match=r"^no limit '.*'; there are assert_validity_delta_gte, .*_k_delta_gte(; did you mean .*)?$",
        ):
            judge_again(report, {spelled: 1.0})


def test_a_probe_that_the_report_does_not_have_is_named_with_those_it_has(files: Files) -> None:
    report = check(make_suite(files).with_nulls(), engine=answering())
    # Null adapters have no limits.
    for name in ("tools", "nulls"):
        with pytest.raises(
            ReportError, match=rf"^no probe '{name}' in the report; it has tools_intact(; did you .*)?$"
        ):
            judge_again(report, {f"{name}.assert_z_gte": 1.0})


@pytest.mark.parametrize(
    ("limit", "fields", "needed"),
    [
        ("assert_abstention_gte", {"expect": "no_call"}, "expect: no_call"),
        ("assert_exact_arguments_gte", {"gold_arguments": {"query": "x"}}, "gold_arguments"),
    ],
)
def test_a_limit_that_no_case_speaks_to_is_refused_as_in_a_suite_file(
    files: Files, limit: str, fields: dict[str, Any], needed: str
) -> None:
    suite = two_probes(files)
    report = check(suite, engine=answering())
    with pytest.raises(
        ReportError,
        match=f"^tools_intact, dotted.name: {limit} needs cases with {needed}, and there are none; leave it out$",
    ):
        judge_again(report, {limit: 0.5})
    with pytest.raises(
        ReportError, match=f"^dotted.name: {limit} needs cases with {needed}, and there are none; leave it out$"
    ):
        judge_again(report, {f"dotted.name.{limit}": 0.5})

    entry, other = suite.entries
    other = other.asking([make_case(1), make_case(2, **fields)])
    report = check(suite.model_copy(update={"entries": (entry, other)}), engine=answering())
    # For all probes, it is enough that one of them can be judged by it.
    for spelled in (limit, f"dotted.name.{limit}"):
        checks = [probe.comparison.checks(probe.z_score)[limit] for probe in judge_again(report, {spelled: 0.5}).probes]
        assert [check.kept is None for check in checks] == [True, False]
    with pytest.raises(
        ReportError, match=f"^tools_intact: {limit} needs cases with {needed}, and there are none; leave it out$"
    ):
        judge_again(report, {f"tools_intact.{limit}": 0.5})


@pytest.mark.parametrize(
    ("limit", "needed"),
    [("assert_exact_arguments_gte", "gold_arguments"), ("assert_abstention_gte", "expect: no_call")],
)
def test_a_limit_that_no_case_speaks_to_is_refused_as_a_run_would(files: Files, limit: str, needed: str) -> None:
    suite = make_suite(files)
    (entry,) = suite.entries
    cases = [make_case(1, gold_arguments={"query": "x"}), make_case(2, expect="no_call")]
    other = entry.asking(cases).model_copy(update={"name": "other"})
    report = check(suite.model_copy(update={"entries": (entry, other)}), engine=answering())
    with pytest.raises(
        ReportError, match=f"^tools_intact: {limit} needs cases with {needed}, and there are none; leave it out$"
    ):
        judge_again(report, {f"tools_intact.{limit}": 0.5})
    # One that has such cases is enough for a limit on all.
    assert judge_again(report, {limit: 0.5}).judged_with == {limit: 0.5}


def test_what_a_report_was_judged_with_is_what_it_takes_to_do_it_again(files: Files) -> None:
    report = check(two_probes(files), engine=answering(adapter=failing_from(4)))
    steps = [{"dotted.name.assert_z_gte": 1.0, "assert_hallucination_lte": 0.2}, {"tools_intact.assert_z_gte": 2.0}]
    twice = judge_again(judge_again(report, steps[0]), steps[1])
    assert twice.judged_with == {**steps[0], **steps[1]}
    thrice = judge_again(twice, {"assert_z_gte": 5.0})
    # The limit for all has overruled those for one.
    assert thrice.judged_with == {"assert_hallucination_lte": 0.2, "assert_z_gte": 5.0}
    for judged in (twice, thrice):
        assert judged.judged_with is not None
        assert judge_again(report, judged.judged_with) == judged


def test_warnings_follow_the_limits_and_others_stay(files: Files, tmp_path: Path) -> None:
    report = check(make_suite(files, 8).with_nulls(), engine=answering(nulls=lambda prompt: HALF_SATURATED[prompt.id]))
    report = report.model_copy(update={"warnings": (*report.warnings, "the store is off for this run")})
    assert report.judged[0].comparison.null.usable is False
    strict, *others = report.warnings
    assert strict.startswith("tools_intact: the null adapters say nothing")
    lenient = judge_again(report, {"assert_z_gte": 0.5})
    assert list(lenient.warnings) == others == ["the store is off for this run"]
    assert list(judge_again(lenient, {"assert_z_gte": 3.0}).warnings) == list(report.warnings)


def without_samples(report: Report) -> Report:
    """As loracheck wrote it before it kept each null adapter's answers."""
    data = report.model_dump()
    for probe in data["probes"]:
        probe["evidence"].get("null", {}).pop("samples", None)
    return Report.model_validate(data)


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("nulls", NULLS[:3], ids=["none", "sentinels", "cases"])
def test_an_older_report_without_the_null_adapters_answers_is_judged_again_by_their_statistics(
    files: Files, limits: dict[str, float], nulls: NullAdapterEntry | None
) -> None:
    suite = rich_suite(files, nulls)
    older = without_samples(check(suite, engine=engine()))
    ran = without_samples(check(with_limits(suite, **limits), engine=engine()))
    assert findings(judge_again(older, limits)) == findings(ran)


def test_a_probe_of_a_kind_that_nobody_knows_stays_as_it_is(files: Files) -> None:
    report = check(make_suite(files), engine=answering(adapter=failing_from(4)))
    strange = report.probes[0].model_copy(
        update={"name": "strange", "kind": "of the future", "verdict": "warn", "score": 0.5, "evidence": {"weight": 3}}
    )
    report = saved(report.model_copy(update={"probes": (*report.probes, strange)}))
    again = judge_again(report, {"assert_validity_delta_gte": -1.0, "strange.assert_z_gte": 2.0})
    assert again.probes[1] == report.probes[1]
    assert (again.verdict, again.score) == ("warn", pytest.approx((0.75 + 3 * 0.5) / 4))


@pytest.mark.parametrize("seed", ["x", -1, None, [1], 1.5])
def test_a_seed_that_is_none_does_not_end_it(files: Files, seed: Any) -> None:
    report = check(make_suite(files), engine=answering(adapter=failing_from(4)))
    edited = report.model_copy(
        update={"provenance": report.provenance.model_copy(update={"seeds": {"bootstrap": seed}})}
    )
    assert judge_again(edited, {"assert_z_gte": 1.0}).probes[0].ci_95 == report.probes[0].ci_95
