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


def test_import_notes_what_a_case_does_not_tell(tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    data.write_text(json.dumps([RECORD | {"answers": RECORD["answers"] * 2}]), encoding="utf-8")
    done = run("import", data, "-o", tmp_path / "cases.jsonl")
    assert [" ".join(line.split()) for line in done.stderr.splitlines()] == [
        "records lines used, but",
        "1 1 several calls at once; the first is expected",
    ]


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
    assert refusal("import", data, "-o", out, "--format", "openai") == f"{data}: no record could be used"
    assert not out.exists()
    assert refusal("import", tmp_path / "none", "-o", out).endswith("none: no such file")


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


@pytest.mark.parametrize("command", ["import", "list", "show"])
def test_help_shows_an_example(command: str) -> None:
    assert f"loracheck cases {command}" in run(command, "--help").stdout.split("Example")[1]


def test_the_command_line_loads_nothing_heavy_before_a_command_runs() -> None:
    lines = "import sys, loracheck.cli.cases; print({'pydantic', 'rich', 'jsonschema', 'numpy'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
