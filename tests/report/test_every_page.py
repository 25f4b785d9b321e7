"""What holds on every kind of page, in a real browser: by keyboard, by ear, on paper, enlarged, dark, on a phone.

LORACHECK_SCREENSHOTS names a folder that keeps pictures of them all.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from report.pages import PAGES
from report.test_html_browser import FAINT

if TYPE_CHECKING:
    from collections.abc import Callable

    from report.chromium import Chromium

OPEN_ALL = "for (const part of document.querySelectorAll('details')) part.open = true"
CONTROLS = "a[href], select, input, button, textarea, summary, [tabindex='0']"
# What a key reached: its place among the controls, and whether that can be seen.
FOCUSED = f"""(() => {{
  const focused = document.activeElement, style = getComputedStyle(focused);
  const box = focused.getBoundingClientRect();
  return {{
    place: [...document.querySelectorAll("{CONTROLS}")].indexOf(focused),
    name: focused.outerHTML.slice(0, 100),
    ring: style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth),
    inView: box.bottom > 0 && box.top < innerHeight,
  }};
}})()"""
WIDTH = "document.documentElement.scrollWidth"
# Boxes whose contents go on where nobody sees them.
CUT = """[...document.querySelectorAll("body *:not(svg, svg *, .unseen, option, optgroup)")].filter((box) => {
  const style = getComputedStyle(box);
  const wide = style.overflowX !== "visible" && box.scrollWidth > box.clientWidth + 1;
  const high = style.overflowY !== "visible" && box.scrollHeight > box.clientHeight + 1;
  return box.checkVisibility() && (wide || high);
}).map((box) => box.outerHTML.slice(0, 100))"""
DARK_GROUNDS = """[...document.querySelectorAll("html, body, body *")].filter((box) => {
  const ground = getComputedStyle(box).backgroundColor;
  const [r, g, b, alpha = 1] = ground.match(/[\\d.]+/g).map((part) => part * (ground.startsWith("color(") ? 255 : 1));
  const {width, height} = box.getBoundingClientRect();
  return alpha > 0.5 && r + g + b < 300 && width > 60 && height > 60;
}).map((box) => box.outerHTML.slice(0, 100))"""
PAPER = 717
"""Pixels of an A4 page between its margins."""


@pytest.fixture(scope="module", params=PAGES)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Name and address; made once for all tests of this module."""
    path = tmp_path_factory.mktemp("pages") / f"{request.param}.html"
    path.write_text(PAGES[request.param](), encoding="utf-8")
    return request.param, path.as_uri()


@pytest.fixture
def load(browser: Chromium, page: tuple[str, str]) -> Callable[..., Chromium]:
    def load(width: int = 1280, **screen: Any) -> Chromium:
        browser.screen(width, **screen)
        browser.open(page[1])
        return browser

    return load


def test_the_tab_key_reaches_every_control_and_shows_where_it_is(load: Any) -> None:
    browser = load()
    shown = browser.run(
        f'[...document.querySelectorAll("{CONTROLS}")].flatMap((it, n) => it.checkVisibility() ? [n] : [])'
    )
    reached = []
    # Chromium also stops at boxes that scroll.
    for _ in range(len(shown) + 20):
        browser.press("Tab")
        focused = browser.run(FOCUSED)
        if focused["name"].startswith("<body") or (reached and focused["place"] == reached[0]):
            # Once around.
            break
        assert focused["ring"] >= 2, focused["name"]
        assert focused["inView"], focused["name"]
        reached.append(focused["place"])
    assert [place for place in reached if place >= 0] == shown


def test_the_enter_key_opens_and_closes_what_is_folded(load: Any) -> None:
    browser = load()
    folded = "document.querySelectorAll('details:not(details details) > summary')"
    for number in range(min(browser.run(f"{folded}.length"), 3)):
        summary = f"{folded}[{number}]"
        browser.run(f"{summary}.focus()")
        for is_open in (True, False):
            browser.press("Enter")
            assert browser.run(f"{summary}.parentElement.open") is is_open


