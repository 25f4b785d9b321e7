from __future__ import annotations

import json
import os
import subprocess
import sys
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from loracheck.cases.importers import FORMATS
from loracheck.cases.load import load_cases, load_pack, pack_names
from loracheck.cli.main import cli
from loracheck.errors import CasesError
from suite_factory import SEARCH, make_case

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from suite_factory import Files

RECORD = {"query": "Find cats.", "tools": [SEARCH], "answers": [{"name": "search_web", "arguments": {"query": "cats"}}]}


def run(*args: object) -> Result:
    return CliRunner().invoke(cli, ["cases", *map(str, args)], prog_name="loracheck")


def refusal(*args: object) -> str:
    """What an error of ours says; the command line's entry point prints it."""
    result = run(*args)
    assert isinstance(result.exception, CasesError)
    return str(result.exception)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    records: list[Any] = [RECORD, {"query": "?"}, RECORD | {"answers": []}, *[{"query": "?"}] * 6, RECORD]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def test_the_formats_on_offer_are_those_there_are() -> None:
    assert f"--format [{'|'.join(FORMATS)}]" in run("import", "--help").stdout


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_import_reads_a_pipe_whose_format_it_has_to_detect(data: Path, tmp_path: Path) -> None:
    pipe, out = tmp_path / "pipe", tmp_path / "cases.jsonl"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_bytes, args=(data.read_bytes(),), daemon=True)
    writer.start()
    assert run("import", pipe, "-o", out).exit_code == 0
    writer.join(5)
    assert [case.id for case in load_cases(out)] == ["1", "3", "10"]


def test_import_writes_cases_and_counts_what_it_left_out(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "cases.jsonl"
    done = run("import", data, "-o", out)
    assert (done.exit_code, done.stdout) == (0, f"wrote {out}: 3 cases, 1 of them without a call\n")
    assert [" ".join(line.split()) for line in done.stderr.splitlines()] == [
        "records lines not used",
        "7 2, 4, 5, 6, 7, … no answers",
    ]
    assert [case.id for case in load_cases(out)] == ["1", "3", "10"]


def test_import_notes_what_is_odd_about_a_case(tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    data.write_text(json.dumps([RECORD | {"answers": [{"name": "search_web", "arguments": {}}]}]), encoding="utf-8")
    done = run("import", data, "-o", tmp_path / "cases.jsonl")
    assert [" ".join(line.split()) for line in done.stderr.splitlines()] == [
        "records lines used, but",
        "1 1 its own call does not fit the tool's schema",
    ]


def test_import_counts_the_cases_with_several_calls(tmp_path: Path) -> None:
    data, out = tmp_path / "data.json", tmp_path / "cases.jsonl"
    data.write_text(json.dumps([RECORD, RECORD | {"answers": RECORD["answers"] * 2}]), encoding="utf-8")
    done = run("import", data, "-o", out)
    assert done.stdout == f"wrote {out}: 2 cases, 0 of them without a call, 1 with several calls\n"
    assert [len(case.expected_calls) for case in load_cases(out)] == [1, 2]


def test_import_says_nothing_on_standard_error_when_all_is_used(data: Path, tmp_path: Path) -> None:
    assert run("import", data, "-o", tmp_path / "cases.jsonl", "--limit", "1").stderr == ""


def test_reasons_that_are_many_are_cut(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    offers = [[SEARCH | {"name": name}, SEARCH | {"name": name, "description": "b"}] for name in "abcdefghijklmn"]
    lines = [json.dumps(RECORD | {"tools": tools, "answers": []}) for tools in offers]
    data.write_text("\n".join([*lines, json.dumps(RECORD)]), encoding="utf-8")
    told = run("import", data, "-o", tmp_path / "cases.jsonl").stderr.splitlines()
    assert len(told) == 14
    assert told[-1].split() == ["2", "2", "other", "reasons"]


def test_a_sample_depends_on_the_seed_alone(data: Path, tmp_path: Path) -> None:
    def sample(name: str, seed: int) -> bytes:
        assert run("import", data, "-o", tmp_path / name, "--sample", "1", "--seed", seed).exit_code == 0
        return (tmp_path / name).read_bytes()

    assert sample("a", 1) == sample("b", 1)
    assert len({sample("c", seed) for seed in range(20)}) == 3


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["--limit", "2", "--sample", "2"], "--limit and --sample exclude each other"),
        (["--limit", "0"], "0 is not in the range"),
        (["--format", "csv"], "no format 'csv'; give one of openai, bfcl, sharegpt, xlam"),
        (["--format", "sharedgpt"], "no format 'sharedgpt'; did you mean 'sharegpt'?"),
        (["-o", "none/cases.jsonl"], "the folder does not exist; make it first"),
        (["-o", "data.jsonl"], "this is the file to import; name another"),
    ],
)
def test_import_refuses_what_makes_no_sense(
    data: Path, monkeypatch: pytest.MonkeyPatch, args: list[str], complaint: str
) -> None:
    monkeypatch.chdir(data.parent)
    before = data.read_bytes()
    done = run("import", "data.jsonl", "-o", "cases.jsonl", *args)
    assert done.exit_code == 2
    assert complaint in done.stderr
    assert data.read_bytes() == before
    assert [path.name for path in data.parent.iterdir()] == ["data.jsonl"]


