from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from loracheck.pace import Spent, Stretch
from loracheck.progress import (
    BarProgress,
    PlainProgress,
    QuietProgress,
    bytes_bar,
    notebook_or_terminal_progress,
    progress,
)

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    def on_a_terminal(yes: bool) -> None:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: yes)

    return on_a_terminal


def tell(told: QuietProgress) -> None:
    """A run of three answers, one of them from the store."""
    with told:
        told.stage("loading", 0)
        told.stage("base", 2)
        told.done(None)
        told.done(12)
        told.stage("adapter", 1)
        told.done(None)


def test_without_a_terminal_each_stage_is_a_line_when_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    tell(PlainProgress())
    told = capsys.readouterr()
    loading, base, adapter = told.err.splitlines()
    assert (told.out, loading, adapter) == ("", "loading", "adapter: 1/1, from the store")
    assert base.startswith("base: 2/2, ")
    assert " tokens/s, " in base


def test_a_long_stage_says_now_and_then_that_it_lives(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loracheck.progress._PLAIN_SECONDS", -1.0)
    tell(PlainProgress())
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == ["loading", "base: 1/2", "base: 2/2", "adapter: 1/1"]


def test_a_long_run_is_foretold_once_as_soon_as_the_first_blocks_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    told = PlainProgress()
    told.say("2 views, 9 cases")
    told.run([Stretch(9, 1000, 900), Stretch(9, 1000, 900)])
    told.stage("base", 9)
    for _ in range(3):
        told.spend(Spent(read=100, read_seconds=10.0))
    assert capsys.readouterr().err.splitlines() == ["2 views, 9 cases", "about 5 min 30 s for all of it"]


def test_a_short_run_is_not_foretold(capsys: pytest.CaptureFixture[str]) -> None:
    told = PlainProgress()
    told.run([Stretch(9, 1000, 900)])
    told.stage("base", 9)
    told.spend(Spent(read=900, read_seconds=0.1))
    assert capsys.readouterr().err == ""


def test_a_bar_leaves_nothing_behind_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    tell(BarProgress())
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("quiet", "terminal", "kind"),
    [
        (False, True, BarProgress),
        (False, False, PlainProgress),
        (True, True, QuietProgress),
        (True, False, QuietProgress),
    ],
)
def test_the_command_line_has_a_bar_on_a_terminal_and_lines_elsewhere(
    on_a_terminal: Callable[[bool], None], quiet: bool, terminal: bool, kind: type
) -> None:
    on_a_terminal(terminal)
    assert type(progress(quiet=quiet)) is kind


def test_a_python_program_without_a_terminal_says_nothing(
    on_a_terminal: Callable[[bool], None], capsys: pytest.CaptureFixture[str]
) -> None:
    on_a_terminal(False)
    tell(notebook_or_terminal_progress(quiet=False))
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "")
    on_a_terminal(True)
    assert type(notebook_or_terminal_progress(quiet=False)) is BarProgress
    assert type(notebook_or_terminal_progress(quiet=True)) is QuietProgress


def test_a_notebook_has_a_bar_that_needs_no_control_sequences(
    on_a_terminal: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on_a_terminal(False)
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    told = notebook_or_terminal_progress(quiet=False)
    assert type(told) is BarProgress
    tell(told)
    drawn = capsys.readouterr().err
    assert "\x1b" not in drawn
    assert "base, case 0/2  " in drawn
    assert drawn.split("\r")[-2].strip() == drawn.split("\r")[-1] == ""


def test_a_download_without_a_terminal_is_a_line_every_ten_percent(
    on_a_terminal: Callable[[bool], None], capsys: pytest.CaptureFixture[str]
) -> None:
    on_a_terminal(False)
    with bytes_bar("fetching") as told:
        for done in range(0, 101, 5):
            told(done, 100)
    assert capsys.readouterr().err.splitlines() == ["fetching", *(f"  {tenth}0%" for tenth in range(1, 11))]
