from __future__ import annotations

import io
import json
import re
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from loracheck.errors import ReportError
from loracheck.probes import KINDS
from loracheck.report.diff import Diff, diff
from loracheck.report.diff.show import figures, show_diff, to_json
from loracheck.report.html import to_html
from loracheck.results import Provenance
from report.reports import LIMITS, answer, broken_case, case, probe, report

if TYPE_CHECKING:
    from loracheck.results import Report


def asked(*broken: int, of: int = 20, **changes: Any) -> Report:
    """A report on `of` cases whose adapter breaks some of them."""
    cases = [broken_case(f"case{n}") if n in broken else case(f"case{n}") for n in range(of)]
    return report(probe(*cases, **({"verdict": "pass"} | changes)))


def misnaming(wrong: int, of: int = 20) -> Report:
    """A report whose adapter keeps all valid calls, and names a wrong tool in the first few."""
    cases = [case(f"case{n}", answer(outcome="wrong_tool" if n < wrong else "valid")) for n in range(of)]
    return report(probe(*cases, verdict="pass"))


def base_losing(*cases: int, of: int = 20) -> Report:
    """A report whose base makes no call in some cases; its adapter always does."""
    silent = answer("I cannot do that.", "no_call")
    return report(probe(*(case(f"case{n}", base=silent if n in cases else None) for n in range(of)), verdict="pass"))


def limited(**limits: float) -> dict[str, Any]:
    return {"evidence": {"limits": limits}}


def shown(found: Diff, width: int = 80, examples: int = 10) -> str:
    out = io.StringIO()
    show_diff(found, Console(file=out, width=width, highlight=False, emoji=False, markup=False), examples=examples)
    return out.getvalue()


def test_cases_that_flipped_are_found_either_way() -> None:
    (only,) = diff(asked(1, 2), asked(2, 3, 4)).probes
    assert [match.a.id for match in only.broke] == ["case3", "case4"]
    assert [match.a.id for match in only.mended] == ["case1"]


def test_the_paired_test_is_on_valid_calls_of_the_two_adapters() -> None:
    (only,) = diff(asked(1, 2), asked(2, 3, 4)).probes
    assert (only.paired.both, only.paired.lost, only.paired.gained, only.paired.neither) == (16, 2, 1, 1)
    assert only.paired.mcnemar_p == 1.0
    assert only.paired.delta == -0.05
    low, high = only.paired.interval_95 or (0.0, 0.0)
    assert low < -0.05 < high


def test_a_wrong_tool_flips_a_case_and_is_a_valid_call_all_the_same() -> None:
    renamed = report(probe(case("case0", answer(outcome="wrong_tool")), verdict="pass"))
    (only,) = diff(asked(of=1), renamed).probes
    assert len(only.broke) == 1
    assert only.paired.lost == 0


def test_a_call_where_none_fits_flips_a_case_and_is_no_part_of_the_paired_test() -> None:
    quiet, loud = (
        report(probe(case("q", answer(outcome=outcome), expect="no_call"), case(), verdict="pass"))
        for outcome in ("no_call", "valid")
    )
    (only,) = diff(quiet, loud).probes
    assert [match.a.id for match in only.broke] == ["q"]
    assert only.paired.n == 1


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        (asked(), asked(), None),
        (asked(), asked(1), None),  # 5 points, which is the limit
        (asked(*range(7)), asked(*range(8)), None),  # so is this, although 0.35 - 0.4 is a little more
        (
            asked(),
            asked(1, 2),
            "adapter less base: +0.0 points in A, -10.0 points in B; a change of -10.0 points, limit 5.0",
        ),
        (asked(1, 2), asked(3, 4), None),
        (asked(), asked(1, **limited(assert_validity_delta_gte=0.0)), "a change of -5.0 points, limit 0.0 either way"),
        (asked(), asked(1, 2, evidence={}), "limit 5.0"),
        (asked(), asked(**limited(assert_validity_delta_gte=0.1)), None),  # more than the base, not more than A
        (asked(), asked(1, **limited(assert_validity_delta_gte=0.1)), "a change of -5.0 points, limit 0.0 either way"),
        (misnaming(0), misnaming(4), "wrong tool names: 0.0% in A, 20.0% in B; limit 10.0%"),
        (misnaming(4), misnaming(8), "wrong tool names: 20.0% in A, 40.0% in B; limit 10.0%"),
        (misnaming(4), misnaming(4), None),
        (misnaming(0), misnaming(2), None),  # 10%, which is the limit
        (asked(), asked(verdict="fail"), "the verdict: pass in A, fail in B"),
        (asked(), asked(verdict="error"), "the verdict: pass in A, error in B"),
        (asked(verdict="fail"), asked(verdict="fail"), None),
        (asked(), asked(verdict="skip"), None),
    ],
)
def test_worse_is_what_changes_by_more_than_its_limit_and_better_is_the_reverse(
    a: Report, b: Report, why: str | None
) -> None:
    found = diff(a, b)
    assert found.worse == () if why is None else (len(found.worse) == 1 and why in found.worse[0])
    assert found.better == ()
    # B's limits count, so the reverse has to have them on its other side.
    back = diff(b, a.model_copy(update={"probes": (with_limits_of(a, b),)}))
    assert (back.worse, len(back.better)) == ((), len(found.worse))


