"""Several tries at a case: a strip of marks in the pages, one line in the terminal."""

from __future__ import annotations

from typing import Any

import pytest

from loracheck.report import FORMS
from loracheck.report.terminal import as_text
from loracheck.report.tries import MOST_MARKS, differs, lost_tries, marks
from loracheck.scoring.tries import CaseTries, compare_tries
from report.reports import LIMITS, answer, case, probe, report
from report.test_html import Page

TRIES = {
    "x": answer(arguments_correct=True),
    "v": answer(arguments_correct=False),
    "-": answer("no idea", "no_call"),
}


def tried(name: str, base: str, ft: str, **changes: Any) -> Any:
    """x for the expected call, v for a valid one with other arguments, - for none."""
    sides = (answer(tries=[TRIES[sign] for sign in signs]) for signs in (base, ft))
    first, second = sides
    return case(name, second, first, **changes)


def tried_report(*cases: Any) -> Any:
    readings = [
        CaseTries(each.id, *(tuple(one.reading for one in side.tries) for side in (each.base, each.ft)))
        for each in cases
    ]
    evidence = {"validity_delta": 0.0, "num_cases": len(cases), "limits": LIMITS, "tries": compare_tries(readings)}
    return report(probe(*cases, verdict="pass", evidence=evidence))


SHOWN = tried_report(
    tried("steady", "xxxxx", "xxxxx"), tried("flaky", "xxxxx", "xv-xx"), tried("mended", "--v--", "xxxxx")
)


def test_a_mark_says_what_came_of_a_try() -> None:
    one = tried("a", "xv-", "xx-")
    assert marks(one, one.base) == ["right", "valid", "wrong"]
    assert lost_tries(marks(one, one.base), marks(one, one.ft)) == -1
    assert differs(one)
    assert not differs(case())


def test_where_no_tool_fits_no_call_is_right() -> None:
    one = tried("a", "x-", "--", expect="no_call", gold_tool_name=None)
    assert marks(one, one.base) == ["wrong", "right"]


def test_the_page_has_a_strip_for_each_case_and_view_the_most_broken_first() -> None:
    html = FORMS["html"].render(SHOWN)
    page = Page(html)
    assert "5 tries at each of 3 cases" in page.text
    strips = html.split('class="strips"')[1].split("</table>")[0]
    assert [strips.index(name) for name in ("flaky", "steady", "mended")] == sorted(
        strips.index(name) for name in ("flaky", "steady", "mended")
    )
    assert strips.count('class="mark right"') == 5 + 5 + 5 + 3 + 5
    assert (strips.count('class="mark valid"'), strips.count('class="mark wrong"')) == (2, 5)
    assert '<option value="tries">other tries come out right (2)</option>' in html
    assert "pass^5" in page.text


def test_markdown_shows_the_strips_that_differ() -> None:
    text = FORMS["markdown"].render(SHOWN)
    assert "| <code>flaky</code> | ●●●●● | ●◐○●● |" in text
    assert "| <code>mended</code> | ○○◐○○ | ●●●●● |" in text
    assert "steady" not in text
    assert "| all 5 as expected | 66.7% | 66.7% | +0.0 points |" in text


def test_the_terminal_has_one_sentence() -> None:
    (sentence,) = [line for line in as_text(SHOWN, verbose=True).splitlines() if "tries" in line]
    assert sentence.startswith("5 tries at each of 3 cases: valid calls 73.3% to 93.3%")


@pytest.mark.parametrize("form", ["html", "markdown", "junit", "json"])
def test_without_tries_no_form_says_a_word_about_them(form: str) -> None:
    text = Page(FORMS[form].render(report(probe(case(), verdict="pass")))).text
    assert "tries at" not in text


def test_a_strip_of_a_thousand_is_cut() -> None:
    text = FORMS["html"].render(tried_report(tried("a", "x" * 1000, "x" * 1000)))
    strips = text.split('class="strips"')[1].split("</table>")[0]
    assert strips.count('class="mark') == 2 * MOST_MARKS
    assert f"+{1000 - MOST_MARKS}" in strips
