from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from loracheck.cases.load import find_cases, load_cases, load_tools
from loracheck.errors import CasesError
from suite_factory import SEARCH

if TYPE_CHECKING:
    from pathlib import Path

MCP = {"name": "search_web", "inputSchema": SEARCH["parameters"], "annotations": {"readOnlyHint": True}}
NOW = {"type": "function", "function": {"name": "now"}}


def write(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def refusal(path: Path) -> str:
    with pytest.raises(CasesError) as refused:
        load_tools(path)
    return str(refused.value).replace(str(path), path.name)


@pytest.mark.parametrize(
    "value",
    [
        [MCP, NOW],
        {"tools": [MCP, NOW]},
        {"tools": [MCP, NOW], "nextCursor": None},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [MCP, NOW], "_meta": {}}},
        {"model": "m", "max_tokens": 9, "tools": [MCP, NOW], "messages": []},
    ],
    ids=["a list", "a result", "a last page", "a reply", "a request"],
)
def test_tools_are_found_where_people_have_them(tmp_path: Path, value: Any) -> None:
    tools = load_tools(write(tmp_path / "tools.json", value))
    assert [tool.spec() for tool in tools] == [SEARCH, {"name": "now"}]


def test_a_yaml_file_gives_the_same_tools_and_the_lines_of_its_mistakes(tmp_path: Path) -> None:
    parameters = json.dumps(SEARCH["parameters"])
    text = f"tools:\n- name: search_web\n  inputSchema: {parameters}\n- name: now\n"
    path = write(tmp_path / "tools.yaml", text)
    assert [tool.spec() for tool in load_tools(str(path))] == [SEARCH, {"name": "now"}]
    write(path, text.replace("name: now", "nme: now"))
    assert refusal(path).splitlines() == [
        "tools.yaml:4: tools[1].name: missing; this key is needed",
        "tools.yaml:4: tools[1].nme: unknown key; did you mean 'name'?",
    ]


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ([], "tools.json: empty; it needs at least one entry"),
        ({"tools": []}, "tools.json: tools: empty; it needs at least one entry"),
        ({"tools": {"a": 1}}, "tools.json: tools: should be a list"),
        ({"result": {}}, "tools.json: result.tools: missing; this key is needed"),
        ({"error": {"code": -32601}}, "tools.json: no list of tools; it should be one, or have one under 'tools', as "),
        ("3", "tools.json: no list of tools; it should be one, or "),
        ({"tools": [MCP, MCP]}, "tools.json: tools: two tools are named 'search_web'; names must differ"),
        ([MCP, {"nam": "now"}], "tools.json: [1].name: missing; this key is needed"),
        ({"tools": [MCP], "nextCursor": "2"}, "tools.json: nextCursor: the server has more tools than these; put all "),
        ('{"tools": [\n', "tools.json:2: not JSON: Expecting value; mend it; the name of a YAML file ends in .yaml"),
        ("tools:\n- name: now\n", "tools.json:1: not JSON: Expecting value; mend it; the name of a YAML file ends in "),
        (
            '[{"name": "now", "parameters": {"default": NaN}}]',
            "tools.json: not JSON that we can read: NaN is no JSON; take it out",
        ),
        ("[" * 10_000, "tools.json: not JSON that we can read: "),
    ],
)
def test_a_bad_file_of_tools_says_where_and_why(tmp_path: Path, value: Any, complaint: str) -> None:
    assert refusal(write(tmp_path / "tools.json", value)).startswith(complaint)


def test_a_missing_file_of_tools_says_so(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.json") == "none.json: no such file; check the path"


CASES = [
    {"prompt": "Find cats.", "gold_tool_name": "search_web"},
    {"prompt": "What time is it?", "tool_spec": {"name": "clock"}},
    {"prompt": "Hi.", "expect": "no_call"},
]


@pytest.mark.parametrize("name", ["cases.jsonl", "cases.yaml"])
def test_cases_that_name_no_tools_get_those_of_the_file(tmp_path: Path, name: str) -> None:
    tools = load_tools(write(tmp_path / "tools.json", [MCP, NOW]))
    lines = "\n".join(map(json.dumps, CASES))
    path = write(tmp_path / name, json.dumps(CASES) if name.endswith("yaml") else lines)
    cases = load_cases(path, tools)
    assert [case.surface for case in cases] == [tools, cases[1].surface, tools]
    assert [case.gold for case in cases] == ["search_web", "clock", None]
    assert find_cases(path, tools=tools) == cases
    with pytest.raises(
        CasesError, match="no tools on offer; give tool_spec or tools, or tools for all cases with --to"
    ):
        load_cases(path)


def test_every_bad_line_is_named_up_to_a_point(tmp_path: Path) -> None:
    tools = load_tools(write(tmp_path / "tools.json", [MCP, NOW]))
    good, bad = json.dumps(CASES[0]), json.dumps({"prompt": "p", "gold_tool_name": "serch_web"})
    path = tmp_path / "cases.jsonl"
    for lines, expected in (((good, bad, "{", bad), 3), ((bad,) * 50, 21)):
        write(path, "\n".join(lines))
        with pytest.raises(CasesError) as refused:
            load_cases(path, tools)
        complaints = str(refused.value).splitlines()
        assert len(complaints) == expected
        first = f"{path}:{lines.index(bad) + 1}: "
        assert complaints[0] == f"{first}gold_tool_name: no tool 'serch_web' on offer; did you mean 'search_web'?"
    assert complaints[-1] == "and so on"