def with_limits_of(a: Report, b: Report) -> Any:
    evidence = a.probes[0].comparison.model_copy(update={"limits": b.probes[0].comparison.limits})
    return a.probes[0].model_copy(update={"evidence": evidence})


def test_an_adapter_that_follows_its_base_is_not_worse() -> None:
    silent = answer("I cannot do that.", "no_call")
    both = report(
        probe(*(case(f"case{n}", silent, silent) if n < 6 else case(f"case{n}") for n in range(20)), verdict="pass")
    )
    found = diff(asked(), both)
    assert (found.worse, found.probes[0].validity_change, found.probes[0].paired.lost) == ((), 0.0, 6)
    assert found.differences == (
        "tools_intact: the base itself answers otherwise in 6 cases; p and interval are of the adapters' answers "
        "alone: case0, case1, case2, case3, case4 …",
    )
    # The interval is of the adapters' answers, so it cannot tell on which side of its limit the change is.
    assert (found.probes[0].inconclusive, found.probes[0].cases_needed) == (None, None)


def test_an_adapter_that_no_longer_beats_its_base_is_worse_and_its_own_answers_did_not_flip() -> None:
    (why,) = diff(base_losing(1, 2, 3), base_losing()).worse
    assert why == (
        "tools_intact: valid calls, adapter less base: +15.0 points in A, +0.0 points in B; a change of -15.0 points, "
        "limit 5.0 either way (no such answer of the adapters flipped)"
    )


@pytest.mark.parametrize(
    ("a", "b", "p"),
    [
        (asked(), asked(1, 2), "(2 lost, 0 gained: McNemar p 0.5, may be chance)"),
        (asked(7), asked(1, 2, 3), "(3 lost, 1 gained: McNemar p 0.62, may be chance)"),
        (asked(), asked(*range(5)), "(5 lost, 0 gained: McNemar p 0.062, may be chance)"),
        (asked(), asked(*range(6)), "(6 lost, 0 gained: McNemar p 0.031)"),
        (misnaming(0), misnaming(3), "(3 lost, 0 gained: McNemar p 0.25, may be chance)"),
        (misnaming(0), misnaming(9), "(9 lost, 0 gained: McNemar p 0.0039)"),
        (asked(), asked(1, verdict="fail"), "(1 lost, 0 gained: McNemar p 1, may be chance)"),
        (asked(), asked(verdict="fail"), "(no such answer of the adapters flipped)"),
    ],
)
def test_beside_worse_and_better_stands_whether_it_may_be_chance(a: Report, b: Report, p: str) -> None:
    assert diff(a, b).worse[0].endswith(p)
    assert diff(b, a).better[0].endswith(swapped(p))


def swapped(p: str) -> str:
    return re.sub(r"(\d+) lost, (\d+) gained", r"\2 lost, \1 gained", p)


def test_b_can_be_worse_in_one_way_and_better_in_another() -> None:
    found = diff(asked(*range(6)), misnaming(6))
    assert ("wrong tool names" in found.worse[0], "adapter less base" in found.better[0]) == (True, True)
    lines = shown(found, width=300).splitlines()[-3:]
    assert lines == [
        "B is worse than A in some ways, better in others:",
        f"  worse: {found.worse[0]}",
        f"  better: {found.better[0]}",
    ]


