from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import click
import pytest

from loracheck import check
from loracheck.cli.main import cli
from loracheck.report import FORMS
from suite_factory import Files, answering, failing_from, make_suite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEAVY = ("numpy", "pydantic", "llama_cpp", "gguf", "rich", "jinja2", "yaml", "sqlite3")


def test_the_commands_of_the_design_are_there() -> None:
    assert set(cli.commands) == {
        "check", "sweep", "locate", "demo", "cases", "convert", "inspect", "null", "quantize", "score", "report",
        "diff", "cache", "doctor",
    }  # fmt: skip


def commands(group: click.Group, *above: str) -> Iterator[tuple[str, ...]]:
    """Every command, those of groups by their whole names."""
    for name, command in sorted(group.commands.items()):
        yield (*above, name)
        if isinstance(command, click.Group):
            yield from commands(command, *above, name)


@pytest.mark.parametrize("command", [*commands(cli)], ids=" ".join)
def test_the_help_of_every_command_has_an_example(loracheck: Any, command: tuple[str, ...]) -> None:
    for flag in ("--help", "-h"):
        done = loracheck(*command, flag)
        assert (done.code, done.err) == (0, "")
        assert "Example" in done.out
        assert f"  loracheck {' '.join(command)}" in done.out


def test_help_and_version_go_to_standard_output(loracheck: Any) -> None:
    assert "loracheck check --base" in loracheck("--help").out
    assert loracheck("--version").out.startswith("loracheck, version ")


def test_an_unknown_command_ends_with_2(loracheck: Any) -> None:
    done = loracheck("nonsense")
    assert (done.code, done.out) == (2, "")
    assert "no command 'nonsense'; there are cache, cases, check" in done.err


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from loracheck.cli.main import run; assert run(['--help']) == 0;"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.fixture
def report_file(files: Files, tmp_path: Path) -> Path:
    path = tmp_path / "out.json"
    engine = answering(adapter=failing_from(1, "naïve 猫 answer"))
    path.write_text(FORMS["json"].render(check(make_suite(files, cases=12), engine=engine)), encoding="ascii")
    return path


def test_the_exit_code_reaches_the_shell(spawn: Any, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{", encoding="utf-8")
    process = spawn("score", bad)
    out, err = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert err.startswith(f"{bad}:1: ")


def test_letters_that_the_terminal_has_not_are_escaped(spawn: Any, report_file: Path) -> None:
    process = spawn("report", report_file, PYTHONIOENCODING="ascii")
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert "na\\xefve \\u732b answer" in out


def test_a_reader_that_goes_away_brings_no_traceback(spawn: Any, report_file: Path) -> None:
    for command, code in (("report", 0), ("score", 141)):
        process = spawn(command, report_file if command == "report" else "-")
        process.stdout.close()
        _, err = process.communicate('{"cases": [], "base_outputs": [], "ft_outputs": [], "null_stats": null, '
                                     '"seed": 0, "allowed_tools": null}\n')  # fmt: skip
        assert (process.returncode, err) == (code, "")


CHECK = """
import sys
from loracheck.cli.main import run
from suite_factory import answering

sys.exit(run(engine=answering("no", "no")))
"""


def test_the_verdict_is_the_exit_code_when_the_reader_goes_away(files: Files) -> None:
    command = [sys.executable, "-c", CHECK, "check", "-q", "--base", files.base, "--adapter", files.adapter]
    tests = os.pathsep.join(path for path in sys.path if path.endswith("tests"))
    process = subprocess.Popen(
        list(map(str, command)),
        env={**os.environ, "PYTHONPATH": tests},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate()
    assert (process.returncode, err) == (1, "")


def test_results_stay_json_when_piped(spawn: Any, files: Files) -> None:
    process = spawn("inspect", files.adapter, "--json")
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert json.loads(out)["kind"] == "LoRA adapter"
