"""What `locate` found reads the same in every form, and nothing a model wrote can act in it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest

from locating.toy_views import make_grid, some
from loracheck.locating.located import Located, Writing
from loracheck.locating.search import Found, Harm, Mend, Trial
from loracheck.locating.views import Difference
from loracheck.report.console import plain_console
from loracheck.report.locate import render, save_located, words
from loracheck.report.locate.terminal import show_located
from report.factory import make_report
from report.test_html import HOSTILE, hostile_report
from report.test_html_browser import FAINT

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.results import Report
    from report.chromium import Chromium

GRID = make_grid()
PART = some(GRID, range(18, 24), ["ffn_down"])
BAND, KIND = some(GRID, range(18, 24)), some(GRID, range(24), ["ffn_down"])
SENTENCE = "Without layers 18–23 of ffn_down (8% of the update) 10 of 10 lost calls come back."


def trial(mend: Mend, returned: int, *, passes: bool, report: Report | None = None) -> Trial:
    broken, others = (10, 22) if report else (8, 8)
    return Trial(mend, returned, broken, 0, others, passes, report)


def make_located(report: Report | None = None, **changes: Any) -> Located:
    """Chatty, as if its harm were in one place."""
    mended = trial(Mend(PART), 10, passes=True, report=make_report("toolcaller"))
    found = Found(
        harms=tuple(
            Harm(part, way, share)
            for way, shares in (("removed", (0.9, -0.02, 0.85, 0.1)), ("alone", (0.95, 0.01, 0.9, 0.2)))
            for part, share in zip((BAND, GRID.whole - BAND, KIND, GRID.whole - KIND), shares, strict=True)
        ),
        curve=(trial(Mend(PART), 8, passes=True), trial(Mend(BAND), 8, passes=True)),
        part=mended,
        carried=True,
        elsewhere=trial(Mend(some(GRID, range(6), ["attn_q", "attn_v"])), 1, passes=False),
        alone=trial(Mend(GRID.whole - PART), 1, passes=False),
        scale=None,
        mended=mended,
        judged=(mended,),
        views=17,
        untried=("The views ran out before the scale was known to 0.05.",),
    )
    changes = {"found": replace(found, **changes.pop("found_changes", {})), **changes}
    return Located(
        **{
            "report": report or make_report("chatty"),
            "grid": GRID,
            "budget": 24,
            "difference": Difference(bitwise_same=False, drift=0.0001, answers=6, changed=0),
            "answers": 230,
            "asked": (8, 8),
            **changes,
        }
    )


SPREAD = {
    "carried": False,
    "alone": None,
    "scale": 0.55,
    "mended": trial(Mend(scale=0.55), 10, passes=True, report=make_report("toolcaller")),
    "elsewhere": trial(Mend(some(GRID, range(12))), 8, passes=True),
}


def as_text(located: Located) -> str:
    out = StringIO()
    show_located(located, plain_console(color=False, file=out, width=80))
    return out.getvalue()


def test_the_one_sentence_names_the_part_and_what_comes_back() -> None:
    assert words.headline(make_located()) == SENTENCE


@pytest.mark.parametrize("form", ["json", "html", "markdown"])
def test_every_form_has_the_sentence_the_effort_and_what_cannot_be_known(form: str) -> None:
    text = render(make_located(), form)
    # Markdown has numbers for letters that would act, and JSON for those that are not ASCII.
    plain = json.dumps(json.loads(text), ensure_ascii=False) if form == "json" else unescape(text)
    for said in (SENTENCE, "4,608 answers" if form != "json" else '"full_grid_answers": 4608', words.UNKNOWN):
        assert said in plain, said


def test_the_terminal_has_the_table_the_curve_and_the_broken_cases_before_and_after() -> None:
    text = " ".join(as_text(make_located()).split())
    assert SENTENCE in text
    assert "layers 18–23 90% 95% 25%" in text
    assert "layers 18–23 of ffn_down 8% 8 of 8 pass" in text
    assert "10 broken cases, as the adapter answers them and mended:" in text
    assert "Leaving out layers 0–5 of attn_q and attn_v (17% of the update) instead does not help: 1 of 8" in text
    assert "Alone, layers 18–23 of ffn_down breaks 7 of the 8 that were asked." in text


def test_no_line_of_the_terminal_is_longer_than_80_columns() -> None:
    assert max(map(len, as_text(make_located()).splitlines())) <= 80


def test_damage_that_is_spread_is_told_as_that_with_the_scale_that_passes() -> None:
    located = make_located(found_changes=SPREAD)
    assert words.headline(located) == "No single part carries the damage; at scale 0.55 the adapter passes."
    text = " ".join(as_text(located).split())
    assert "It keeps 55% of the update's norm." in text
    assert "and just as well without layers 0–11 (50% of the update)." in text


def test_where_nothing_passes_on_all_cases_that_is_said() -> None:
    failed = trial(Mend(PART), 4, passes=False, report=make_report("chatty"))
    located = make_located(found_changes={**SPREAD, "mended": None, "part": None, "judged": (failed,), "scale": None})
    assert words.headline(located).endswith("and nothing that was tried passes on all cases.")
    assert located.exit_code == 1
    assert any("nothing passes: without layers 18–23 of ffn_down" in said for said in words.findings(located))


def test_two_harms_apart_are_not_called_one_part() -> None:
    both = some(GRID, range(6), ["attn_q"]) | PART
    part = trial(Mend(both), 10, passes=True, report=make_report("toolcaller"))
    said = words.headline(make_located(found_changes={"part": part}))
    assert said.startswith("No single part carries the damage, several do together: without layers 0–5 of attn_q plus ")


def test_a_written_adapter_has_its_verdict_beside_the_old_one(tmp_path: Path) -> None:
    done = make_located(writing=Writing(tmp_path / "mended.gguf", make_report("toolcaller")))
    assert (words.writing(done) or "").endswith("PASS on all cases, where the adapter itself is FAIL.")
    assert as_text(done).startswith("FAIL → PASS")
    refused = make_located(writing=Writing(tmp_path / "mended.gguf", make_report("renamer")))
    assert "was not written" in (words.writing(refused) or "")
    assert (done.exit_code, refused.exit_code) == (0, 1)


def test_nothing_to_locate_is_one_sentence() -> None:
    located = make_located(make_report("toolcaller"), found=None, difference=None)
    assert as_text(located).splitlines()[1:] == ["The adapter passes: there is nothing to locate."]
    assert located.exit_code == 0


def test_the_json_has_everything_and_a_version() -> None:
    located = json.loads(render(make_located(), "json"))
    assert (located["schema_version"], located["kind"], located["ending"]) == (1, "locate", "part")
    assert len(located["pairs"]) == len(GRID.places)
    assert sum(pair["share"] for pair in located["pairs"]) == pytest.approx(1)
    assert located["found"]["part"]["removed"]["pairs"] == [name for name in GRID.places if name in PART]
    assert located["found"]["part"]["norm_kept"] == pytest.approx((11 / 12) ** 0.5)
    assert len(located["check"]["probes"]) == len(make_report("chatty").probes)
    assert located["mended_check"]["verdict"] == "pass"
    assert located["effort"]["full_grid_answers"] == 144 * 32


def test_it_is_saved_by_its_ending(tmp_path: Path) -> None:
    for name in ("out.json", "out.html", "out.md"):
        save_located(make_located(), tmp_path / name)
        assert (tmp_path / name).stat().st_size
    with pytest.raises(Exception, match=r"use one of \.json, \.html, \.md"):
        save_located(make_located(), tmp_path / "out.xml")


def hostile_located() -> Located:
    report = hostile_report()
    mended = trial(Mend(PART), 1, passes=True, report=report)
    return make_located(report, found_changes={"mended": mended, "judged": (mended,)}, asked=(1, 0))


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_nothing_a_model_wrote_is_markup(form: str) -> None:
    # What stands in a fence shows as it is.
    text = re.sub(r"```text\n.*?\n```", "", render(hostile_located(), form), flags=re.DOTALL)
    assert "<script>hacked" not in text
    assert "<img" not in text
    assert "\x1b" not in text + as_text(hostile_located())


# In a browser


def load(browser: Chromium, folder: Path, located: Located, *, width: int = 1280, dark: bool = False) -> None:
    path = folder / "located.html"
    path.write_text(render(located, "html"), encoding="utf-8")
    browser.screen(width, dark=dark)
    browser.open(path.as_uri())
    browser.run("for (const part of document.querySelectorAll('details')) part.open = true")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_loads_alone_and_its_words_stand_out(browser: Chromium, tmp_path: Path, dark: bool) -> None:
    load(browser, tmp_path, make_located(), dark=dark)
    assert browser.said == []
    assert [address.rsplit("/", 1)[-1] for address in browser.requested] == ["located.html"]
    assert browser.run(FAINT) == []


def test_the_maps_have_a_cell_for_every_pair_and_mark_those_of_the_part(browser: Chromium, tmp_path: Path) -> None:
    load(browser, tmp_path, make_located())
    assert browser.run("document.querySelectorAll('.heatmap').length") == 3
    assert browser.run("document.querySelector('.heatmap').querySelectorAll('.heat').length") == len(GRID.places)
    assert browser.run("document.querySelector('.heatmap').querySelectorAll('.chosen').length") == len(PART)
    # The hottest cell is where the harmful band and the harmful kind meet.
    hottest = (
        "[...document.querySelector('.heatmap').querySelectorAll('.heat')]"
        ".filter(cell => cell.getAttribute('fill-opacity') > 0.8).map(cell => cell.textContent.split(':')[0])"
    )
    assert browser.run(hottest) == [f"layer {layer}, ffn_down" for layer in range(18, 24)]


@pytest.mark.parametrize("width", [320, 390])
def test_a_phone_needs_no_sideways_scrolling(browser: Chromium, tmp_path: Path, width: int) -> None:
    load(browser, tmp_path, make_located(), width=width)
    assert browser.run("document.documentElement.scrollWidth") == width


def test_a_hostile_answer_does_not_run(browser: Chromium, tmp_path: Path) -> None:
    load(browser, tmp_path, hostile_located())
    assert HOSTILE[:9] == "</script>"
    assert browser.run("typeof hacked") == "undefined"
    assert browser.run("document.scripts.length") == 0