@given(st.lists(st.tuples(*[st.sampled_from(["valid", "wrong_tool", "no_call"])] * 2), min_size=1, max_size=12))
def test_on_the_same_cases_the_figures_are_those_of_check(outcomes: list[tuple[str, str]]) -> None:
    cases = [case(f"{n}", answer("", ft), answer("", base)) for n, (base, ft) in enumerate(outcomes)]
    again = KINDS["tool_use_fidelity"].judge_again(probe(*cases), {}, seed=0)
    figures, _ = diff(report(again), report(again)).probes[0].shared
    for name in ("json_valid_rate_base", "json_valid_rate_ft", "validity_delta", "hallucination_rate"):
        assert getattr(figures.evidence, name) == getattr(again.comparison, name)
    assert figures.validity.delta == pytest.approx(again.comparison.validity_delta, abs=1e-12)
    named = [base for base, _ in outcomes if base != "no_call"]
    assert figures.hallucination_rate_base == named.count("wrong_tool") / max(1, len(named))


def test_figures_are_those_of_the_shared_cases_and_the_rest_says_it_is_not() -> None:
    b = report(
        probe(*(case(f"case{n}") for n in range(8)), *(broken_case(f"more{n}") for n in range(8)), verdict="fail")
    )
    found = diff(asked(of=8), b)
    rows = {row[0]: row[1:] for row in figures(found.probes[0])}
    assert rows["valid calls, adapter"] == ("100.0%", "100.0%", "+0.0 points")
    assert rows["score, all cases"] == ("0.50", "0.50", "+0.00")
    assert found.worse == (
        "tools_intact: the verdict: pass in A, fail in B, each on all of its own cases (no such answer of the adapters "
        "flipped)",
    )


def test_too_few_shared_cases_are_said_to_be_too_few() -> None:
    few, enough = diff(asked(), asked()).probes[0], diff(asked(of=100), asked(of=100)).probes[0]
    assert few.sentences[1:] == (
        "Too few shared cases to be sure whether B is worse: the 95% interval has the limit of -5.0 points inside. "
        "About 209 would settle it four times in five.",
    )
    assert (few.inconclusive, enough.inconclusive, len(enough.sentences)) == (True, False, 1)


def test_where_no_shared_case_asks_for_a_call_nothing_is_said_about_valid_calls() -> None:
    quiet = report(probe(case("q", answer(outcome="no_call"), answer(outcome="no_call"), expect="no_call")))
    (only,) = diff(quiet, quiet).probes
    assert (only.sentences, only.validity_change, only.inconclusive) == ((), None, None)
    assert ("abstains, adapter", "100.0%", "100.0%", "+0.0 points") in list(figures(only))


@pytest.mark.parametrize(
    "change", [{"prompt": "Other?"}, {"gold_tool_name": "calculator"}, {"expect": "no_call", "gold_tool_name": None}]
)
def test_answers_to_other_questions_are_no_pair(change: dict[str, Any]) -> None:
    a, b = report(probe(case("one"), case("two"))), report(probe(broken_case("one", **change), case("two")))
    found = diff(a, b)
    assert ([match.a.id for match in found.probes[0].matches], found.worse) == (["two"], ())
    assert found.differences == (
        "tools_intact: the same id, but another question or another tool expected in 1 case, left out here: one",
    )


def test_a_call_that_is_no_object_does_not_stop_the_diff() -> None:
    odd = report(probe(case("one", answer(call=["odd"]), answer(call=7))))
    assert diff(odd, odd).worse == ()


def test_only_shared_cases_are_compared_and_the_others_named() -> None:
    a, b = asked(of=10), report(probe(*(broken_case(f"other{n}") for n in range(30)), case("case1"), verdict="pass"))
    found = diff(a, b)
    assert found.probes[0].paired.n == 1
    assert found.worse == ()
    assert "tools_intact: 9 cases in A alone: case0, case2, case3, case4, case5 …" in found.differences
    assert "tools_intact: 30 cases in B alone: other0, other1, other2, other3, other4 …" in found.differences


def test_reports_of_the_same_run_differ_in_nothing() -> None:
    assert diff(asked(1), asked(1)).differences == ()


