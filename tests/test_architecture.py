"""Who may know whom, and what it costs to add something."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import loracheck

SOURCE = Path(loracheck.__file__).parent

# Left knows nothing of right; what stands on one line may know each other only where it is said below.
ROOMS = (
    {"errors", "text", "processes", "file_kinds", "file_types", "machine", "pace", "status_line"},
    {"windows", "progress"},
    {"files"},
    {"scoring"},
    {"cases", "models"},
    {"store"},
    {"prompts"},
    {"engine"},
    {"results", "quantized", "memory"},
    {"cluster"},
    {"probes", "provenance"},
    {"plan"},
    {"ask", "judge"},
    {"outlook"},
    {"checking", "suites"},
    {"sweeping", "locating"},
    {"report", "fetch"},
    {"api", "cli", "pytest_plugin", "demo", "doctor", "cache", "__main__"},
)
EDGE = ROOMS[-1]
NEIGHBOURS = {("cli", "demo"), ("cli", "doctor"), ("cli", "cache"), ("doctor", "demo"), ("__main__", "cli")}


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imports(path: Path) -> set[str]:
    """The rooms that a module names, at its top or inside of a function."""
    rooms: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "loracheck":
            rooms |= {node.module.split(".")[1]} if "." in node.module else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            rooms |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("loracheck.")}
    return rooms - {room_of(path)}


MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def level(room: str) -> int:
    return next(number for number, rooms in enumerate(ROOMS) if room in rooms)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_knows_only_what_is_left_of_it(path: Path) -> None:
    here = room_of(path)
    for room in imports(path):
        assert level(room) < level(here) or (here, room) in NEIGHBOURS, f"{here} imports {room}"


def test_every_room_has_its_place() -> None:
    rooms = {room_of(path) for path in MODULES}
    assert rooms == set.union(*ROOMS)


def importing(package: str) -> set[Path]:
    """The files that import it, at their top or inside of a function."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.split(".")[0] == package for name in names):
                found.add(path.relative_to(SOURCE))
    return found


def test_llama_cpp_is_imported_in_one_file() -> None:
    assert importing("llama_cpp") == {Path("engine/native.py")}


def test_dask_is_imported_by_the_cluster_alone() -> None:
    assert {room_of(SOURCE / path) for path in importing("dask") | importing("distributed")} == {"cluster"}


def test_a_sweep_without_a_cluster_imports_no_dask(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from suite_factory import answering, make_case, write_files
import loracheck
files = write_files(Path.cwd())
found = loracheck.sweep(base=files.base, adapter=files.adapter, cases=[make_case()], engine=answering(), scale=[0, 1])
print(len(found.cells), [name for name in ("dask", "distributed", "tornado") if name in sys.modules])
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(SOURCE.parent), str(Path(__file__).parent)))}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "2 []\n"


def test_no_module_is_named_like_a_public_function() -> None:
    public = [name for name in loracheck.__all__ if name.islower()]
    assert {"check", "diff", "load_suite", "read_report", "sweep"} <= set(public)
    for name in public:
        assert not (SOURCE / f"{name}.py").exists()
        assert not (SOURCE / name).exists()


DIALECT = """
import re
from loracheck.scoring.dialects.after_mark import after
from loracheck.scoring.dialects.dialect import Dialect

SHOUTED = Dialect("shouted", "Shouted CALL!", after(r"CALL!"), re.compile(r"(CALL!)"))
"""

IMPORTER = """
from loracheck.cases.importers.draft import Draft, import_each, read_call, read_tools


def read_riddles(source):
    return import_each(source, _take_apart)


def _take_apart(record):
    messages = [{"role": "user", "content": record["riddle"]}]
    return Draft(record.get("id"), messages, read_tools(record["tools"]), [read_call(record["call"])])
"""

FORM = """
def render(report):
    return f"{report.verdict} in {len(report.probes)} probes"
"""