def test_import_refuses_a_file_without_a_usable_record_and_writes_nothing(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "cases.jsonl"
    assert (
        refusal("import", data, "-o", out, "--format", "openai")
        == f"{data}: no record could be used; the reasons are above"
    )
    assert not out.exists()
    assert refusal("import", tmp_path / "none", "-o", out).endswith("none: no such file; check the path")


def test_a_failed_import_leaves_the_file_that_was_there(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "cases.jsonl"
    run("import", data, "-o", out)
    before = out.read_bytes()
    refusal("import", data, "-o", out, "--format", "openai")
    assert out.read_bytes() == before
    assert run("import", data, "-o", out, "--limit", "1").exit_code == 0
    assert len(load_cases(out)) == 1


def test_list_counts_the_cases_tools_and_no_call_cases_of_each_pack() -> None:
    done = run("list")
    rows = {line.split()[0]: line.split()[1:4] for line in done.stdout.splitlines() if not line.startswith(" ")}
    assert set(rows) == {"pack", *pack_names()}
    pack = load_pack("core")
    assert rows["core"] == [
        str(len(pack)),
        str(len({tool.name for case in pack for tool in case.surface})),
        str(sum(case.expect == "no_call" for case in pack)),
    ]


@pytest.mark.parametrize("args", [["list"], *(["show", name] for name in pack_names())])
def test_tables_fit_80_columns(args: list[str]) -> None:
    done = run(*args)
    assert done.exit_code == 0
    assert max(map(cell_len, done.stdout.splitlines())) <= 80


def test_show_lists_every_case_of_a_pack_or_of_a_file(tmp_path: Path) -> None:
    shown = run("show", "smoke").stdout
    assert all(case.id in shown for case in load_pack("smoke"))
    path = tmp_path / "mine.jsonl"
    quiet = make_case(2, expect="no_call", prompt="x" * 999)
    path.write_text(
        "\n".join(case.model_dump_json(exclude_unset=True) for case in (make_case(), quiet)), encoding="utf-8"
    )
    lines = run("show", path).stdout.splitlines()
    assert lines[1].split() == ["case1", "search_web", "1", "Search", "for", "1."]
    assert lines[2].split()[:4] == ["case2", "no", "call", "1"]
    assert sum(line.count("x") for line in lines) < 130


def test_show_gives_the_same_cases_as_json(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(run("show", "core", "--json").stdout, encoding="utf-8")
    assert load_cases(path) == load_pack("core")


def test_show_gives_all_of_one_case() -> None:
    case = load_pack("smoke")[0]
    shown = run("show", "smoke", "--id", case.id).stdout
    assert shown.startswith(f"id: {case.id}\nprompt: {case.prompt}\n")
    assert '"type": "object"' in shown
    (only,) = run("show", "smoke", "--id", case.id, "--json").stdout.splitlines()
    assert json.loads(only)["id"] == case.id


def test_show_names_what_is_not_there() -> None:
    assert refusal("show", "smoke", "--id", "x").startswith("smoke: no case has the id 'x'; ")
    assert "the packs are core" in refusal("show", "coer")


def test_show_cannot_rewrite_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "evil.jsonl"
    evil = make_case(id="\x1b[2J", prompt="\u202eevil [red]\n\x1b]0;x\x07")
    path.write_text(json.dumps(evil.model_dump(exclude_unset=True)), encoding="utf-8")
    for args in ([], ["--id", "\x1b[2J"], ["--json"]):
        shown = run("show", path, *args).stdout
        assert not {"\x1b", "\u202e", "\x07"} & {*shown}
    assert "[red]" in run("show", path).stdout


MCP = {"result": {"tools": [{"name": "search_web", "inputSchema": SEARCH["parameters"]}, {"name": "search_wiki"}]}}
PROMPTS = """\
- {id: cats, prompt: Find cats., gold_tool_name: search_web, gold_arguments: {query: [cats, a cat]}}
- {id: both, prompt: Find dogs., gold_calls: [{name: search_web}, {name: search_wiki}]}
- {id: any, prompt: Find something., expect: any_call}
"""


@pytest.fixture
def prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Cases that name no tools, with a file of tools beside them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools.json").write_text(json.dumps(MCP), encoding="utf-8")
    path = tmp_path / "prompts.yaml"
    path.write_text(PROMPTS, encoding="utf-8")
    return path


def test_check_says_that_all_cases_fit_and_which_names_are_easy_to_confuse(prompts: Path) -> None:
    done = run("check", "prompts.yaml", "--tools", "tools.json")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "3 of 3 cases fit their tools.",
        "Easy to confuse:",
        "  search_web and search_wiki",
    ]


def test_check_lists_what_does_not_fit_and_what_nobody_asks_for(prompts: Path) -> None:
    prompts.write_text(PROMPTS.replace("[cats, a cat]", "[cats, 3]").replace(", {name: search_wiki}", ""), "utf-8")
    done = run("check", "prompts.yaml", "--tools", "tools.json")
    assert done.exit_code == 2
    assert [" ".join(line.split()) for line in done.stdout.splitlines()] == [
        "case tool what does not fit",
        "cats search_web query: 3 does not fit the schema",
        "2 of 3 cases fit their tools.",
        "No case asks for:",
        "search_wiki",
        "Easy to confuse:",
        "search_web and search_wiki",
    ]


def test_check_tells_of_every_case_as_json(prompts: Path) -> None:
    prompts.write_text(PROMPTS.replace("[cats, a cat]", "3"), "utf-8")
    done = run("check", "prompts.yaml", "--tools", "tools.json", "--json")
    assert done.exit_code == 2
    assert json.loads(done.stdout) == {
        "cases": [
            {
                "id": "cats",
                "fits": False,
                "problems": [{"tool": "search_web", "problem": "query: 3 does not fit the schema"}],
            },
            {"id": "both", "fits": True, "problems": []},
            {"id": "any", "fits": True, "problems": []},
        ],
        "not_asked_for": [],
        "near": [["search_web", "search_wiki"]],
    }


def test_check_cuts_what_is_long_and_cannot_rewrite_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    tools = [{"name": f"\x1b[2J{'x' * 500}{number}"} for number in range(30)]
    bad = [make_case(number, gold_arguments={"query": number}) for number in range(60)]
    wide = make_case(99, id="\u202e" * 500, tool_spec=None, tools=tools, expect="any_call")
    path.write_text(
        "\n".join(json.dumps(case.model_dump(mode="json", exclude_unset=True)) for case in (*bad, wide)), "utf-8"
    )
    done = run("check", path)
    lines = done.stdout.splitlines()
    assert len(lines) < 70
    assert max(map(cell_len, lines)) <= 80
    assert not {"\x1b", "\u202e"} & {*done.stdout}
    assert "20 more; --json lists all" in done.stdout


def test_check_takes_a_pack_and_a_file_of_others(data: Path) -> None:
    assert run("check", "smoke").exit_code == 0
    done = run("check", data)
    assert (done.exit_code, done.stdout.splitlines()[0]) == (0, "3 of 3 cases fit their tools.")
    assert "read as xlam, 3 cases" in done.stderr


def test_check_says_when_the_tools_for_all_cases_are_for_none(prompts: Path) -> None:
    done = run("check", "smoke", "--tools", "tools.json")
    assert done.exit_code == 0
    assert done.stderr == "every case names its own tools; those that were given for all cases are not used\n"


def test_cases_without_tools_are_refused_with_the_way_out(prompts: Path) -> None:
    complaint = refusal("check", "prompts.yaml")
    assert complaint.splitlines()[0] == (
        "prompts.yaml:1: [0]: no tools on offer; give tool_spec or tools, or tools for all cases with --tools FILE"
    )
    assert refusal("check", "prompts.yaml", "--tools", "none.json") == "none.json: no such file; check the path"


def test_show_tells_several_calls_and_any_call(prompts: Path) -> None:
    lines = run("show", "prompts.yaml", "--tools", "tools.json").stdout.splitlines()
    assert [line.split()[:4] for line in lines[1:]] == [
        ["cats", "search_web", "2", "Find"],
        ["both", "search_web,", "search_wiki", "2"],
        ["any", "any", "call", "2"],
    ]


def test_import_gives_tools_to_records_that_list_none(data: Path, prompts: Path) -> None:
    data.write_text(json.dumps(RECORD | {"tools": []}), encoding="utf-8")
    assert run("import", data, "-o", "cases.jsonl", "--tools", "tools.json").exit_code == 0
    (case,) = load_cases("cases.jsonl")
    assert [tool.name for tool in case.surface] == ["search_web", "search_wiki"]


def test_the_main_check_offers_the_tools_of_a_file_too(loracheck: Any, files: Files, prompts: Path) -> None:
    models = ["--base", files.base, "--adapter", files.adapter]
    planned = loracheck("check", *models, "--cases", "prompts.yaml", "--tools", "tools.json", "--plan")
    assert (planned.code, planned.err) == (0, "")
    assert "Find something." in planned.out
    refused = loracheck("check", *models, "--cases", "prompts.yaml", "--plan")
    assert (refused.code, refused.out) == (2, "")
    assert "no tools on offer; give tool_spec or tools, or tools for all cases with --tools FILE" in refused.err
    again = loracheck("check", "--like", "out.json", "--tools", "tools.json")
    assert (again.code, again.out) == (2, "")
    assert "give nothing else" in again.err


@pytest.mark.parametrize("command", ["import", "check", "list", "show"])
def test_help_shows_an_example(command: str) -> None:
    assert f"loracheck cases {command}" in run(command, "--help").stdout.split("Example")[1]


def test_the_command_line_loads_nothing_heavy_before_a_command_runs() -> None:
    lines = "import sys, loracheck.cli.cases; print({'pydantic', 'rich', 'jsonschema', 'numpy'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