def test_what_makes_two_reports_hard_to_compare_is_said() -> None:
    a = report(probe(case("one"), case("two"), case("three")), probe(case(), name="old"))
    changed: dict[str, Any] = {"model": {"path": "/x/other.gguf", "sha256": "c" * 64}, "settings": {"prompt": "raw"}}
    changed["base_adapters"] = [{"path": "sft.gguf", "sha256": "5" * 64, "scale": 0.5}]
    b = report(
        probe(
            case("one", prompt="Other?"),
            case("two", sent="other"),
            case("three"),
            evidence={"limits": {"assert_z_gte": 2.0}, "allowed_tools": ["search_web"]},
        ),
        provenance={**a.provenance.model_dump(), **changed, "llama_cpp": "0.4.0"},
    )
    assert diff(a, b).differences == (
        "the base models differ: base.gguf (bbbbbbbbbbbb) and other.gguf (cccccccccccc)",
        "the adapters of the base differ: none and sft.gguf (555555555555) at 0.5",
        "probes in A alone: old",
        "tools_intact: the same id, but another question or another tool expected in 1 case, left out here: one",
        "tools_intact: other words around the question in 1 case (template, tools or system text)",
        "tools_intact: allowed_tools differ, and with them what a wrong tool name is",
        "tools_intact: the limits differ; B's count here",
        "settings differ: prompt chat and raw, max_new_tokens 64 and None",
        "llama-cpp-python differs: 0.3.36 and 0.4.0",
    )


@pytest.mark.parametrize("b", [report(), report(probe()), report(probe(case("x"))), report(probe(case(), name="x"))])
def test_reports_without_a_case_in_common_are_refused(b: Report) -> None:
    with pytest.raises(ReportError, match="no case in common, so there is nothing to compare"):
        diff(report(probe(case())), b)


def test_the_diff_is_shown_in_80_columns() -> None:
    a, b = asked(19, score=0.9), asked(1, 2, 3, verdict="fail", evidence={"limits": LIMITS, "hallucination_rate": 0.0})
    lines = [line.rstrip() for line in shown(diff(a, b), examples=1).splitlines()]
    assert lines[:15] == [
        "A: mine.gguf@0.5 against base.gguf",
        "B: mine.gguf@0.5 against base.gguf",
        "",
        "PASS → FAIL  tools_intact",
        "",
        "20 shared cases                      A             B        change",
        "valid calls, base               100.0%        100.0%   +0.0 points",
        "valid calls, adapter             95.0%         85.0%  -10.0 points",
        "adapter less base          -5.0 points  -15.0 points  -10.0 points",
        "wrong tool names, base            0.0%          0.0%   +0.0 points",
        "wrong tool names, adapter         0.0%          0.0%   +0.0 points",
        "z above null adapters                –             –             –",
        "score                             0.90          0.50         -0.40",
        "",
        "Valid calls, A to B: 3 lost, 1 gained of 20; change -10 points, 95% interval -33",
    ]
    assert lines[lines.index("3 cases broke:") :] == [
        "3 cases broke:",
        "  case1: Search for case1.",
        '    A right tool      {"name": "search_web", "arguments": {"query": "x"}}',
        "    B no call         I cannot do that.",
        "  … and 2 more; --json FILE lists them all",
        "1 case mended:",
        "  case19: Search for case19.",
        "    A no call         I cannot do that.",
        '    B right tool      {"name": "search_web", "arguments": {"query": "x"}}',
        "",
        "B is worse than A:",
        "  worse: tools_intact: valid calls, adapter less base: -5.0 points in A, -15.0",
        "points in B; a change of -10.0 points, limit 5.0 either way (3 lost, 1 gained:",
        "McNemar p 0.62, may be chance)",
        "  worse: tools_intact: the verdict: pass in A, fail in B (3 lost, 1 gained:",
        "McNemar p 0.62, may be chance)",
    ]


def test_differences_are_said_first_and_loudly() -> None:
    text = shown(diff(asked(), report(probe(case("case1")), provenance={})))
    assert text.startswith("NOT THE SAME: the base models differ: base.gguf")


@pytest.mark.parametrize("width", [40, 80])
def test_every_line_fits_the_terminal(width: int) -> None:
    long = "a long text about nothing " * 20
    a, b = (report(probe(case(long, answer(long, outcome), prompt=long))) for outcome in ("valid", "no_call"))
    for line in shown(diff(a, b), width).splitlines():
        assert len(line) <= width, line


