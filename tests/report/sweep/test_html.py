from __future__ import annotations

import csv
import io

import pytest

from loracheck.report.sweep.csv import render as to_csv
from loracheck.report.sweep.html import render
from loracheck.report.sweep.junit import render as to_junit
from loracheck.report.sweep.markdown import render as to_markdown
from loracheck.report.sweep.plots import charts, heat, heat_tables
from loracheck.report.sweep.table import troubles
from loracheck.report.sweep.terminal import as_text
from loracheck.sweeping.building import build
from loracheck.sweeping.results import Sweep, SweepCell
from report.test_html import HOSTILE, Page
from sweeping.test_findings import along_scales, cell, checkpoints


def grid() -> Sweep:
    """Two adapters at two scales; one of the cells could not run."""
    return build(
        [
            cell([], adapter="a", scale=0.5),
            cell(range(10), adapter="a", scale=1.0),
            cell(None, adapter="b", scale=0.5),
            cell(range(15), adapter="b", scale=1.0),
        ],
        {},
    )


def test_a_chart_has_a_mark_for_each_cell_where_its_scale_is_and_both_limits() -> None:
    (chart,) = charts(along_scales(s0=[], s25=[], s100=range(10)))
    first, second, last = (mark.at for mark in chart.marks)
    assert (second - first) / (last - first) == pytest.approx(0.25)
    assert [mark.label for mark in chart.marks] == ["0", "0.25", "1"]
    assert (chart.floor, chart.ceiling) == (pytest.approx(0.95), 0.1)
    assert [share for _, share, _ in chart.known("valid_calls")] == [1.0, 1.0, 0.5]


def test_checkpoints_stand_in_their_order_and_the_end_last() -> None:
    (chart,) = charts(checkpoints(c5=[], c100=[], end=[]))
    assert [mark.label for mark in chart.marks] == ["5", "100", "end"]


def test_cells_without_an_order_are_not_connected() -> None:
    (chart,) = charts(build([cell([], adapter="a"), cell([], adapter="b")], {}))
    assert not chart.is_connected
    assert '<line class="curve' not in render(build([cell([], adapter="a"), cell([], adapter="b")], {}))


def test_a_curve_on_which_no_cell_was_judged_is_not_drawn() -> None:
    assert charts(along_scales(s50=None, s100=None))[0].known("valid_calls") == []
    assert len(charts(grid())) == 2


def test_the_heat_table_has_a_place_for_every_cell() -> None:
    (table,) = heat_tables(grid())
    assert table.columns == ("0.5", "1")
    assert [(name, [spot and spot.verdict for spot in spots]) for name, spots in table.rows] == [
        ("a", ["pass", "fail"]),
        ("b", ["error", "fail"]),
    ]
    assert [heat(spot) for _, spots in table.rows for spot in spots if spot] == [1, 3, 1, 4]
    assert heat_tables(along_scales(s50=[], s100=[])) == []


def test_a_third_axis_gives_a_heat_table_for_each_of_its_places() -> None:
    cells = [
        cell([], base=base, adapter=adapter, scale=scale)
        for base in ("x", "y")
        for adapter in ("a", "b")
        for scale in (0.5, 1.0)
    ]
    assert [table.title for table in heat_tables(build(cells, {}))] == ["x", "y"]


def test_cells_with_one_reason_are_told_together() -> None:
    found = troubles(along_scales(s25=None, s50=None, s100=[]))
    assert [(trouble.verdict, trouble.names) for trouble in found] == [("error", "scale 0.25 and 1 more")]


def hostile_sweep() -> Sweep:
    one = cell(range(9), adapter=HOSTILE, base=HOSTILE, run=HOSTILE, scale=0.5)
    other = SweepCell(base="b", adapter=HOSTILE, scale=1.0, verdict="error", reason=HOSTILE, page="javascript:alert(1)")
    return build([one, one.model_copy(update={"scale": 1.0, "page": HOSTILE}), other], {}, (HOSTILE,))


def test_hostile_names_are_words_wherever_they_stand() -> None:
    html = render(hostile_sweep())
    page = Page(html)
    assert "script" not in page.tags
    assert page.tags.count("style") == 1
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "style")]
    assert not [value for name, value in page.attributes if name == "href"]
    for text in (as_text(hostile_sweep()), to_markdown(hostile_sweep()), to_junit(hostile_sweep())):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "<script>" not in to_markdown(hostile_sweep())
    lines = to_csv(hostile_sweep())
    assert "\0" in HOSTILE
    assert "\0" not in lines
    assert [row["verdict"] for row in csv.DictReader(io.StringIO(lines, newline=""))][-1] == "error"


def test_only_paths_beside_the_page_are_links() -> None:
    linked = along_scales(s50=[], s100=[])
    for page, is_link in (("cells/1.html", True), ("../1.html", True), ("javascript:x", False), ("//evil/x", False)):
        cells = tuple(each.model_copy(update={"page": page}) for each in linked.cells)
        assert ("<a href=" in render(linked.model_copy(update={"cells": cells}))) == is_link


def test_a_long_table_fits_a_comment_and_says_what_it_left_out() -> None:
    many = build([cell([], adapter=f"{number:04}-{'x' * 200}") for number in range(400)], {})
    text = to_markdown(many)
    assert len(text) <= 60_000
    assert "Left out, because a comment has no room for more:" in text
