from __future__ import annotations

import re
import unicodedata
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from loracheck.report.markdown import LIMIT, render
from report.reports import FULL_EVIDENCE, answer, broken_case, case, full_report, probe, report

if TYPE_CHECKING:
    from loracheck.results import Report

# Elements that the report itself makes. Anything else would be the model's doing.
OURS = {
    "h2", "h3", "p", "blockquote", "strong", "code", "pre", "sub", "details", "summary", "ul", "li",
    "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip

HOSTILE = {
    "fences": "``` a\n```\n~~~\n````\n</details><script>alert(1)</script>",
    "only backticks": "`" * 50,
    "a table": "| a | b |\n| --- | --- |\n| 1 | \\| 2 |",
    "mentions": "@octocat closes #123 and octo/repo#5, mail a@example.com",
    "html": "</code></pre></details><img src=x onerror=alert(1)><!-- ",
    "links": "[x](javascript:alert(1)) <https://example.com> https://example.com www.example.com ![i](x)",
    "emphasis": "**a** __b__ ~~c~~ $x^2$ :smile: \\ & &lt; &#60;",
    "controls": "\x1b[2J\x00\u202eevil\u200b\ud800\r\n\ttab",
    "blocks": "# a\n\n- b\n1. c\n\n---\n===\n> d\n    e\n[f]: x",
    "nothing": "",
}


def html(made: Report) -> str:
    return str(MarkdownIt("commonmark").enable("table").render(render(made)))


def elements(page: str) -> set[str]:
    return set(re.findall(r"<\s*([a-z0-9]+)", page.replace("<!--", "<comment"), re.IGNORECASE))


def rows(made: Report) -> dict[str, list[str]]:
    found = (line.strip("|").split("|") for line in render(made).splitlines() if line.startswith("| "))
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in found}


def test_the_verdict_and_the_reason_come_first() -> None:
    lines = render(report(probe(case(), broken_case("two")))).splitlines()
    assert lines[0] == "## ❌ loracheck FAIL, score 0.50: <code>tools&#95;intact</code>"
    assert lines[2] == (
        "**Why:** 1 of 2 calls is lost: answered without a call. "
        "Valid calls went from 100.0% to 50.0%, a change of -50.0 points; the limit is -5.0 points."
    )


def test_the_figures_are_a_table_with_limits() -> None:
    table = rows(full_report())
    assert table[""] == ["base", "adapter", "change", "limit", ""]
    assert table["valid calls"] == ["100.0%", "78.1%", "-21.9 points", "at least -5.0 points", "**missed**"]
    assert table["wrong tool names"] == ["0.0%", "0.0%", "", "at most 10.0%", "kept"]
    assert table["base ↓  adapter →"] == ["right tool", "unreadable call", "no call"]
    assert table["right tool"] == ["25", "2", "5"]


def test_statistics_warnings_and_provenance_are_told() -> None:
    text = render(full_report())
    paired = "Valid calls: 7 lost, 0 gained of 32; change -22 points, 95% interval -39 to -3. If changed cases were as "
    assert f"\n- {paired}likely gained as lost, a split this uneven would come up in 1.6% of checks.\n" in text
    assert "\n> ⚠️ Too few cases to be sure: " in text
    assert text.count("Too few cases") == 1
    assert "\n> ⚠️ the adapter changes only 2 of 30 layers\n" in text
    assert text.splitlines()[-1] == (
        "<sub>model <code>base.gguf</code> <code>bbbbbbbbbbbb</code> · adapter <code>mine.gguf</code> "
        "<code>ffffffffffff</code> at 0.5 · loracheck 0.1.0 · llama-cpp-python 0.3.36</sub>"
    )


def test_cases_that_broke_are_folded_with_both_answers() -> None:
    page = html(report(probe(case("fine"), broken_case("two", "Sorry,\nno."))))
    assert "<strong>1 of 2 cases broke</strong>" in page
    assert "<details><summary><code>two</code>: right tool to no call</summary>" in page
    assert '<pre><code class="language-text">Sorry,\nno.\n</code></pre>' in page
    assert "fine" not in page