def test_the_json_has_every_flip_with_both_answers() -> None:
    data = json.loads(to_json(diff(asked(1), asked(2, 3))))
    (only,) = data["probes"]
    assert [flip["id"] for flip in only["broke"]] == ["case2", "case3"]
    assert only["mended"][0]["b"]["outcome"] == "valid"
    assert only["paired"] | {"interval_95": 0} == {
        "both": 17, "lost": 2, "gained": 1, "neither": 0, "delta": -0.05, "mcnemar_p": 1.0, "interval_95": 0,
    }  # fmt: skip
    assert (data["worse"], data["better"], data["differences"]) == ([], [], [])


def test_the_json_has_the_figures_of_the_shared_cases_beside_those_of_all() -> None:
    b = report(
        probe(*(broken_case(f"case{n}") for n in range(2)), case("case2", answer(outcome="wrong_tool")), case("x"))
    )
    (only,) = json.loads(to_json(diff(asked(of=3), b)))["probes"]
    assert only["b"] | {"verdict": 0} == {
        "verdict": 0, "score": 0.5, "z_score": None, "base_value": 1.0, "ft_value": 0.5, "hallucination_rate": 0.0,
    }  # fmt: skip
    assert only["shared"]["b"] == {
        "num_cases": 3, "json_valid_rate_base": 1.0, "json_valid_rate_ft": 1 / 3, "validity_delta": -2 / 3,
        "hallucination_rate_base": 0.0, "hallucination_rate": 1.0,
    }  # fmt: skip
    assert (only["shared"]["a"]["validity_delta"], only["validity_change"]) == (0.0, -2 / 3)
    assert (only["paired_names"]["lost"], only["inconclusive"], only["better"]) == (1, True, [])
    assert only["cases_needed"] > 3


class Elements(HTMLParser):
    """Which elements a page has, and what is written in it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert not any(name.startswith("on") or name in ("src", "href") for name, _ in attrs)
        self.found[tag] += 1

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_shows_figures_flips_and_differences() -> None:
    other = asked(2, 3, 4, verdict="fail").model_copy(update={"provenance": Provenance()})
    page = Elements(to_html(diff(asked(1), other), "old.json", "new.json"))
    for said in (
        "A is old.json, B is new.json", "B is worse than A", "Worse: tools_intact: the verdict: pass in A, fail in B",
        "the base models differ", "3 cases broke", "1 case mended", "I cannot do that.",
        "Valid calls, A to B: 3 lost, 1 gained of 20", "20 shared cases", "McNemar p 0.62, may be chance",
    ):  # fmt: skip
        assert said in page.text
    assert page.found["details"] == 4


def test_nothing_a_model_writes_acts_on_the_page() -> None:
    evil = "</div><script>alert(1)</script><img src=x onerror=alert(1)>\x1b\u202e\ud800"
    a, b = (report(probe(case(evil, answer(evil, how), prompt=evil), name=evil)) for how in ("valid", "no_call"))
    text = to_html(diff(a, b), evil, evil)
    text.encode("utf-8")
    page = Elements(text)
    assert (page.found["script"], page.found["img"]) == (0, 0)
    assert "alert(1)</script>" in page.text
    assert "\u202e" not in text
    assert re.search(r"default-src 'none'; style-src", unescape(text))


def test_the_page_stays_small() -> None:
    long = "x" * 1_000_000
    cases = [(case(f"{n}", answer(long)), broken_case(f"{n}", long)) for n in range(250)]
    found = diff(report(probe(*(a for a, _ in cases))), report(probe(*(b for _, b in cases))))
    page = to_html(found)
    assert len(page) < 4_000_000
    assert "… and 50 more" in page


@given(st.text(), st.text(min_size=1))
def test_any_text_survives_the_diff(text: str, name: str) -> None:
    a, b = (report(probe(case(name, answer(text, outcome)), name=name)) for outcome in ("valid", "no_call"))
    found = diff(a, b)
    json.loads(to_json(found))
    shown(found).encode("utf-8")


def test_reports_that_were_judged_again_say_so_beside_the_verdict() -> None:
    again = asked().model_copy(update={"judged_with": {"assert_z_gte": 2.0}})
    text = shown(diff(asked(), again))
    assert "B: Judged again with assert_z_gte = 2 in place of the suite's own limits." in text
    assert "B: Judged again with assert_z_gte = 2 in place" in Elements(to_html(diff(asked(), again))).text
    assert "Judged again" not in shown(diff(asked(), asked()))


def test_numbers_that_json_has_not_are_written_all_the_same() -> None:
    json.loads(to_json(diff(asked(score="nan"), asked(score="inf"))))
