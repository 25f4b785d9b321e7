"""The Python API, and every example on its page."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import loracheck
from models.factory import lora_tensors, write_adapter
from real import BASE, TOOLCALLER, needs_base
from suite_factory import CHAT_TEMPLATE, Files, answering, call, make_case, write_files

if TYPE_CHECKING:
    from loracheck import FakeEngine

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
SUITE = """\
models: {base: {gguf: model.gguf}, ft: {adapters: [{gguf: mine.gguf}]}}
suite:
  - name: tools
    kind: tool_use_fidelity
    cases: [{prompt: Find cats., tool_spec: {name: search_web}}]
"""


@pytest.fixture
def folder(files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the page's files are."""
    files.base.rename(tmp_path / "model.gguf")
    files.adapter.rename(tmp_path / "mine.gguf")
    for seed, name in enumerate(("other.gguf", "sft.gguf"), 1):
        write_adapter(tmp_path / name, lora_tensors(seed=seed))
    (tmp_path / "tools.yaml").write_text(SUITE, "utf-8")
    (tmp_path / "my.jsonl").write_text(make_case(1, id="cats").model_dump_json(exclude_unset=True), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_page(namespace: dict[str, object]) -> None:
    for example in EXAMPLES:
        exec(compile(example, str(PAGE), "exec"), namespace)


def test_every_example_of_the_page_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Only llama.cpp is missing here: the model is a toy.
    monkeypatch.setattr("loracheck.checking.ChildEngine", lambda *_, **__: answering(name="canned"))
    namespace: dict[str, object] = {}
    run_page(namespace)
    assert isinstance(namespace["report"], loracheck.Report)
    assert {"out.json", "out.html", "out.md", "out.xml"} <= {path.name for path in folder.iterdir()}


@pytest.mark.engine
@needs_base
def test_a_check_on_the_real_model_by_keywords_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [make_case(1, id="cats", prompt="Search the web for cats.", max_new_tokens=48)]
    report = loracheck.check(base=str(BASE), adapter=f"{TOOLCALLER}@1.0", cases=cases, null=False)
    assert report.passed
    assert report.judged[0].cases[0].ft.outcome == "valid"


def check(files: Files, engine: FakeEngine | None = None, **keywords: object) -> loracheck.Report:
    given = {"base": files.base, "adapter": files.adapter, "cases": [make_case(n) for n in range(1, 9)]}
    return loracheck.check(**{**given, "null": False, **keywords}, engine=engine or answering())  # type: ignore[arg-type]


def test_paths_may_be_strings_one_or_several_and_carry_a_scale(files: Files) -> None:
    report = check(files, base=str(files.base), adapter=[f"{files.adapter}@0.5", str(files.adapter)])
    assert [adapter.scale for adapter in report.provenance.ft_adapters] == [0.5, 1.0]


def test_keywords_reach_the_chat_template(tmp_path: Path) -> None:
    closed = "{% if enable_thinking is defined and not enable_thinking %}</think>{% endif %}"
    files = write_files(tmp_path, CHAT_TEMPLATE + closed)
    for keywords in ({"thinking": False}, {"template_args": {"enable_thinking": False}}):
        assert check(files, **keywords).judged[0].cases[0].sent.endswith("<assistant></think>")
    assert check(files).judged[0].cases[0].sent.endswith("<assistant>")


def test_a_report_says_whether_it_passed_and_saves_itself_by_the_ending(files: Files, tmp_path: Path) -> None:
    report = check(files, answering(adapter="no"))
    assert (report.passed, report.verdict) == (False, "fail")
    for ending, start in ((".json", "{"), (".html", "<!doctype html>"), (".md", "## "), (".xml", "<?xml")):
        report.save(str(tmp_path / f"out{ending}"))
        assert (tmp_path / f"out{ending}").read_text("utf-8").startswith(start)
    assert loracheck.read_report(tmp_path / "out.json").model_dump() == report.model_dump()
    with pytest.raises(
        loracheck.InputError, match=r"out\.pdf: no form of the report has the ending '\.pdf'; use one of"
    ):
        report.save(tmp_path / "out.pdf")


def test_in_a_notebook_a_report_is_its_page_in_a_frame(files: Files) -> None:
    shown = check(files)._repr_html_()
    assert shown.startswith('<iframe sandbox="allow-scripts" srcdoc="<!doctype html>')
    inside = shown.partition('srcdoc="')[2]
    assert '"' not in inside[: inside.index('" style=')]


def test_the_users_store_is_used_unless_the_cache_is_off(files: Files, cache_folder: Path) -> None:
    engine = answering(name="same")
    check(files, engine, cache=False)
    assert list(cache_folder.iterdir()) == []
    check(files, engine)
    before = len(engine.asked)
    check(files, answering(name="same"))
    assert len(engine.asked) == before
    again = answering(name="same")
    check(files, again)
    assert again.asked == []


def test_a_given_engine_is_left_open(files: Files) -> None:
    engine = answering()
    check(files, engine)
    assert not engine.closed


def test_nothing_is_printed_where_nobody_watches(files: Files, capfd: pytest.CaptureFixture[str]) -> None:
    check(files)
    assert capfd.readouterr() == ("", "")


def test_two_reports_are_compared_whether_given_or_named(files: Files, tmp_path: Path) -> None:
    good, bad = check(files), check(files, answering(adapter=lambda prompt: call() if "1" in prompt.id else "no"))
    good.save(tmp_path / "good.json")
    assert loracheck.diff(tmp_path / "good.json", bad).worse
    assert not loracheck.diff(good, good).worse


def test_what_is_public_is_there_for_completion_and_documented() -> None:
    page = PAGE.read_text("utf-8")
    for name in loracheck.__all__:
        assert name in dir(loracheck)
        assert getattr(loracheck, name).__doc__ or name.endswith("Error")
        assert re.search(rf"\b{name}\b", page), name
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = loracheck.nonsense


def test_importing_loracheck_imports_nothing_heavy() -> None:
    heavy = ("pydantic", "numpy", "rich", "jinja2", "llama_cpp", "yaml")
    code = f"import sys, loracheck; print([name for name in {heavy!r} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_a_broken_argument_is_an_error_with_its_exit_code(files: Files, tmp_path: Path) -> None:
    with pytest.raises(loracheck.InputError, match="give a suite file, or both a base model and an adapter"):
        loracheck.check(base=files.base)
    with pytest.raises(loracheck.AdapterError) as stopped:
        check(files, adapter=tmp_path / "none.gguf")
    assert stopped.value.exit_code == 2
    assert json.dumps(str(stopped.value))
