"""The verdict as a badge: words and colour that can be read, a title for those who cannot see it, nothing private."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, get_args
from xml.etree import ElementTree as ET

import pytest

from loracheck.report.badge import draw, render
from loracheck.report.sweep.badge import render as render_sweep
from loracheck.results import Verdict
from report.factory import make_report
from report.reports import FULL_EVIDENCE, probe, report
from report.sweep.test_html import grid
from report.test_redact import SECRET, everything, filled

if TYPE_CHECKING:
    from pathlib import Path

    from report.chromium import Chromium

SVG = "{http://www.w3.org/2000/svg}"


def texts(badge: str) -> list[str | None]:
    return [text.text for text in ET.fromstring(badge).iter(f"{SVG}text")]


@pytest.mark.parametrize(("adapter", "verdict"), [("toolcaller", "PASS"), ("chatty", "FAIL")])
def test_a_badge_has_the_verdict_in_words_and_a_title_that_says_more(adapter: str, verdict: str) -> None:
    badge = render(make_report(adapter))  # type: ignore[arg-type]
    assert texts(badge) == ["tool calls", verdict]
    root = ET.fromstring(badge)
    title = root.find(f"{SVG}title")
    assert title is not None
    assert title.text == root.get("aria-label") == f"tool calls: {verdict} (32 cases, loracheck 0.2.0)"
    assert root.get("role") == "img"


def test_a_verdict_that_may_be_chance_says_so_on_its_badge() -> None:
    unsure = report(probe(verdict="pass", evidence=FULL_EVIDENCE | {"grade": "may_be_chance"}))
    assert texts(render(unsure)) == ["tool calls", "PASS, may be chance"]


def test_a_verdict_by_other_limits_says_so_without_the_name_of_a_probe() -> None:
    again = make_report("toolcaller").model_copy(update={"judged_with": {"secret.assert_z_gte": 1.0}})
    assert texts(render(again)) == ["tool calls", "PASS, other limits"]
    assert "Judged again with assert_z_gte = 1)" in render(again)
    assert "secret" not in render(again)


def test_the_badge_of_a_sweep_says_how_many_cells_pass() -> None:
    assert texts(render_sweep(grid())) == ["tool calls", "ERROR, 1 of 4 pass"]


def light(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(part * weight for part, weight in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


@pytest.mark.parametrize("verdict", get_args(Verdict))
def test_white_letters_stand_out_from_every_ground(verdict: Verdict) -> None:
    grounds = re.findall(r'<path fill="(#\w{6})"', draw(verdict, verdict.upper(), ""))
    assert len(grounds) == 2
    assert all(1.05 / (light(ground) + 0.05) >= 4.5 for ground in grounds)


def test_a_badge_has_nothing_private_even_of_a_report_that_is_not_redacted() -> None:
    whole = filled(everything())
    # The version is from the file, and the file may be a stranger's.
    hostile = whole.model_copy(update={"loracheck_version": '"><script>alert(1)</script>'})
    assert SECRET not in render(hostile)
    assert ET.fromstring(render(hostile)).find(f".//{SVG}script") is None


def test_letters_keep_inside_of_it(browser: Chromium, tmp_path: Path) -> None:
    path = tmp_path / "badge.html"
    for words in ("PASS", "FAIL", "WARN", "SKIP", "ERROR", "PASS, may be chance", "FAIL, 11 of 120 pass"):
        path.write_text(f"<body style='margin: 0'>{draw('pass', words, '')}", encoding="utf-8")
        browser.screen(600)
        browser.open(path.as_uri())
        room = "document.querySelector('svg').getBoundingClientRect().right"
        last = "[...document.querySelectorAll('text')].at(-1).getBoundingClientRect().right"
        assert 5 <= browser.run(f"{room} - {last}") <= 9
