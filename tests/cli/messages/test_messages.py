"""Every message of the error tree is produced through the command line: file, place, what is wrong, what to do."""

from __future__ import annotations

import re

import pytest

from cli.messages import (
    case_rows,
    check_rows,
    cli_rows,
    gguf_rows,
    machine_rows,
    peft_rows,
    report_rows,
    suite_rows,
)
from cli.messages.raise_sites import NOT_FROM_THE_COMMAND_LINE, raise_sites
from cli.messages.rows import Row, outcome

TABLES = (cli_rows, suite_rows, case_rows, gguf_rows, peft_rows, report_rows, check_rows, machine_rows)
ROWS = [row for table in TABLES for row in table.ROWS]

# What comes behind a semicolon, a question, a command to run, or a word that asks for something.
A_WAY_OUT = re.compile(r"[;?`]|: (add|write) |\b(give|must|should|pip install|put it at)\b")


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_refused_command_says_why_and_what_to_do_and_leaves_nothing_behind(row: Row) -> None:
    came = outcome(row)
    assert row.says in came.err
    assert came.code == row.code
    assert "Traceback" not in came.err
    assert not came.changed
    # What click itself says of a number, say, stands below a hint at --help.
    assert A_WAY_OUT.search(came.err) or not came.lines or "--help' for help" in came.err


def test_no_message_is_without_a_row() -> None:
    lines = frozenset(line for row in ROWS for line in outcome(row).lines)
    without = [str(site) for site in raise_sites() if not site.is_in(lines) and site.exempted_by is None]
    assert without == []


def test_no_exception_is_made_for_nothing() -> None:
    """A site that is gone, or has a row, needs none."""
    lines = frozenset(line for row in ROWS for line in outcome(row).lines)
    needed = {site.exempted_by for site in raise_sites() if not site.is_in(lines)}
    assert needed - {None} == set(NOT_FROM_THE_COMMAND_LINE)