def test_a_case_that_the_base_fails_too_did_not_break() -> None:
    silent = answer("no", "no_call")
    assert "No case broke (1 case)." in render(report(probe(case(ft=silent, base=silent))))


def test_only_the_first_ten_are_shown() -> None:
    text = render(report(probe(*(broken_case(f"case{n}") for n in range(12)))))
    assert "**12 of 12 cases broke**; the first 10:" in text
    assert text.count("<details>") == 10


def test_several_probes_have_a_headline_each() -> None:
    text = render(report(probe(case()), probe(case(), name="again", verdict="pass")))
    assert text.startswith("## ❌ loracheck FAIL, score 0.50\n")
    assert "\n### ✅ loracheck PASS, score 0.50: <code>again</code>\n" in text


@pytest.mark.parametrize("said", HOSTILE.values(), ids=HOSTILE)
def test_what_a_model_writes_is_shown_and_does_nothing(said: str) -> None:
    hostile(said)


@given(st.text())
def test_any_text_is_shown_and_does_nothing(said: str) -> None:
    hostile(said)


def hostile(said: str) -> None:
    """The text in every place a report has for it."""
    (most,) = FULL_EVIDENCE["drift"]["moved"]
    moved = {**FULL_EVIDENCE["drift"], "moved": [{**most, "case": said, "base_top": said, "ft_top": said}]}
    evidence = {**FULL_EVIDENCE, "drift": moved, "null": {"why": said}, "dialect": {"message": said}}
    file = {"path": said, "sha256": said, "scale": 1}
    made = report(
        probe(broken_case(said, said, prompt=said), name=said, message=said, evidence=evidence),
        warnings=(said,),
        provenance={"model": file, "ft_adapters": [file], "llama_cpp": said},
        loracheck_version=said,
        judged_with={said: -0.1},
    )
    text, page = render(made), html(made)
    text.encode("utf-8")
    assert elements(page) <= OURS
    assert page.count("<pre>") == 2
    assert page.count("<table>") == 2
    assert page.count("<details>") == page.count("</details>") == 1
    assert {unicodedata.category(char) for char in text.replace("\n", "")}.isdisjoint({"Cc", "Cf", "Cs", "Co", "Zl"})
    # GitHub mentions people, and refers to issues, wherever these are not in code.
    outside = unescape(re.sub(r"<[^>]*>", "", re.sub(r"<code.*?</code>", "", page, flags=re.DOTALL)))
    assert not re.search(r"[@#]\w", outside)
    for row in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL):
        assert len(re.findall("<t[hd]", row)) in (2, 6)


def test_a_pipe_does_not_end_a_cell() -> None:
    page = html(report(probe(case(), evidence={"null": {"why": "a | b \\| c"}})))
    assert re.search(r"<td[^>]*>not judged: a \| b \\\| c</td>", unescape(page))


def test_an_answer_is_shown_letter_by_letter() -> None:
    said = HOSTILE["fences"]
    blocks = re.findall(r"<pre><code[^>]*>(.*?)</code></pre>", html(report(probe(broken_case(text=said)))), re.DOTALL)
    assert unescape(blocks[1]) == f"{said}\n"


@pytest.mark.parametrize("letter", ["x", "\u202e", "`", "@", "&"])
def test_a_comment_is_never_too_long_and_says_what_is_missing(letter: str) -> None:
    long = letter * 1_000_000
    probes = [probe(*(broken_case(f"{n}", long, prompt=long) for n in range(10)), name=f"{n}{long}") for n in range(9)]
    text = render(report(*probes, warnings=(long,) * 9))
    assert len(text) <= LIMIT
    assert re.search(r"Left out, because a comment has no room for more: .*\d+ cases", text)
    assert text.endswith("</sub>\n")


@pytest.mark.parametrize("instead", [None, "words", 7, [], {}, [7], True, 10**400])
def test_evidence_and_provenance_of_another_kind_break_nothing(instead: Any) -> None:
    for name in FULL_EVIDENCE:
        made = probe(case(), evidence={**FULL_EVIDENCE, name: instead})
        assert render(report(made, provenance={"model": instead, "ft_adapters": instead})).startswith("## ❌")
