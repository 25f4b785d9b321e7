"""The registry of probe kinds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import loracheck
from loracheck.cases.entries import ENTRIES
from loracheck.probes import KINDS, suite_type, words_of
from loracheck.probes.probe import Reason, Words
from loracheck.results import ProbeReport

# It asks the tuned view alone, in its own cases, and leaves null adapters to others.
THIRD_KIND = """
from typing import Literal

from loracheck.cases.case import Case
from loracheck.cases.entries import Entry
from loracheck.probes.probe import Probe, Questions, Row, Step
from loracheck.results import ProbeReport


class AlwaysWarnsEntry(Entry):
    kind: Literal["always_warns"] = "always_warns"
    threshold: float = 0.5
    cases: tuple[Case, ...] = ()

    @property
    def asks(self):
        return self.cases


class AlwaysWarnsProbe(Probe):
    kind = "always_warns"
    entry = AlwaysWarnsEntry

    def plan(self, entry, prompts, views, nulls):
        return Step(entry, prompts, (Questions(views.tuned, prompts.of(views.tuned)),))

    def judge(self, step, answers, views):
        texts = [answer.text for answer in answers.of(views.tuned, step.prompts.of(views.tuned))]
        return ProbeReport(
            name=step.entry.name,
            kind=self.kind,
            verdict="warn",
            score=step.entry.threshold,
            message="[b]as asked",
            evidence={"texts": texts, "weight": 3.0},
        )

    def rows(self, report):
        yield Row("answers", adapter=str(len(report.evidence["texts"])), limit="not judged")

    def paragraphs(self, report):
        yield f"It answered {' and '.join(report.evidence['texts'])}."

    def doubts(self, report):
        yield "it always warns"
"""

USE_IT = """
import sys
from pathlib import Path

from loracheck.checking import check
from loracheck.report.terminal import show
from loracheck.suites import load_suite
from suite_factory import answering, write_files

write_files(Path.cwd())
Path("suite.yaml").write_text(sys.argv[1])
engine = answering(adapter=lambda prompt: f"so: {prompt.text}")
report = check(load_suite("suite.yaml"), engine=engine)
show(report, verbose=True)
print(engine.asked, report.score)
print([probe.comparison.null.n for probe in report.judged])
"""
MODELS = "models: {base: {gguf: base.gguf}, ft: {adapters: [{gguf: adapter.gguf}]}}\n"
THIRD = "{name: third, kind: always_warns, threshold: 0.25, cases: [{id: hello, prompt: Hello, tool_spec: {name: f}}]}"
NULLS = "{name: nulls, kind: null_adapter, runs: 2}"
TOOLS = "{name: tools, kind: tool_use_fidelity, cases: [{id: bye, prompt: Bye, tool_spec: {name: f}}]}"


@pytest.fixture
def extended(tmp_path: Path) -> Path:
    """A folder with a copy of the package in which a third kind is one file and its line in the tuple."""
    package = tmp_path / "loracheck"
    shutil.copytree(Path(loracheck.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "probes" / "always_warns.py").write_text(THIRD_KIND, encoding="utf-8")
    registry = package / "probes" / "__init__.py"
    source = registry.read_text(encoding="utf-8")
    tuple_end = "    ToolUseProbe(),\n)"
    assert source.count(tuple_end) == 1
    source = source.replace(tuple_end, "    ToolUseProbe(),\n    AlwaysWarnsProbe(),\n)")
    imports = "from loracheck.probes.null_adapter import"
    assert source.count(imports) == 1
    source = source.replace(imports, f"from loracheck.probes.always_warns import AlwaysWarnsProbe\n{imports}")
    registry.write_text(source, encoding="utf-8")
    return tmp_path


def run_in(folder: Path, suite: str) -> str:
    """What is printed when the suite is run there."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(Path(__file__).parents[1])))}
    command = [sys.executable, "-W", "error", "-c", USE_IT, suite]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout


def test_the_kinds_of_the_design_are_registered() -> None:
    assert set(KINDS) == {"null_adapter", "tool_use_fidelity"}


def test_a_suite_file_may_hold_every_kind_and_each_finds_its_probe_by_name() -> None:
    assert {kind: probe.entry for kind, probe in KINDS.items()} == ENTRIES
    assert all(probe.kind == kind for kind, probe in KINDS.items())
    assert suite_type() is suite_type()


def test_a_kind_that_nobody_knows_reads_as_its_message() -> None:
    report = ProbeReport(name="n", kind="of the future", verdict="fail", message="It broke.", evidence={"new": 1})
    words = words_of(report.kind)
    assert isinstance(words, Words)
    assert words.reasons(report) == [Reason("It broke.")]
    assert (list(words.doubts(report)), words.caution(report)) == ([], None)
    assert (list(words.rows(report)), list(words.paragraphs(report))) == ([], [])


def test_a_third_kind_is_one_file_and_one_line(extended: Path) -> None:
    shown = run_in(extended, f"{MODELS}suite: [{THIRD}]\n").splitlines()
    assert shown[:2] == ["WARN  third  score 0.25", "[b]as asked"]
    assert [line.split() for line in shown if line.startswith("answers")] == [["answers", "1", "not", "judged"]]
    assert "It answered so: Hello." in shown
    assert shown[-3] == "Warning: third: it always warns"
    assert shown[-2:] == ["[('adapter', 'hello')] 0.25", "[0]"]


def test_a_third_kind_gets_along_with_the_others(extended: Path) -> None:
    *_, asked, nulls = run_in(extended, f"{MODELS}suite: [{NULLS}, {THIRD}, {TOOLS}]\n").splitlines()
    assert asked.startswith("[('base', 'bye'), ('adapter', 'hello'), ('adapter', 'bye'), ('null 1/2', 'search_web'), ")
    assert nulls == "[0, 2]"