def test_everything_has_a_name_for_a_screen_reader(load: Any) -> None:
    browser = load()
    browser.run(OPEN_ALL)
    nodes = [node for node in browser.call("Accessibility.getFullAXTree")["nodes"] if not node["ignored"]]
    roles = {"link", "button", "combobox", "searchbox", "textbox", "image", "table", "figure", "region",
             "DisclosureTriangle", "columnheader", "rowheader", "heading", "SvgRoot", "main"}  # fmt: skip
    nameless = [
        (node["role"]["value"], browser.markup_of(node["backendDOMNodeId"]))
        for node in nodes
        if node["role"]["value"] in roles - {"main", "SvgRoot"} and not node.get("name", {}).get("value", "").strip()
    ]
    assert nameless == []
    told = [node["role"]["value"] for node in nodes]
    assert "SvgRoot" not in told, "a picture is named, or it is left out"
    assert told.count("main") == 1
    levels = [
        prop["value"]["value"]
        for node in nodes
        if node["role"]["value"] == "heading"
        for prop in node["properties"]
        if prop["name"] == "level"
    ]
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels
    assert browser.run("document.title.length") > 0
    assert browser.run("document.documentElement.lang") == "en"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_words_stand_out_from_their_ground(load: Any, dark: bool) -> None:
    browser = load(dark=dark)
    browser.run(OPEN_ALL)
    assert browser.run(FAINT) == []


def test_neither_a_phone_nor_large_letters_need_sideways_scrolling(load: Any) -> None:
    browser = load(390)
    browser.run(OPEN_ALL)
    for width, density in ((390, 1), (360, 1), (320, 1), (640, 2)):
        # Half as wide and twice as dense is a window of 1280 pixels at 200 %.
        browser.screen(width, density=density)
        assert browser.run(WIDTH) <= width, width
    browser.screen(1280)
    browser.run("document.documentElement.style.fontSize = '200%'")
    assert browser.run(WIDTH) <= 1280, "letters at 200 %"


def test_paper_is_white_shows_what_is_folded_and_cuts_nothing_off(load: Any) -> None:
    browser = load(PAPER, dark=True, media="print")
    assert browser.run(WIDTH) <= PAPER
    assert browser.run(CUT) == []
    assert browser.run(DARK_GROUNDS) == []
    assert browser.run(FAINT) == []
    folded = "[...document.querySelectorAll('details[data-print] > :not(summary)')]"
    assert browser.run(f"{folded}.every((part) => part.checkVisibility())")
    assert browser.run(f"document.querySelector('details') === null || {folded}.length > 0")


def test_it_loads_alone_and_says_nothing(load: Any, page: tuple[str, str]) -> None:
    browser = load()
    assert browser.said == []
    assert browser.requested == [page[1]]


LOOKS: dict[str, dict[str, Any]] = {
    "light": {"width": 1280},
    "dark": {"width": 1280, "dark": True},
    "phone": {"width": 390},
    "phone-dark": {"width": 390, "dark": True},
    "zoomed": {"width": 640, "density": 2},
    "print": {"width": PAPER, "media": "print", "dark": True},
}


@pytest.mark.skipif("LORACHECK_SCREENSHOTS" not in os.environ, reason="LORACHECK_SCREENSHOTS names no folder")
def test_pictures_of_it_are_kept(browser: Chromium, page: tuple[str, str]) -> None:
    folder = Path(os.environ["LORACHECK_SCREENSHOTS"])
    folder.mkdir(parents=True, exist_ok=True)
    name, address = page
    browser.screen(1280)
    browser.open(address)
    for look, screen in LOOKS.items():
        browser.screen(**screen)
        browser.picture(folder / f"{name}-{look}.png")
        assert (folder / f"{name}-{look}.png").stat().st_size > 5_000
    browser.paper(folder / f"{name}.pdf")
    assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")
