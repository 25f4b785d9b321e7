"""The page in a real browser: it opens, asks for nothing, filters, and nothing a model wrote runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from loracheck.report.diff import diff
from loracheck.report.html import render, to_html
from loracheck.report.sweep.html import render as render_sweep
from report.factory import DRIFT, answer, make_case, make_probe, make_report, report_of
from report.sweep.test_html import grid, hostile_sweep
from report.test_html import HOSTILE, hostile_report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from loracheck.results import Report
    from report.chromium import Chromium

SHOWN = (
    "[...document.querySelectorAll('.case')].filter(row => row.checkVisibility())"
    ".map(row => row.querySelector('.id').textContent)"
)
PICK = "(kind => {const s = document.querySelector('select'); s.value = kind; s.dispatchEvent(new Event('change'))})"
FIND = (
    "(text => new Promise(done => {const i = document.querySelector('input'); i.value = text;"
    " i.dispatchEvent(new Event('input')); setTimeout(done, 300)}))"
)
LINES = "(() => {const r = document.createRange(); r.selectNodeContents(cell); return r.getClientRects().length})()"
# The contrast of every piece of text with the nearest ground that is not see-through.
FAINT = """(() => {
  const parts = (colour) => {
    const found = colour.match(/[\\d.]+/g).map(Number);
    const scale = colour.startsWith("color(") ? 1 : 255;
    return {rgb: found.slice(0, 3).map((part) => part / scale), alpha: found[3] ?? 1};
  };
  const light = (rgb) => rgb
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
  const over = (top, under) => top.rgb.map((part, i) => part * top.alpha + under[i] * (1 - top.alpha));
  const ground = (element) => {
    if (!element) return [1, 1, 1];
    const own = parts(getComputedStyle(element).backgroundColor);
    return own.alpha === 1 ? own.rgb : over(own, ground(element.parentElement));
  };
  const faint = [];
  for (const element of document.querySelectorAll("body *:not(script, option, optgroup)")) {
    const words = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!words || !element.checkVisibility() || element.classList.contains("nought")) continue;
    const style = getComputedStyle(element);
    const under = ground(element);
    const own = over(parts(element.closest("svg") ? style.fill : style.color), under);
    const [a, b] = [light(own), light(under)].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) faint.push(`${contrast.toFixed(2)} ${element.className} ${element.textContent.slice(0, 30)}`);
  }
  return [...new Set(faint)];
})()"""


@pytest.fixture
def load(browser: Chromium, tmp_path: Path) -> Callable[..., float]:
    def load(report: Report | str, *, width: int = 1280, dark: bool = False) -> float:
        path = tmp_path / "report.html"
        path.write_text(report if isinstance(report, str) else render(report), encoding="utf-8")
        browser.screen(width, dark=dark)
        return browser.open(path.as_uri())

    return load


def quiet(browser: Chromium) -> bool:
    """Nothing on the console, and only the page itself was loaded."""
    assert browser.said == []
    return [address.rsplit("/", 1)[-1] for address in browser.requested] == ["report.html"]


@pytest.mark.parametrize("adapter", ["renamer", "chatty", "toolcaller"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_loads_without_errors_or_requests(browser: Chromium, load: Any, adapter: Any, dark: bool) -> None:
    load(make_report(adapter, evidence={"drift": DRIFT}), dark=dark)
    assert quiet(browser)
    assert len(browser.run(SHOWN)) == 32


def test_the_filter_finds_by_outcome_and_by_text(browser: Chromium, load: Any) -> None:
    load(make_report("chatty"))
    browser.run(f"{PICK}('valid-malformed')")
    assert browser.run(SHOWN) == ["play_music_1"]
    assert browser.run("document.querySelector('output').value") == "1 of 32 cases"
    browser.run(f"{PICK}('all')")
    browser.run(f"{FIND}('  NAIROBI ')")
    assert browser.run(SHOWN) == ["get_weather_3"]
    browser.run(f"{PICK}('right')")
    assert browser.run(SHOWN) == []
    assert browser.run("document.querySelector('.none').checkVisibility()")
    browser.run(f"{FIND}('')")
    assert len(browser.run(SHOWN)) == 22
    assert quiet(browser)


def test_a_search_looks_into_answers_and_not_into_the_prompt_all_cases_share(browser: Chromium, load: Any) -> None:
    load(make_report("chatty"))
    browser.run(f"{FIND}('happy to help')")
    assert len(browser.run(SHOWN)) == 7
    browser.run(f"{FIND}('you may call one of these tools')")
    assert browser.run(SHOWN) == []


def test_a_number_in_the_table_of_outcomes_leads_to_its_cases(browser: Chromium, load: Any) -> None:
    load(make_report("chatty"))
    browser.run("document.querySelector('.matrix a[data-kind=valid-bad_arguments]').click()")
    assert browser.run(SHOWN) == ["search_web_2", "search_web_4"]
    browser.run("document.querySelector('.example a[data-kind=broken]').click()")
    assert len(browser.run(SHOWN)) == 10


def test_a_row_opens_to_both_answers_and_the_exact_prompt(browser: Chromium, load: Any) -> None:
    load(make_report("renamer"))
    browser.run("document.querySelector('.case > summary').click()")
    browser.run("document.querySelector('.case .sent > summary').click()")
    seen = browser.run("document.querySelector('.case').innerText")
    assert '{"name": "get_weather", "arguments": {"city": "Madrid"}}' in seen
    assert '{"name": "acme_get_weather", "arguments": {"city": "Madrid"}}' in seen
    assert "<|im_start|>user\nWhat will the weather be like in Madrid?<|im_end|>" in seen
    assert browser.run("document.querySelector('.case ins').textContent") == "acme_"


def test_a_hostile_report_does_not_run(browser: Chromium, load: Any) -> None:
    load(hostile_report())
    browser.run("for (const part of document.querySelectorAll('details')) part.open = true")
    assert browser.run("typeof hacked") == "undefined"
    assert browser.run("document.scripts.length") == 1
    assert browser.run("document.querySelectorAll('img, iframe, svg [onload], a:not([href^=\"#\"])').length") == 0
    assert quiet(browser)


def test_markup_that_slipped_through_would_not_run_either(browser: Chromium, load: Any) -> None:
    slipped = render(make_report()).replace("<main>", f"<main>{HOSTILE.encode('ascii', 'ignore').decode()}")
    slipped = slipped.replace("<main></script></style></title></textarea>-->", "<main><p>slipped</p>")
    load(slipped)
    browser.run("document.querySelector('a[href^=javascript]').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    browser.run("new Promise(done => setTimeout(done, 200))")
    assert browser.run("document.images.length") == 1
    assert browser.run("typeof hacked") == "undefined"
    assert any("Content Security Policy" in said for said in browser.said)
    assert len(browser.run(SHOWN)) == 32, "the page's own script still works"


@pytest.mark.parametrize("width", [320, 360, 390])
def test_a_phone_needs_no_sideways_scrolling(browser: Chromium, load: Any, width: int) -> None:
    long = make_case(1, id="x" * 300, prompt="y" * 2000, ft=answer("z" * 3000, "no_call"), gold_tool_name="t" * 100)
    outcomes: Any = ("valid", "wrong_tool", "bad_arguments", "malformed", "truncated", "no_call")
    every = [
        make_case(n, "chatty", base=answer("a", outcomes[n // 6]), ft=answer("b", outcomes[n % 6])) for n in range(36)
    ]
    for report in (make_report(evidence={"drift": DRIFT}), report_of(make_probe([long])), report_of(make_probe(every))):
        load(report, width=width)
        browser.run("for (const part of document.querySelectorAll('details')) part.open = true")
        assert browser.run("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("adapter", ["chatty", "toolcaller"])
def test_words_stand_out_from_their_ground(browser: Chromium, load: Any, adapter: Any, dark: bool) -> None:
    report = make_report(adapter, evidence={"drift": DRIFT}).model_copy(update={"warnings": ("a\x1bb",)})
    load(report, dark=dark)
    browser.run("for (const part of document.querySelectorAll('details')) part.open = true")
    assert browser.run(FAINT) == []


def test_five_hundred_cases_open_in_time_that_grows_with_their_number_alone(browser: Chromium, load: Any) -> None:
    words = "It is sunny in Madrid and the query has a name, so here is what I would do about it. " * 20
    cases = [make_case(n, "chatty", id=f"case {n}", base=answer(words, "no_call")) for n in range(500)]
    few, many = (report_of(make_probe(cases[:number])) for number in (125, 500))
    # What grew with the square would take sixteen times as long.
    assert any(load(many) < 10 * max(load(few), 0.05) for _ in range(3))
    load(many)
    assert len(browser.run(SHOWN)) == 500


def test_paper_gets_the_broken_cases_and_the_provenance_opened(browser: Chromium, load: Any) -> None:
    load(make_report("chatty"))
    opened = "document.querySelectorAll('details[open]').length"
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run(opened) == 6
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.run(opened) == 0


def test_it_can_be_read_without_its_script(browser: Chromium, load: Any) -> None:
    html = render(make_report("renamer"))
    load(html[: html.index("<script>")])
    assert len(browser.run(SHOWN)) == 32
    assert not browser.run("document.querySelector('.filter').checkVisibility()")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_of_a_diff_fits_a_phone_and_can_be_read(browser: Chromium, load: Any, dark: bool) -> None:
    shared = {"id": "x" * 300, "prompt": "y" * 2000}
    long = make_case(40, **shared, ft=answer("z" * 3000, "no_call"))
    better = report_of(make_probe([*(make_case(n, "chatty") for n in range(8)), make_case(40, **shared)]))
    worse = report_of(make_probe([*(make_case(n, "renamer") for n in range(8)), long]))
    load(to_html(diff(better, worse), "better.json", "worse.json"), width=320, dark=dark)
    browser.run("for (const part of document.querySelectorAll('details')) part.open = true")
    assert browser.run("document.documentElement.scrollWidth") == 320
    assert browser.run(FAINT) == []
    assert browser.run("document.querySelector('.badge').textContent") == "✓right tool"
    # A number is never broken; its unit may go below it.
    assert (
        browser.run("Math.max(...[...document.querySelectorAll('td')].map(cell => LINES))".replace("LINES", LINES)) <= 2
    )
    assert quiet(browser)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 375])
def test_the_page_of_a_sweep_loads_draws_and_can_be_read(browser: Chromium, load: Any, dark: bool, width: int) -> None:
    load(render_sweep(grid()), dark=dark, width=width)
    assert quiet(browser)
    assert browser.run("document.querySelectorAll('svg path.valid').length") == 3 + 1
    assert browser.run("document.querySelectorAll('.matrix.sweep .spot').length") == 4
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run(FAINT) == []


def test_nothing_in_a_hostile_sweep_runs(browser: Chromium, load: Any) -> None:
    load(render_sweep(hostile_sweep()))
    assert quiet(browser)
    assert browser.run("typeof hacked") == "undefined"
