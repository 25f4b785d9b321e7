"""The bar as a person sees it: a check on a pty, wide and narrow, with and without colours, and while it is resized."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from suite_factory import write_files
from terminal import on_a_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from terminal import Screen

# Every answer of the base takes its time, so that each is drawn; the adapter waits for us at its second one.
CHECK = """
import sys, time
from loracheck.cli.main import run
from suite_factory import answering, call

def slowly(prompt):
    time.sleep(0.11)
    return call()

def waiting(prompt):
    if prompt.id == "case2":
        sys.stdin.readline()
    return slowly(prompt)

files = ["--base", "base.gguf", "--adapter", "adapter.gguf", "--cases", "cases.jsonl"]
code = run(["check", *files, "--null-runs", "2", "--no-cache"], answering(slowly, waiting, slowly))
print("The end.", file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    from suite_factory import make_case

    write_files(tmp_path)
    lines = [make_case(number).model_dump_json(exclude_unset=True) for number in range(1, 5)]
    (tmp_path / "cases.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


def is_at_the_adapter(screen: Screen) -> bool:
    return "adapter" in screen.last and "1/4" in screen.last


@pytest.mark.parametrize("no_color", [None, "1"])
@pytest.mark.parametrize("columns", [40, 80, 200])
def test_one_bar_for_the_whole_run_that_never_wraps_and_leaves_nothing(
    folder: Path, columns: int, no_color: str | None
) -> None:
    with on_a_terminal(CHECK, folder, columns=columns, NO_COLOR=no_color) as program:
        program.read_until(is_at_the_adapter)
        (bar,) = [line for line in program.screen.lines if "━" in line]
        assert len(bar) < columns
        assert re.search(r"  \d+%  \d+ s left$", bar)
        assert ("view 2/4: adapter, case 1/4  ━" in bar) == (columns > 40)
        assert bar.startswith("adapter 1/4  ━") == (columns == 40)
        assert program.process.stdin is not None
        program.process.stdin.write(b"go on\n")
        program.process.stdin.flush()
        assert program.read_to_the_end() == 0
    screen = program.screen
    assert screen.last == "The end."
    assert not any("━" in line or "loading" in line for line in screen.lines)
    bars = [seen for seen in screen.seen if "━" in seen or "╌" in seen]
    shares = [int(share) for seen in bars for share in re.findall(r"(\d+)%", seen)]
    assert shares == sorted(shares)
    assert shares[-1] > 90
    assert {len(seen) < columns for seen in bars} == {True}
    assert screen.coloured == (no_color is None)
    # The words above the bar may be longer than a narrow terminal is wide.
    assert screen.wrapped == (columns == 40)


@pytest.mark.parametrize("reflows", [True, False], ids=["reflowing", "cutting"])
def test_a_terminal_that_is_resized_keeps_one_bar(folder: Path, reflows: bool) -> None:
    with on_a_terminal(CHECK, folder, columns=120, reflows=reflows) as program:
        program.read_until(is_at_the_adapter)
        above = [line for line in program.screen.lines if "answers to compute" in line]
        assert len(above) == 1
        program.resize(50)
        assert program.process.stdin is not None
        program.process.stdin.write(b"go on\n")
        program.process.stdin.flush()
        program.read_until(lambda screen: "adapter 2/4" in screen.last)
        assert len([line for line in program.screen.lines if "━" in line]) == 1
        assert len(program.screen.last) < 50
        program.resize(100)
        program.read_until(lambda screen: "null" in screen.last)
        assert len([line for line in program.screen.lines if "━" in line]) == 1
        assert len(program.screen.last) > 50
        assert program.read_to_the_end() == 0
    assert program.screen.last == "The end."
    assert not any("━" in line or "╌" in line for line in program.screen.lines)


def test_an_interrupt_takes_the_bar_away(folder: Path) -> None:
    with on_a_terminal(CHECK.replace("sys.stdin.readline()", "raise KeyboardInterrupt"), folder) as program:
        assert program.read_to_the_end() == 130
    assert program.screen.lines[-2:] == ["Interrupted.", "The end."]
    assert not any("━" in line for line in program.screen.lines)


@pytest.mark.parametrize(
    ("env", "stroke"),
    [({"PYTHONIOENCODING": "ascii:backslashreplace"}, "#"), ({"TERM": "dumb"}, None)],
    ids=["ascii", "dumb"],
)
def test_a_poor_terminal_gets_what_it_can_show(folder: Path, env: dict[str, str], stroke: str | None) -> None:
    code = CHECK.replace("sys.stdin.readline()", "pass")
    with on_a_terminal(code, folder, **env) as program:
        assert program.read_to_the_end() == 0
    drawn = "".join(program.screen.seen)
    assert "━" not in drawn
    assert (stroke or "") in drawn
    assert bool(drawn) == (stroke is not None)
    assert any(line.startswith("base: 4/4, ") for line in program.screen.lines) == (stroke is None)
