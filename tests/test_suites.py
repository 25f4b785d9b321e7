"""The suite a user asks for: from a file, from keywords, from both, or from a report that is to be run again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from loracheck.cases.entries import NullAdapterEntry
from loracheck.cases.load import load_pack
from loracheck.cases.suite import AdapterEntry
from loracheck.checking import check
from loracheck.errors import AdapterError, CasesError, InputError, ReportError, SuiteError
from loracheck.files import sha256_of
from loracheck.plan import read
from loracheck.results import Report, differences
from loracheck.store import Store
from loracheck.suites import build_suite, load_suite, suite_of
from models.factory import lora_tensors, write_adapter
from models.peft_factory import write_base, write_peft
from suite_factory import CHAT_TEMPLATE, Files, answering, call, failing_from, make_case, make_suite, write_files

if TYPE_CHECKING:
    from loracheck.cases.suite import Suite

SUITE = """\
models:
  base: {gguf: base.gguf, adapters: [{gguf: sft.gguf}]}
  ft: {adapters: [{gguf: adapter.gguf, scale: 0.5}]}
defaults: {seed: 3, max_new_tokens: 40}
suite:
  - {name: nulls, kind: null_adapter, runs: 2, init_scale: 0.1}
  - name: tools
    kind: tool_use_fidelity
    cases: [{id: cats, prompt: Find cats., tool_spec: {name: search_web}, max_new_tokens: 9}]
