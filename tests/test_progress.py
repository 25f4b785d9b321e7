from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

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


def test_a_notebook_without_widgets_has_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    for widgets, kind in ((None, PlainProgress), (object(), BarProgress)):
        monkeypatch.setattr("loracheck.progress.find_spec", lambda _, widgets=widgets: widgets)
        assert type(notebook_or_terminal_progress(quiet=False)) is kind


def test_a_download_without_a_terminal_is_a_line_every_ten_percent(
    on_a_terminal: Callable[[bool], None], capsys: pytest.CaptureFixture[str]
) -> None:
    on_a_terminal(False)
    with bytes_bar("fetching") as told:
        for done in range(0, 101, 5):
            told(done, 100)
    assert capsys.readouterr().err.splitlines() == ["fetching", *(f"  {tenth}0%" for tenth in range(1, 11))]
