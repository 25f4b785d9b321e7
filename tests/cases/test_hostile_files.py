"""Suites and cases that mean harm, and files that are none: each is refused in bounded time, or works as it should."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from loracheck import files
from loracheck.cases.load import load_cases, load_suite
from loracheck.cli.main import run
from loracheck.errors import AdapterError, CasesError, InputError, ModelError, SuiteError
from loracheck.models import read_adapter, read_model_header
from models.factory import write_adapter

if TYPE_CHECKING:
    from collections.abc import Callable

SUITE = """\
models:
  base: {gguf: base.gguf}
  ft: {adapters: [{gguf: b.gguf}]}
suite:
  - name: tools
    kind: tool_use_fidelity
    cases:
      - prompt: Find cats.
        tool_spec: {name: search, parameters: %s}
"""
CASE = json.dumps({"prompt": "Find cats.", "tool_spec": {"name": "search"}})

needs_fifo = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")


def refusal(path: Path, read: Callable[[Path], object] = load_suite, error: type[InputError] = SuiteError) -> str:
    with pytest.raises(error) as refused:
        read(path)
    assert refused.value.exit_code == 2
    return str(refused.value).replace(str(path), path.name)


def refused_parameters(folder: Path, parameters: str) -> str:
    path = folder / "suite.yaml"
    path.write_text(SUITE % parameters, "utf-8")
    return refusal(path)


def layers(count: int, first: str, layer: str) -> str:
    """Values that each name the one before: `@` in a layer is the alias."""
    named = [f"l0: &l0 {first}", *(f"l{n}: &l{n} {layer.replace('@', f'*l{n - 1}')}" for n in range(1, count))]
    return "{" + ", ".join(named) + "}"


@pytest.mark.parametrize(
    "bomb",
    [
        layers(10, "[lol]", f"[{', '.join('@' * 9)}]"),
        layers(10, "{k: v}", f"{{<<: [{', '.join('@' * 9)}]}}"),
        layers(2, "x" * 100_000, f"[{', '.join('@' * 1000)}]"),
    ],
    ids=["lists", "merged mappings", "a long text"],
)
def test_a_few_lines_that_stand_for_gigabytes_are_refused(tmp_path: Path, bomb: str) -> None:
    complaint = refused_parameters(tmp_path, bomb)
    assert complaint == "suite.yaml:9: larger than 64 MB with its aliases spelt out; use fewer of them"


@pytest.mark.parametrize("loop", ["&a {b: *a}", "&a {<<: *a}", "{a: &a [&b [*a]]}", "&a {? *a : 1}"])
def test_a_value_that_holds_itself_is_refused(tmp_path: Path, loop: str) -> None:
    assert refused_parameters(tmp_path, loop) == "suite.yaml:9: this value holds itself; take the alias out"


@pytest.mark.parametrize(
    "deep", ["{x: " * 250 + "1" + "}" * 250, layers(300, "[1]", "[@]")], ids=["written out", "by aliases"]
)
def test_a_value_nested_too_deeply_for_a_report_is_refused(tmp_path: Path, deep: str) -> None:
    assert refused_parameters(tmp_path, deep) == "suite.yaml:9: nested more than 200 deep; take some of it out"
    nested = json.loads('{"x": ' * 250 + "1" + "}" * 250)
    lines = tmp_path / "cases.jsonl"
    lines.write_text(json.dumps({**json.loads(CASE), "gold_arguments": nested}), "utf-8")
    assert (
        refusal(lines, load_cases, CasesError)
        == "cases.jsonl:1: not a line of JSON: nested more than 200 deep; take some of it out"
    )


def test_what_is_nested_as_deeply_as_answers_may_be_can_be_reported(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(SUITE % ("{x: " * 150 + "1" + "}" * 150), "utf-8")
    json.dumps(load_suite(path).model_dump(mode="json"))


@pytest.mark.parametrize("number", ["9" * 4000, "0x" + "f" * 4000, "!!int '" + "59:" * 2000 + "0'"])
def test_a_number_that_cannot_be_written_down_is_refused(tmp_path: Path, number: str) -> None:
    assert refused_parameters(tmp_path, f"{{a: {number}}}").startswith(
        "suite.yaml:9: a number of more than 3000 digits"
    )


@pytest.mark.parametrize(
    "value", ["!!binary aGk=", "!!set {x}", "!!timestamp 2024-01-01", "!!omap [x: 1]", "!!python/name:os.system ''"]
)
def test_a_value_that_json_has_not_is_refused(tmp_path: Path, value: str) -> None:
    complaint = refused_parameters(tmp_path, f"{{a: {value}}}")
    assert complaint.startswith("suite.yaml:9: not YAML: could not determine a constructor for the tag ")


@pytest.mark.parametrize("text", ["a: \0", "a: \x1b[2J", "\0" * 1000])
def test_control_characters_are_no_yaml(tmp_path: Path, text: str) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(text, "utf-8")
    assert "special characters are not allowed" in refusal(path)


def test_of_a_million_mistakes_the_first_are_named_and_each_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(SUITE.replace("cases:", f"cases: [{'1,' * 5_000}]\n    other:") % 1, "utf-8")
    lines = refusal(path).splitlines()
    assert lines[0] == "suite.yaml:7: suite[0].cases[0]: should be a mapping, key: value"
    assert len(lines) == 21
    assert lines[-1] == "and so on"
    path.write_text(f"? {'k' * 100_000}\n: 1\n{SUITE % '{}'}", "utf-8")
    assert len(refusal(path)) < 500
    path.write_text(f"a: !{'k' * 100_000} 1\n", "utf-8")
    assert len(refusal(path)) < 500


def test_a_suite_of_100_mb_is_refused_with_a_way_out(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    with path.open("wb") as file:
        file.truncate(100 * 2**20)
    assert refusal(path) == (
        "suite.yaml: larger than 1 MB, the most that is read of such a file; "
        "put the cases in a file of JSON lines, which may be larger, and name it with --cases"
    )


def test_cases_have_a_limit_that_is_larger(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps({**json.loads(CASE), "prompt": "x" * 2**21}), "utf-8")
    assert len(load_cases(path)) == 1
    with path.open("wb") as file:
        file.truncate(65 * 2**20)
    assert refusal(path, load_cases, CasesError).startswith("cases.jsonl: larger than 64 MB")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_an_endless_file_is_not_read_to_its_end() -> None:
    assert refusal(Path("/dev/zero")).startswith("zero: larger than 1 MB")
    assert refusal(Path("/dev/zero"), load_cases, CasesError).startswith("zero: larger than 64 MB")


@needs_fifo
def test_a_pipe_that_nobody_writes_to_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PATIENCE_SECONDS", 0.2)
    path = tmp_path / "pipe.yaml"
    os.mkfifo(path)
    complaint = "nothing came out of this pipe for 0.2 s; does anything write to it?"
    assert refusal(path) == f"pipe.yaml: {complaint}"
    assert refusal(path, load_cases, CasesError) == f"pipe.yaml: {complaint}"


@needs_fifo
def test_a_pipe_that_is_written_to_late_and_in_pieces_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "cases"
    os.mkfifo(path)

    def write() -> None:
        time.sleep(0.2)
        with path.open("w") as pipe:
            for _ in range(3):
                pipe.write(f"{CASE}\n")
                pipe.flush()
                time.sleep(0.05)

    writer = threading.Thread(target=write)
    writer.start()
    assert len(load_cases(path)) == 3
    writer.join()


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs /dev/fd")
def test_what_a_shell_makes_of_process_substitution_is_read() -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, f"{CASE}\n".encode())
    os.close(write_end)
    try:
        assert len(load_cases(Path(f"/dev/fd/{read_end}"))) == 1
    finally:
        os.close(read_end)


@needs_fifo
def test_a_pipe_is_no_model_and_no_adapter(tmp_path: Path) -> None:
    path = tmp_path / "pipe.gguf"
    os.mkfifo(path)
    complaint = "pipe.gguf: this is not a regular file; name a GGUF file on disk"
    assert refusal(path, read_model_header, ModelError) == complaint
    assert refusal(path, read_adapter, AdapterError) == complaint


def test_links_are_followed_and_broken_or_circular_ones_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(SUITE % "{}", "utf-8")
    link, broken, loop = (tmp_path / name for name in ("link.yaml", "broken.yaml", "loop.yaml"))
    link.symlink_to(path)
    broken.symlink_to(tmp_path / "none.yaml")
    loop.symlink_to(loop)
    assert load_suite(link).model_dump() == load_suite(path).model_dump()
    assert refusal(broken) == "broken.yaml: no such file; check the path"
    assert "symbolic links" in refusal(loop)
    adapter = tmp_path / "link.gguf"
    adapter.symlink_to(write_adapter(tmp_path / "adapter.gguf"))
    assert read_adapter(adapter).pairs
    assert refusal(loop, read_adapter, AdapterError).startswith("loop.yaml: ")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_says_so(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(SUITE % "{}", "utf-8")
    path.chmod(0)
    assert refusal(path) == "suite.yaml: Permission denied"


def test_a_name_with_a_null_byte_is_no_file() -> None:
    assert "null byte" in refusal(Path("a\0b.yaml"))


def test_windows_line_ends_and_a_byte_order_mark_change_no_cases(tmp_path: Path) -> None:
    plain, windows = tmp_path / "plain.jsonl", tmp_path / "windows.jsonl"
    plain.write_bytes(f"{CASE}\n\n{CASE}\n".encode())
    windows.write_bytes(b"\xef\xbb\xbf" + f"{CASE}\r\n\r\n{CASE}\r\n".encode())
    assert load_cases(windows) == load_cases(plain)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "latin-1"])
def test_text_in_another_encoding_says_so(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(SUITE.replace("cats", "größe") % "{}", encoding)
    assert "not UTF-8 text" in refusal(path)
    assert "not UTF-8 text" in refusal(path, load_cases, CasesError)


@pytest.mark.parametrize("text", ["", "\0\0\0\0", "\ufeff", f"{CASE}\0", '{"prompt": "a\0b"}'])
def test_empty_files_and_null_bytes_are_no_cases(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(text, "utf-8")
    assert refusal(path, load_cases, CasesError).startswith("cases.jsonl")


@pytest.mark.parametrize("name", ["\x1b[2J\u202e.yaml", "\udcff.yaml"])
def test_a_file_name_cannot_act_on_the_terminal(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", name]) == 2
    complaint = capsys.readouterr().err
    assert complaint.startswith("Error: \\")
    assert complaint.endswith(".yaml: no such file; check the path\n")
