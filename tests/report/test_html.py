"""What the page says, and that nothing but the page's own words is markup."""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loracheck.report.html import render
from loracheck.results import ProbeReport, Report
from loracheck.scoring import Evidence
from loracheck.text import visible_lines
from report.factory import DRIFT, answer, make_case, make_probe, make_report, paired, report_of

# Control, format, surrogate, private-use and line-breaking characters.
ACTING = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}

HOSTILE = (
    "</script></style></title></textarea>--><script>hacked=1</script><img src=http://a.b/x onerror=hacked=1>"
    "<svg onload=hacked=1>\"'`><a href='javascript:hacked=1'>{{ 7*7 }}{% x %}&lt;"
    "\u202e\u200f\u2028\x00\x1b[2J\ud800\uffff"
)


class Page(HTMLParser):
    """The tags, attributes and words of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.raw: dict[str, str] = {}
        self._inside = ""
        self._words: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag in ("p", "td", "th"):
            self._words.append(" ")
        self._inside = tag if tag in ("script", "style") else ""

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.raw[self._inside] = self.raw.get(self._inside, "") + data
        else:
            self._words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self._words).split())


def text(report: Report) -> str:
    return Page(render(report)).text


def says(page: str, *sentences: str) -> None:
    """The sentences are there, in this order."""
    place = 0
    for sentence in sentences:
        assert sentence in page[place:], f"{sentence!r} after {page[place : place + 500]!r}"
        place = page.index(sentence, place)


def test_a_renamer_is_understood_from_the_first_lines() -> None:
    says(
        text(make_report("renamer"))[:900],
        "Does renamer.gguf still call tools the way SmolLM2-135M-Instruct.Q4_1.gguf + toolcaller.gguf does?",
        "FAIL",
        "32 of 32 answers name a wrong tool, such as acme_get_weather for get_weather.",
        "That is 100.0% of the valid calls; the limit is 10.0%.",
        "What broke, in one case",
        "Asked Search the web for jazz.",
        'Base ✓right tool {"name": "search_web"',
        'With the adapter ✕wrong tool {"name": "acme_search_web"',
        "32 of 32 cases broke",
    )


def test_a_chatty_adapter_is_told_by_what_it_does_instead() -> None:
    says(
        text(make_report("chatty")),
        "FAIL",
        "10 of 32 calls are lost: 7 answered without a call, 2 made with bad arguments, 1 cannot be read.",
        "Valid calls went from 100.0% to 68.8%, a change of −31.2 points; the limit is −5.0 points.",
        "valid calls 100.0% 68.8% −31.2 points ✕missed at least −5.0 points",
        "Valid calls: 10 lost, 0 gained of 32; change −31 points, 95% interval −46 to −20. If changed cases were as",
        "A true drop of 19 points gives p < 0.05 in 4 runs of 5.",
    )


def test_a_pass_says_what_it_is_worth() -> None:
    page = text(make_report("toolcaller"))
    says(page, "PASS", "32 of 32 cases are right with the adapter, none without it.", "there was nothing to break")
    assert "What broke" not in page


def test_a_pass_that_broke_nothing_says_so() -> None:
    cases = [make_case(n, "chatty") for n in (0, 2, 4)]
    says(
        text(report_of(make_probe(cases))),
        "PASS",
        "Nothing broke: the 3 of 3 cases the base gets right are still right.",
    )


def test_calls_where_none_fits_are_a_reason_of_their_own() -> None:
    quiet = answer("There is no tool for that.", "no_call")
    cases = [make_case(n, "toolcaller", expect="no_call", base=quiet) for n in range(4)]
    probe = make_probe(
        cases,
        abstention={"cases": 4, "base": 1.0, "ft": 0.0},
        limits={"assert_abstention_gte": 0.9},
    )
    said = text(report_of(probe.model_copy(update={"verdict": "fail"})))
    says(
        said,
        "4 of 4 requests that fit no tool bring a call.",
        "What broke",
        "Expected no call",
        "✓no call",
        "✕call not asked for",
    )


def test_too_few_cases_are_named_at_the_top_where_the_verdict_hangs_on_them() -> None:
    unsure = {"power": {"detectable_drop": 0.4, "inconclusive": True, "cases_needed": 140}}
    cautious = "Too few cases to be sure"
    chatty = text(make_report("chatty", evidence=unsure))
    assert chatty.count(cautious) == 1
    assert chatty.index(cautious) < chatty.index("about 140 cases in all") < chatty.index("What broke")
    renamer = text(make_report("renamer", evidence=unsure))
    assert renamer.index("What broke") < renamer.index("What the numbers say") < renamer.index(cautious)


def test_warnings_stand_above_the_example() -> None:
    report = make_report().model_copy(update={"warnings": ("tools_intact: the base got nothing right",)})
    says(text(report), "FAIL", "Caution. tools_intact: the base got nothing right", "What broke")


def test_null_adapters_are_drawn_or_their_absence_explained() -> None:
    assert render(make_report()).count('<circle class="null"') == 4  # three adapters and the key
    why = "the suite has no null_adapter probe"
    report = make_report(evidence={"null": {"mean": None, "std": None, "rates": [], "why": why}})
    (nulls, judged) = report.probes
    unjudged = report.model_copy(update={"probes": (nulls, judged.model_copy(update={"z_score": None}))})
    says(text(unjudged), f"above null adapters – not judged: {why}")
    assert '<circle class="null"' not in render(unjudged)


def test_drift_and_dialect_are_shown_where_there_is_any() -> None:
    dialect = {"name": "hermes", "title": "Hermes", "why": "its template has <tool_call>", "base_drift": {"json": 1},
               "ft_drift": {"mistral": 2, "json": 5}, "message": "the adapter changed its dialect"}  # fmt: skip
    page = text(make_report(evidence={"drift": DRIFT, "dialect": dialect}))
    says(
        page, "842 positions in 32 cases", "0.41", "8.1%", "get_weather_1", "acme", "They are read as Hermes: its templ"
    )
    says(page, "the adapter changed its dialect", "dialect base adapter json 1 5 mistral 0 2")
    for heading in ("Drift under the surface", "Answers in another dialect"):
        assert heading in page
        assert heading not in text(make_report())


def test_the_filter_counts_what_the_table_of_outcomes_shows() -> None:
    page = render(make_report("chatty"))
    cells = dict(re.findall(r'data-kind="([a-z_]+-[a-z_]+)"[^>]*>(\d+)<', page))
    options = dict(re.findall(r'<option value="([a-z_]+-[a-z_]+)">[^<]*→[^<]*\((\d+)\)', page))
    assert (
        cells
        == options
        == {"valid-valid": "22", "valid-bad_arguments": "2", "valid-malformed": "1", "valid-no_call": "7"}
    )
    assert len(re.findall(r'data-kinds="[^"]*\bvalid-no_call\b', page)) == 7


def test_broken_cases_come_first() -> None:
    page = render(make_report("chatty"))
    fates = re.findall(r'<span class="fate (\w+)"', page)
    assert fates == ["broken"] * 10 + ["right"] * 22


def test_the_page_needs_nothing_and_runs_only_its_own_script() -> None:
    page = Page(render(make_report(evidence={"drift": DRIFT})))
    names = {name for name, _ in page.attributes}
    assert names.isdisjoint({"src", "srcset", "style", "action", "data", "background"})
    assert not [name for name in names if name.startswith("on")]
    assert all(value and value.startswith("#") for name, value in page.attributes if name == "href")
    (policy,) = [value for name, value in page.attributes if value and value.startswith("default-src 'none'")]
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(page.raw[kind].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
        assert not re.search(r"https?:|url\(|@import", page.raw[kind])


def hostile_report() -> Report:
    bad = HOSTILE
    call = {"name": bad, "arguments": {bad: bad}}
    side = answer(bad, "wrong_tool", call).model_copy(update={"dialect": bad, "more_calls": (call,)})
    case = make_case(0, id=bad, prompt=bad, sent=bad, gold_tool_name=bad, gold_arguments={bad: [bad]}, ft=side)
    words = dict.fromkeys(("case", "token", "base_top", "ft_top"), bad)
    moved = [{"position": 1, "kind": "format", "kl": 1.0, **words}]
    probe = make_probe(
        [case],
        drift={"cases": bad, "positions": bad, "kl_format": bad, "changed_format": bad, "moved": moved},
        dialect={"name": bad, "title": bad, "why": bad, "ft_drift": {bad: 3}, "message": bad},
        paired={"validity": {**paired([(True, True)]), "method": bad}},
        null={"why": bad, "on": bad},
        num_arg_pairs_compared=bad,
    )
    evidence = {"on": bad, "match": bad, "valid_by_rank": {bad: [1]}, bad: bad}
    nulls = ProbeReport(name=bad, kind="null_adapter", verdict="skip", message=bad, evidence=evidence)
    files = {"model": {"path": bad, "sha256": bad}, "ft_adapters": [{"path": bad, "peft": {bad: bad}}]}
    return report_of(
        nulls,
        probe.model_copy(update={"name": bad, "message": bad, "z_score": None}),
        warnings=(bad,),
        loracheck_version=bad,
        judged_with={bad: 1.0},
        provenance={**files, "settings": {bad: [bad, {bad: bad}]}, "seeds": {bad: bad}, "machine": bad, bad: bad},
    )


def test_hostile_words_are_words_wherever_they_stand() -> None:
    harmless = Page(render(make_report(evidence={"drift": DRIFT})))
    html = render(hostile_report())
    page = Page(html)
    assert set(page.tags) <= set(harmless.tags) | {"i"}
    assert page.tags.count("script") == page.tags.count("style") == 1
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "style")]
    assert page.text.count("<script>hacked=1</script>") >= 20
    assert "49" not in page.text
    assert ACTING.isdisjoint(unicodedata.category(char) for char in html.replace("\n", ""))
    html.encode("utf-8")


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(st.text(st.characters(), max_size=60))
def test_any_answer_is_shown_letter_by_letter(said: str) -> None:
    case = make_case(0, ft=answer(said, "no_call"))
    html = render(report_of(make_probe([case])))
    found = re.findall(r'With the adapter</b>.*?<div class="text" dir="ltr">(.*?)</div>', html, re.DOTALL)
    assert len(found) == 2  # the example and the row
    shown = Page(f"<div>{found[1]}</div>")
    expected = visible_lines(said).replace("\\x09", "\t") if said else "empty answer"
    assert "".join(shown._words) == expected


def test_long_answers_are_cut_and_say_so() -> None:
    case = make_case(0, base=answer("{" * 1_000_000, "malformed"), ft=answer("x" * 1_000_000, "no_call"))
    html = render(report_of(make_probe([case.model_copy(update={"sent": "y" * 1_000_000})])))
    assert "The first 20,000 of 1,000,000 characters of this answer; the JSON report has them all." in Page(html).text
    assert len(html) < 200_000


def test_many_long_answers_make_no_huge_page() -> None:
    long = answer("word " * 20_000, "no_call")
    assert len(render(report_of(make_probe([make_case(n, ft=long, sent=long.text) for n in range(1000)])))) < 20_000_000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = sorted(Evidence.model_fields)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("instead", [None, "words", [], {}, -1, 7, True, float("nan"), {"mean": {}}, [["a"]]])
def test_evidence_of_another_kind_is_passed_over(key: str, instead: Any) -> None:
    assert "FAIL" in render(make_report("chatty", cases=3, evidence={key: instead}))


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=100)
@given(st.sampled_from(KEYS), st.data())
def test_evidence_edited_by_hand_never_breaks_the_page(key: str, data: st.DataObject) -> None:
    found = make_report("chatty", cases=2, evidence={"drift": DRIFT}).probes[1].comparison.model_dump()[key]
    if isinstance(found, dict) and found:
        found = {**found, data.draw(st.sampled_from(sorted(found))): data.draw(JSON)}
    else:
        found = data.draw(JSON)
    render(make_report("chatty", cases=2, evidence={key: found})).encode("utf-8")


def test_a_report_that_lost_its_cases_and_evidence_is_shown() -> None:
    (_, probe) = make_report("chatty").probes
    page = text(report_of(probe.model_copy(update={"cases": ()})))
    says(page, "FAIL", "From outcome to outcome", "22")
    assert "All cases" not in page
    bare = ProbeReport(name="p", kind="tool_use_fidelity", verdict="skip", message="no cases to judge")
    says(text(report_of(bare, provenance={})), "SKIP", "No cases to judge".lower())


@pytest.mark.parametrize("verdict", ["pass", "fail", "warn", "skip", "error"])
def test_every_verdict_and_kind_of_probe_has_a_page(verdict: Any) -> None:
    other = ProbeReport(name="other", kind="something_new", verdict=verdict, message="what it found")
    says(text(report_of(other)), verdict.upper(), "what it found")


def test_several_probes_are_listed_under_one_verdict() -> None:
    fine = make_probe([make_case(n, "toolcaller") for n in range(3)]).model_copy(update={"name": "fine"})
    bad = make_probe([make_case(n, "renamer") for n in range(3)]).model_copy(update={"name": "bad"})
    html = render(report_of(fine, bad))
    says(Page(html).text, "FAIL", "all together", "PASS fine", "FAIL bad", "✓PASS", "✕FAIL")
    ids = re.findall(r'id="([^"]+)"', html)
    assert len(ids) == len(set(ids))


def test_no_probe_at_all_is_said() -> None:
    says(text(report_of()), "SKIP", "The report has no probe that was judged.")


def test_a_minus_is_a_minus_and_a_name_stays_a_name() -> None:
    side = answer("{}", "wrong_tool", {"name": "gpt-4-2"})
    cases = [make_case(n, ft=side, gold_tool_name="get-7") for n in range(8)]
    says(text(report_of(make_probe(cases))), "such as gpt-4-2 for get-7.", "at least −5.0 points")


@pytest.mark.parametrize("instead", ["nan", "inf", "-inf", 7, -7, 1e308])
@pytest.mark.parametrize("name", ["score", "z_score", "base_value", "ft_value"])
def test_rates_that_cannot_be_break_nothing(name: str, instead: Any) -> None:
    probe = ProbeReport.model_validate({**dict(make_report("chatty", cases=3).probes[1]), name: instead})
    assert "FAIL" in render(report_of(probe, verdict="fail", score=None))
