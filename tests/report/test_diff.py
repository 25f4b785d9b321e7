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
from loracheck.report.diff import Diff, diff
from loracheck.report.diff.show import show_diff, to_json
from loracheck.report.html import to_html
from loracheck.results import Provenance
from report.reports import LIMITS, answer, broken_case, case, probe, report

if TYPE_CHECKING:
    from loracheck.results import Report


def asked(*broken: int, of: int = 20, **changes: Any) -> Report:
    """A report on `of` cases whose adapter breaks some of them."""
    cases = [broken_case(f"case{n}") if n in broken else case(f"case{n}") for n in range(of)]
    return report(probe(*cases, **({"verdict": "pass"} | changes)))


def misnaming(rate: float) -> dict[str, float]:
    """Evidence of an adapter that keeps its valid calls, and names a wrong tool in some."""
    return {"validity_delta": 0.0, "hallucination_rate": rate}


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
        (asked(), asked(1, 2), "valid calls -10.0 pt on the shared cases, limit -5.0 pt"),
        (asked(1, 2), asked(), None),
        (asked(1, 2), asked(3, 4), None),
        (
            asked(),
            asked(1, evidence={"limits": {"assert_validity_delta_gte": 0.0}}),
            "valid calls -5.0 pt on the shared cases, limit +0.0 pt",
        ),
        (asked(), asked(1, 2, evidence={}), "limit -5.0 pt"),
        (asked(), asked(evidence=misnaming(0.2)), "wrong tool names 20.0%, limit 10.0%; it was 0.0%"),
        (asked(evidence=misnaming(0.2)), asked(evidence=misnaming(0.3)), None),
        (asked(), asked(evidence=misnaming(0.1)), None),
        (asked(), asked(verdict="fail"), "the verdict was pass and is fail"),
        (asked(), asked(verdict="error"), "the verdict was pass and is error"),
        (asked(verdict="fail"), asked(verdict="fail"), None),
        (asked(verdict="fail"), asked(), None),
    ],
)
def test_worse_is_what_misses_a_limit(a: Report, b: Report, why: str | None) -> None:
    worse = diff(a, b).worse
    assert worse == () if why is None else (len(worse) == 1 and why in worse[0])


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
            evidence={"limits": {"assert_z_gte": 2.0}},
        ),
        provenance={**a.provenance.model_dump(), **changed, "llama_cpp": "0.4.0"},
    )
    assert diff(a, b).differences == (
        "the base models differ: base.gguf (bbbbbbbbbbbb) and other.gguf (cccccccccccc)",
        "the adapters of the base differ: none and sft.gguf (555555555555) at 0.5",
        "probes in A alone: old",
        "tools_intact: the same id, but another question in 1 case: one",
        "tools_intact: other words around the question in 1 case (template, tools or system text)",
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
    assert lines[:10] == [
        "PASS → FAIL  tools_intact",
        "",
        "                           A       B    change",
        "valid calls, base     100.0%  100.0%   +0.0 pt",
        "valid calls, adapter   95.0%   85.0%  -10.0 pt",
        "wrong tool names        0.0%    0.0%   +0.0 pt",
        "z against nulls            –       –         –",
        "score                   0.90    0.50     -0.40",
        "",
        "Valid calls: 3 lost, 1 gained of 20; change -10 pt, 95% interval -33 to +12;",
    ]
    assert lines[lines.index("3 cases broke:") :] == [
        "3 cases broke:",
        "  case1: Search for case1.",
        '    A valid         {"name": "search_web", "arguments": {"query": "x"}}',
        "    B no_call       I cannot do that.",
        "  … and 2 more; --json FILE lists them all",
        "1 case mended:",
        "  case19: Search for case19.",
        "    A no_call       I cannot do that.",
        '    B valid         {"name": "search_web", "arguments": {"query": "x"}}',
        "",
        "B is worse than A:",
        "  tools_intact: valid calls -10.0 pt on the shared cases, limit -5.0 pt",
        "  tools_intact: the verdict was pass and is fail",
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
    assert (data["worse"], data["differences"]) == ([], [])


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
        "A is old.json, B is new.json", "B is worse than A", "the verdict was pass and is fail",
        "the base models differ", "3 cases broke", "1 case mended", "I cannot do that.",
        "Valid calls: 3 lost, 1 gained of 20",
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
