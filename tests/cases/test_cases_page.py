"""The page about cases tells the truth."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from loracheck.cases.case import Case
from loracheck.cases.importers import FORMATS
from loracheck.cases.load import find_bad_schema, load_cases, load_tools
from loracheck.cli.main import cli
from loracheck.scoring.arguments import arguments_match

PAGE = (Path(__file__).parents[2] / "docs" / "cases.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```json\n(.*?)\n```", PAGE, re.DOTALL)
COMMANDS = re.findall(r"^loracheck cases (.*)$", PAGE, re.MULTILINE)


def test_every_example_is_a_case(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(EXAMPLES), encoding="utf-8")
    loaded = load_cases(path)
    assert len(loaded) == 7
    assert find_bad_schema(loaded) is None


def test_the_example_of_choices_takes_what_the_page_says() -> None:
    case = Case.model_validate_json(EXAMPLES[-1])
    for unit in ({}, {"unit": "C"}):
        for days in (["sat", "sun"], ["sun", "sat"]):
            arguments = {"city": "Roma", "days": days, **unit}
            assert arguments_match(case.gold_arguments or {}, arguments, case.surface[0].parameters)


def test_every_key_and_format_is_listed() -> None:
    for key in Case.model_fields:
        assert re.search(rf"^\| [^|]*`{key}`[^|]* \|", PAGE, re.MULTILINE), key
    for name in FORMATS:
        assert f"\n| `{name}` |" in PAGE


def write_prompts_and_tools(folder: Path) -> None:
    """The page's cases that name no tools, and an MCP server's answer with those of another example."""
    (prompts,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (folder / "prompts.yaml").write_text(prompts, encoding="utf-8")
    tools = [
        {"name": tool.name, "inputSchema": tool.parameters} for tool in Case.model_validate_json(EXAMPLES[1]).surface
    ]
    (folder / "mcp-tools.json").write_text(json.dumps({"result": {"tools": tools}}), encoding="utf-8")


def test_the_cases_that_name_no_tools_load_with_those_of_a_file(tmp_path: Path) -> None:
    write_prompts_and_tools(tmp_path)
    cases = load_cases(tmp_path / "prompts.yaml", load_tools(tmp_path / "mcp-tools.json"))
    assert [case.accepted_names for case in cases] == [("get_time",), ("get_time", "get_weather"), ()]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_understood(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    record = '{"query": "Hi.", "tools": [{"name": "f"}], "answers": []}\n'
    for name in ("train.jsonl", "xlam.json"):
        Path(name).write_text(record, encoding="utf-8")
    write_prompts_and_tools(tmp_path)
    done = CliRunner().invoke(cli, ["cases", *shlex.split(command)])
    assert done.exit_code == 0, done.output