PROBE = """
from typing import Literal

from loracheck.cases.entries import Entry
from loracheck.probes.probe import Probe, Row, Step
from loracheck.results import ProbeReport


class WarningEntry(Entry):
    kind: Literal["always_warns"] = "always_warns"
    threshold: float = 0.5


class AlwaysWarns(Probe):
    kind = "always_warns"
    entry = WarningEntry

    def plan(self, entry, prompts, views, nulls):
        return Step(entry, prompts, nulls=nulls)

    def judge(self, step, answers, views):
        return ProbeReport(
            name=step.entry.name, kind=self.kind, verdict="warn", score=step.entry.threshold, message="[b]as asked",
            evidence={"threshold": step.entry.threshold},
        )

    def rows(self, report):
        yield Row("threshold", adapter=str(report.evidence["threshold"]))

    def paragraphs(self, report):
        yield "It always warns."
"""

USE_THEM = """
import json
from pathlib import Path

from loracheck.cases.load import find_cases
from loracheck.checking import check
from loracheck.report import FORMS, save
from loracheck.report.json import read_report
from loracheck.report.terminal import as_text
from loracheck.scoring.dialects import detect, read_calls
from loracheck.suites import build_suite
from suite_factory import answering, write_files

assert detect("{{ 'CALL!' }}").name == "shouted"
assert read_calls('CALL!{"name": "f", "arguments": {}}', "shouted").calls == ({"name": "f", "arguments": {}},)

riddle = {"riddle": "What has keys?", "tools": [{"name": "guess"}], "call": {"name": "guess", "arguments": {}}}
Path("riddles.jsonl").write_text(json.dumps(riddle))
(case,) = find_cases("riddles.jsonl")
assert (case.question, case.gold) == ("What has keys?", "guess")

write_files(Path.cwd())
Path("suite.yaml").write_text(
    "models: {base: {gguf: base.gguf}, ft: {adapters: [{gguf: adapter.gguf}]}}\\n"
    "suite: [{name: third, kind: always_warns, threshold: 0.25}]\\n"
)
report = check(build_suite("suite.yaml"), engine=answering())
save(report, Path("out.json"))
assert FORMS["short"].render(read_report(Path("out.json"))) == "warn in 2 probes"
for shown in (as_text(report, verbose=True), FORMS["markdown"].render(report), FORMS["html"].render(report)):
    assert "threshold" in shown and "0.25" in shown and "It always warns." in shown, shown
print("all at work")
"""


def put_in(path: Path, after: str, line: str) -> None:
    """One line where things are listed."""
    text = path.read_text("utf-8")
    assert after in text
    path.write_text(text.replace(after, f"{after}{line}", 1), "utf-8")


def test_a_dialect_an_importer_a_form_and_a_probe_kind_are_one_file_and_one_line_each(tmp_path: Path) -> None:
    package = tmp_path / "loracheck"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    new = {
        "scoring/dialects/shouted.py": DIALECT,
        "cases/importers/riddles.py": IMPORTER,
        "report/short.py": FORM,
        "probes/always_warns.py": PROBE,
    }
    for name, text in new.items():
        (package / name).write_text(text, "utf-8")
    for where, listed_after, line, imported in (
        ("scoring/dialects", "_KNOWN = (\n", "    SHOUTED,\n", "scoring.dialects.shouted import SHOUTED"),
        (
            "cases/importers",
            "    for each in (\n",
            "        Format('riddles', 'riddle', read_riddles),\n",
            "cases.importers.riddles import read_riddles",
        ),
        (
            "report",
            "FORMS: dict[str, Form[Report]] = {\n",
            "    'short': Form('short', '.short', 'One line.'),\n",
            None,
        ),
        (
            "probes",
            "_ALL: tuple[Probe[Any], ...] = (\n",
            "    AlwaysWarns(),\n",
            "probes.always_warns import AlwaysWarns",
        ),
    ):
        put_in(package / where / "__init__.py", listed_after, line)
        if imported:
            put_in(
                package / where / "__init__.py", "from __future__ import annotations\n", f"from loracheck.{imported}\n"
            )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(Path(__file__).parent)))}
    command = [sys.executable, "-W", "error", "-c", USE_THEM]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("all at work\n", "")