"""


@pytest.fixture
def suite_file(tmp_path: Path) -> Path:
    path = tmp_path / "suites" / "tools.yaml"
    path.parent.mkdir()
    path.write_text(SUITE, "utf-8")
    return path


def asked(suite: Suite) -> list[str]:
    return [case.question for entry in suite.judged for case in entry.asks]


def nulls(suite: Suite) -> list[int]:
    return [entry.runs for entry in suite.entries if isinstance(entry, NullAdapterEntry)]


def stack(entries: tuple[AdapterEntry, ...]) -> list[tuple[Path, float]]:
    return [(entry.gguf, entry.scale) for entry in entries]


# From keywords


def test_a_base_and_an_adapter_are_enough() -> None:
    suite = build_suite(base="base.gguf", adapter="mine.gguf")
    assert suite.models.base.gguf == Path("base.gguf")
    assert stack(suite.adapters) == [(Path("mine.gguf"), 1.0)]
    assert asked(suite) == [case.question for case in load_pack("core")]
    assert nulls(suite) == [3]
    assert suite.file is None


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("a.gguf", [("a.gguf", 1.0)]),
        (Path("a.gguf"), [("a.gguf", 1.0)]),
        ("a.gguf@0.5", [("a.gguf", 0.5)]),
        (Path("a.gguf@0.5"), [("a.gguf", 0.5)]),
        (AdapterEntry(gguf=Path("a.gguf"), scale=2), [("a.gguf", 2.0)]),
        (["a.gguf@0.5", AdapterEntry(gguf=Path("b.gguf"))], [("a.gguf", 0.5), ("b.gguf", 1.0)]),
    ],
)
def test_adapters_may_be_given_in_every_way_and_stack(given: Any, meant: list[tuple[str, float]]) -> None:
    expected = [(Path(path), scale) for path, scale in meant]
    assert stack(build_suite(base="base.gguf", adapter=given).models.ft.adapters) == expected
    both = build_suite(base="base.gguf", adapter="x.gguf", base_adapter=given)
    assert (stack(both.models.base.adapters), stack(both.models.ft.adapters)) == (expected, [(Path("x.gguf"), 1.0)])


@pytest.mark.parametrize("given", [{}, {"base": "base.gguf"}, {"adapter": "mine.gguf"}, {"cases": "smoke"}])
def test_without_a_suite_both_a_base_and_something_to_check_are_needed(given: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"^give a suite file, or both a base model and an adapter, a cand"):
        build_suite(**given)


def test_cases_are_a_pack_a_file_or_cases(tmp_path: Path) -> None:
    file = tmp_path / "my.jsonl"
    file.write_text(make_case(7).model_dump_json(exclude_unset=True), "utf-8")

    def questions(cases: Any) -> list[str]:
        return asked(build_suite(base="base.gguf", adapter="mine.gguf", cases=cases))

    assert questions("smoke") == [case.question for case in load_pack("smoke")]
    assert questions(str(file)) == questions(file) == questions([make_case(7)]) == ["Search for 7."]


def test_cases_in_a_format_of_others_are_imported_and_told_of(tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "search_web", "parameters": {"type": "object"}}}
    made = [{"type": "function", "function": {"name": "search_web", "arguments": "{}"}}]
    record = {
        "messages": [{"role": "user", "content": "Find cats."}, {"role": "assistant", "tool_calls": made}],
        "tools": [tool],
    }
    file = tmp_path / "openai.jsonl"
    file.write_text(json.dumps(record), "utf-8")
    told: list[str] = []
    suite = build_suite(base="base.gguf", adapter="mine.gguf", cases=file, tell=told.append)
    assert asked(suite) == ["Find cats."]
    assert told == [f"{file}: read as openai, 1 case"]


def test_null_adapters_are_as_many_as_asked_for_or_none() -> None:
    both: dict[str, Any] = {"base": "base.gguf", "adapter": "mine.gguf", "cases": "smoke"}
    assert nulls(build_suite(**both, null_runs=5)) == [5]
    assert nulls(build_suite(**both, null=False)) == []


def test_settings_that_are_given_are_set_and_the_others_stay(suite_file: Path) -> None:
    suite = build_suite(suite_file, n_ctx=99, prompt=None, seed=None, threads=None)
    assert (suite.defaults.n_ctx, suite.defaults.seed, suite.defaults.max_new_tokens) == (99, 3, 40)
    assert suite.defaults.threads == load_suite(suite_file).defaults.threads


# Tools for all cases

TOOLS = [
    {"name": "search_web", "inputSchema": {"type": "object"}},
    {"type": "function", "function": {"name": "search_wiki"}},
]
TOOLLESS = {"prompt": "Find cats.", "gold_calls": [{"name": "search_web"}, {"name": "search_wiki"}]}


@pytest.fixture
def toolless(tmp_path: Path) -> Path:
    """Cases that name no tools, with a file of tools beside them."""
    (tmp_path / "tools.json").write_text(json.dumps({"tools": TOOLS}), "utf-8")
    file = tmp_path / "prompts.jsonl"
    file.write_text(json.dumps(TOOLLESS), "utf-8")
    return file


def surfaces(suite: Suite) -> list[list[str]]:
    return [[tool.name for tool in case.surface] for entry in suite.judged for case in entry.asks]


def test_tools_are_a_file_or_tools_and_go_to_the_cases_that_name_none(toolless: Path) -> None:
    both = {"base": "base.gguf", "adapter": "mine.gguf", "cases": toolless}
    file = toolless.with_name("tools.json")
    from_file, listed = build_suite(**both, tools=str(file)), build_suite(**both, tools=TOOLS)
    assert surfaces(from_file) == surfaces(listed) == [["search_web", "search_wiki"]]
    assert (from_file.tools_file, listed.tools_file) == (file, None)
    relative = build_suite(
        base="base.gguf", adapter="mine.gguf", cases=toolless.name, tools=file.name, folder=file.parent
    )
    assert relative.judged == from_file.judged
    with pytest.raises(CasesError, match="no tools on offer; give tool_spec or tools, or tools for all cases"):
        build_suite(**both)


def test_tools_that_are_given_win_over_the_file_of_the_suite(suite_file: Path, toolless: Path) -> None:
    (suite_file.parent / "own.json").write_text(json.dumps([{"name": "search_web"}]), "utf-8")
    text = SUITE.replace("tool_spec: {name: search_web}, ", "gold_tool_name: search_web, ")
    suite_file.write_text(f"tools_file: own.json\n{text}", "utf-8")
    assert surfaces(build_suite(suite_file)) == [["search_web"]]
    given = toolless.with_name("tools.json")
    suite = build_suite(suite_file, tools=given)
    assert (surfaces(suite), suite.tools_file) == ([["search_web", "search_wiki"]], given)
    with pytest.raises(CasesError, match=r"prompts\.jsonl:1: gold_calls\[1\]\.name: no tool 'search_wiki' on offer"):
        build_suite(suite_file, cases=toolless)
    assert surfaces(build_suite(suite_file, cases=toolless, tools=given)) == [["search_web", "search_wiki"]]


def test_tools_that_no_case_needs_are_told_of(toolless: Path) -> None:
    both: dict[str, Any] = {"base": "base.gguf", "adapter": "mine.gguf", "tools": TOOLS}
    told: list[str] = []
    build_suite(**both, cases=toolless, tell=told.append)
    assert told == []
    build_suite(**both, cases="smoke", tell=told.append)
    assert told == ["every case names its own tools; those that were given for all cases are not used"]


# What cannot be


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"parallel": 0}, "^parallel: input should be greater than or equal to 1$"),
        ({"prompt": "verse"}, "^prompt: input should be 'chat' or 'raw'$"),
        ({"dialect": "sindarin"}, "^dialect: no dialect 'sindarin'; give auto or one of "),
        ({"nonsense": 1}, "^nonsense: "),
        ({"null_runs": 0}, "^runs: input should be greater than or equal to 1$"),
        ({"null_runs": 11}, "^runs: input should be less than or equal to 10$"),
        ({"cases": []}, "^cases: "),
        ({"tools": [{"name": "f"}, {"name": "f"}]}, "^tools: two tools are named 'f'; names must differ$"),
        ({"tools": []}, "^tools: "),
        ({"tools": [{"nme": "f"}]}, "^tools.0.name: field required$"),
        ({"cases": [make_case(1), make_case(1)]}, "^cases: two cases have the id 'case1'; ids must differ$"),
        ({"adapter": "mine.gguf@strong"}, "'strong' in 'mine.gguf@strong' is not a scale"),
    ],
)
def test_what_a_keyword_cannot_be_is_an_error_of_ours(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        build_suite(**{"base": "base.gguf", "adapter": "mine.gguf", "cases": "smoke", **given})


def test_a_missing_file_of_cases_is_found_before_any_model_is_looked_at(tmp_path: Path) -> None:
    missing = tmp_path / "none.jsonl"
    with pytest.raises(CasesError, match=r"none\.jsonl: no such file; check the path$"):
        build_suite(base="no-base.gguf", adapter="no-adapter.gguf", cases=missing)
    with pytest.raises(CasesError, match="no built-in pack; the packs are core, smoke, demo"):
        build_suite(base="no-base.gguf", adapter="no-adapter.gguf", cases="smog")
    with pytest.raises(SuiteError, match=r"none\.yaml: no such file; check the path$"):
        build_suite(tmp_path / "none.yaml")


def test_cases_that_a_suite_cannot_do_with_are_refused(suite_file: Path) -> None:
    text = SUITE.replace("Find cats., ", "Find cats., expect: no_call, ").replace(
        "kind: tool_", "assert_abstention_gte: 1\n    kind: tool_"
    )
    suite_file.write_text(text, "utf-8")
    with pytest.raises(CasesError, match="these cases do not fit the suite: assert_abstention_gte needs cases"):
        build_suite(suite_file, cases=[make_case(1)])


# From a file, with keywords over it


def test_a_suite_file_stands_as_it_is_where_nothing_is_put_over_it(suite_file: Path) -> None:
    suite = build_suite(suite_file)
    assert suite == build_suite(str(suite_file)) == load_suite(suite_file) == build_suite(load_suite(suite_file))
    assert suite.file == suite_file
    assert suite.models.base.gguf == suite_file.parent / "base.gguf"
    assert nulls(suite) == [2]


def test_a_suite_file_without_null_adapters_gets_the_default_ones(suite_file: Path) -> None:
    text = "".join(line for line in SUITE.splitlines(keepends=True) if "null_adapter" not in line)
    suite_file.write_text(text, "utf-8")
    assert nulls(build_suite(suite_file)) == [3]
    assert nulls(build_suite(suite_file, null=False)) == []


def test_keywords_win_over_the_file(suite_file: Path) -> None:
    suite = build_suite(
        suite_file,
        base="other.gguf",
        adapter="mine.gguf@2",
        cases=[make_case(1, max_new_tokens=9)],
        null_runs=1,
        max_new_tokens=70,
    )
    assert suite.models.base.gguf == Path("other.gguf")
    assert stack(suite.adapters) == [(suite_file.parent / "sft.gguf", 1.0), (Path("mine.gguf"), 2.0)]
    assert asked(suite) == ["Search for 1."]
    assert nulls(suite) == [1]
    assert suite.entries[0].init_scale == 0.1
    # Also over what a single case asks for.
    assert (suite.defaults.max_new_tokens, suite.judged[0].asks[0].max_new_tokens) == (70, None)
    assert (suite.file, suite.defaults.seed) == (suite_file, 3)


# Paths


def test_relative_paths_start_in_the_folder_that_is_given(suite_file: Path) -> None:
    folder = suite_file.parent
    (folder / "my.jsonl").write_text(make_case(7).model_dump_json(exclude_unset=True), "utf-8")
    suite = build_suite("tools.yaml", base="b.gguf", adapter="a.gguf@0.5", cases="my.jsonl", folder=folder)
    assert suite.file == suite_file
    assert suite.models.base.gguf == folder / "b.gguf"
    assert stack(suite.models.ft.adapters) == [(folder / "a.gguf", 0.5)]
    assert asked(suite) == ["Search for 7."]
    elsewhere = build_suite(base="/b.gguf", adapter="/a.gguf", cases="smoke", folder=folder)
    assert (elsewhere.models.base.gguf, elsewhere.adapters[0].gguf) == (Path("/b.gguf"), Path("/a.gguf"))
    assert asked(elsewhere) == [case.question for case in load_pack("smoke")]


def test_a_path_may_start_at_home(monkeypatch: pytest.MonkeyPatch, suite_file: Path) -> None:
    monkeypatch.setenv("HOME", str(suite_file.parent))
    suite = build_suite("~/tools.yaml", base="~/b.gguf", adapter="~/a.gguf@0.5")
    assert suite.models.base.gguf == suite_file.parent / "b.gguf"
    assert stack(suite.models.ft.adapters) == [(suite_file.parent / "a.gguf", 0.5)]


# From a report, to run it again


def saved(report: Report) -> Report:
    return Report.model_validate_json(report.model_dump_json())


def again(report: Report, folder: Path) -> Suite:
    return suite_of(saved(report), folder / "out.json", sha256_of)


def test_the_suite_of_a_report_gives_the_same_report(files: Files, tmp_path: Path) -> None:
    sft = write_adapter(tmp_path / "sft.gguf", lora_tensors(seed=4))
    stacked = make_suite(files, 8).with_models(base_adapters=[AdapterEntry(gguf=sft, scale=0.5)])
    suite = stacked.with_nulls(2).with_defaults(seed=9, schema="strict", max_new_tokens=99)
    engine = answering(adapter=failing_from(4))
    report = check(suite, engine=engine)
    assert again(report, tmp_path) == suite
    assert list(differences(saved(report), check(again(report, tmp_path), engine=engine))) == []


def test_the_suite_of_a_report_writes_the_very_same_prompts(tmp_path: Path) -> None:
    files = write_files(tmp_path, CHAT_TEMPLATE)
    turns = ({"role": "user", "content": "Find cats."}, {"role": "assistant", "content": "Where?"})
    talk = make_case(2, prompt=None, messages=(*turns, {"role": "user", "content": "Here."}))
    suite = make_suite(files).with_cases([make_case(1), talk]).with_nulls()
    report = check(suite, engine=answering())
    again_prompts, prompts = (read(each, Store()).steps[1].prompts for each in (again(report, tmp_path), suite))
    assert again_prompts == prompts
    (sent,) = prompts.by_model.values()
    assert "null" not in sent[0].text


def test_the_suite_of_a_report_has_the_tools_and_the_calls_that_it_had(
    files: Files, tmp_path: Path, toolless: Path
) -> None:
    tools = toolless.with_name("tools.json")
    suite = build_suite(base=files.base, adapter=files.adapter, cases=toolless, tools=tools, null=False)
    report = check(suite, engine=answering())
    tools.unlink()
    toolless.unlink()
    assert again(report, tmp_path) == suite
    (case,) = again(report, tmp_path).judged[0].asks
    assert [call.name for call in case.expected_calls] == ["search_web", "search_wiki"]


def test_the_suite_of_a_report_knows_the_file_it_came_from(files: Files, suite_file: Path, tmp_path: Path) -> None:
    for name in ("base.gguf", "adapter.gguf"):
        shutil.copy(tmp_path / name, suite_file.parent / name)
    shutil.copy(files.adapter, suite_file.parent / "sft.gguf")
    suite = load_suite(suite_file)
    assert again(check(suite, engine=answering()), tmp_path).file == suite_file


def test_files_that_are_not_where_they_were_are_looked_for_beside_the_report(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    report = check(make_suite(Files(Path("base.gguf"), Path("adapter.gguf"))), engine=answering())
    monkeypatch.chdir("/")
    assert again(report, tmp_path).models.base.gguf == tmp_path / "base.gguf"
    assert again(report, tmp_path).adapters[0].gguf == tmp_path / "adapter.gguf"


@pytest.mark.parametrize("which", ["base", "adapter"])
def test_a_file_that_has_changed_or_is_gone_is_named(files: Files, tmp_path: Path, which: str) -> None:
    report = check(make_suite(files), engine=answering())
    path: Path = getattr(files, which)
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    with pytest.raises(ReportError, match=rf"out\.json: {path} has changed since"):
        again(report, tmp_path)
    path.unlink()
    with pytest.raises(ReportError, match=rf"out\.json: it came from {path}, which is not there; put it back"):
        again(report, tmp_path)


def test_every_part_of_a_split_model_has_to_be_the_same(files: Files, tmp_path: Path) -> None:
    first, second = (tmp_path / f"m-0000{number}-of-00002.gguf" for number in (1, 2))
    shutil.copy(files.base, first)
    second.write_bytes(b"the other half")
    report = check(make_suite(Files(first, files.adapter)), engine=answering())
    assert again(report, tmp_path)
    second.write_bytes(b"another half")
    with pytest.raises(ReportError, match=rf"{first} has changed since"):
        again(report, tmp_path)
    second.unlink()
    with pytest.raises(ReportError, match=rf"{first} has changed since"):
        again(report, tmp_path)


def test_an_adapter_from_a_peft_folder_is_converted_again_when_the_file_is_gone(
    tmp_path: Path, cache_folder: Path
) -> None:
    base, folder = write_base(tmp_path / "base.gguf"), write_peft(tmp_path / "peft")
    engine = answering(adapter=call(query="y"))
    report = check(make_suite(Files(base, folder)), engine=engine)
    shutil.rmtree(cache_folder / "converted")
    suite = again(report, tmp_path)
    assert suite.adapters[0].gguf == folder
    second = check(suite, engine=engine)
    assert list(differences(saved(report), second)) == []
    assert second.provenance.ft_adapters == report.provenance.ft_adapters


def test_a_peft_folder_that_has_changed_is_named(tmp_path: Path) -> None:
    base, folder = write_base(tmp_path / "base.gguf"), write_peft(tmp_path / "peft")
    report = check(make_suite(Files(base, folder)), engine=answering())
    write_peft(folder, lora_alpha=16)
    with pytest.raises(ReportError, match=rf"{folder} has changed since"):
        again(report, tmp_path)
    (folder / "adapter_model.safetensors").unlink()
    with pytest.raises(AdapterError, match=r"adapter_model\.safetensors"):
        again(report, tmp_path)


def test_a_report_that_does_not_hold_its_suite_is_named(files: Files, tmp_path: Path) -> None:
    report = check(make_suite(files), engine=answering())

    def edited(**changes: Any) -> Report:
        return report.model_copy(update={"provenance": report.provenance.model_copy(update=changes)})

    for suite in (None, {}, {"version": 99}):
        with pytest.raises(ReportError, match=r"out\.json: the report does not hold its suite"):
            again(edited(suite=suite), tmp_path)
    with pytest.raises(ReportError, match=r"out\.json: it names 0 adapters, and its suite 1"):
        again(edited(ft_adapters=()), tmp_path)
