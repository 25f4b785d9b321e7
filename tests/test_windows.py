"""Where the system is Windows, what needs no llama.cpp works and the rest says that it does not.

These tests pretend (pretend_windows/sitecustomize.py). They cannot tell what a real Windows does.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import loracheck
from loracheck.report import FORMS
from models.factory import write_loadable_model
from models.peft_factory import every_module, write_base, write_peft
from pretend_windows import only_posix
from suite_factory import CHAT_TEMPLATE, SEARCH, answering, call, failing_from, make_suite, write_files

if TYPE_CHECKING:
    from collections.abc import Iterator

PRETEND = Path(__file__).parent / "pretend_windows"
SOURCE = Path(loracheck.__file__).parent
NEVER_ON_WINDOWS = "does not work on Windows yet; use WSL"

IMPORT_ALL = """
import importlib, pkgutil, sys
import loracheck
assert sys.platform == "win32"
for module in pkgutil.walk_packages(loracheck.__path__, "loracheck."):
    if module.name == "loracheck.__main__":
        continue
    try:
        importlib.import_module(module.name)
        print(module.name)
    except ModuleNotFoundError as missing:
        # Not everybody has installed these.
        if missing.name not in ("llama_cpp", "distributed"):
            raise
"""

RUN_ALL = """
import contextlib, io, json, sys
from loracheck.cli.main import run
assert sys.platform == "win32"
told = {}
for name, arguments in json.load(sys.stdin).items():
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = run(arguments)
    told[name] = [code, out.getvalue(), err.getvalue()]
print(json.dumps(told))
"""


def on_windows(code: str, given: str = "", **env: str) -> str:
    """What a script prints in a process that takes its system for Windows."""
    path = os.pathsep.join([str(PRETEND), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=given,
        env={**os.environ, "PYTHONPATH": path, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_module_can_be_imported() -> None:
    installed = [name for name in ("llama_cpp", "distributed") if find_spec(name)]
    imported = on_windows(IMPORT_ALL, IMPORT_FIRST=" ".join(installed)).split()
    assert {"loracheck.api", "loracheck.pytest_plugin", "loracheck.engine.child", "loracheck.fetch.hub"} <= {*imported}
    if len(installed) == 2:
        assert {"loracheck.engine.native", "loracheck.cluster.pool"} <= {*imported}


def commands(folder: Path) -> dict[str, list[str]]:
    """One of each, on toy files in the folder."""
    files = write_files(folder, CHAT_TEMPLATE)
    peft_base = write_base(folder / "peft-base.gguf")
    peft = write_peft(folder / "peft", every_module())
    model = write_loadable_model(folder / "model.gguf")
    recorded = {"cases": [{"tool_spec": SEARCH, "gold_tool_name": "search_web"}], "seed": 0}
    recorded |= {"base_outputs": [call()], "ft_outputs": [call()], "null_stats": None, "allowed_tools": None}
    (folder / "recorded.jsonl").write_text(json.dumps(recorded), encoding="utf-8")
    for name, engine in (("one", answering()), ("two", answering(adapter=failing_from(1, "no call")))):
        report = loracheck.check(make_suite(files), engine=engine)
        (folder / f"{name}.json").write_text(FORMS["json"].render(report), encoding="utf-8")
    one, two = str(folder / "one.json"), str(folder / "two.json")
    on = ["--base", str(files.base), "--adapter", str(files.adapter), "--cases", "smoke"]
    return {
        "help": ["--help"],
        "score": ["score", str(folder / "recorded.jsonl")],
        "report": ["report", one],
        "report to a file": ["report", one, "--format", "html", "--output", str(folder / "one.html")],
        "diff": ["diff", two, one],
        "inspect an adapter": ["inspect", str(files.adapter)],
        "inspect a model": ["inspect", str(files.base)],
        "list packs": ["cases", "list"],
        "show a pack": ["cases", "show", "smoke"],
        "null": ["null", "--like", str(files.adapter), "-o", str(folder / "null.gguf")],
        "convert": ["convert", str(peft), "--base", str(peft_base), "-o", str(folder / "converted.gguf")],
        "cache info": ["cache", "info"],
        "cache clear": ["cache", "clear"],
        "doctor": ["doctor"],
        "plan": ["check", *on, "--plan"],
        "check": ["check", *on],
        "sweep": ["sweep", *on, "--scale", "0.5"],
        "locate": ["locate", *on],
        "demo": ["demo"],
        "quantize": ["quantize", str(model), "--to", "Q8_0", "-o", str(folder / "q8.gguf")],
        "check a quantization": ["check", "--base", str(model), "--quantize", "Q8_0", "--cases", "smoke"],
        "check a quantization once": ["check", "--base", str(model), "--quantize", "Q8_0", "--no-cache"],
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("windows")


@pytest.fixture(scope="module")
def told(folder: Path) -> dict[str, Any]:
    """The exit code of each command, and what it printed."""
    temporary = folder / "temporary"
    temporary.mkdir()
    given = json.dumps(commands(folder))
    told: dict[str, Any] = json.loads(
        on_windows(RUN_ALL, given, LORACHECK_CACHE=str(folder / "cache"), TMPDIR=str(temporary))
    )
    return told


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("help", "loracheck check --base"),
        ("score", '"verdict": "pass"'),
        ("report", "PASS"),
        ("report to a file", ""),
        ("diff", "case"),
        ("inspect an adapter", "LoRA"),
        ("inspect a model", "chat template"),
        ("list packs", "smoke"),
        ("show a pack", ""),
        ("null", "null.gguf"),
        ("convert", "converted.gguf"),
        ("cache info", "folder"),
        ("cache clear", "remove"),
        ("plan", "<assistant>"),
    ],
)
def test_what_needs_no_llama_cpp_works(told: dict[str, Any], name: str, says: str) -> None:
    code, out, err = told[name]
    assert (code, err) == (0, "")
    assert says in out


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("check", "running llama.cpp"),
        ("sweep", "running llama.cpp"),
        ("locate", "running llama.cpp"),
        ("demo", "fetching a model"),
        ("quantize", "quantizing a model"),
        ("check a quantization", "quantizing a model"),
        ("check a quantization once", "quantizing a model"),
    ],
)
def test_what_needs_it_is_refused_in_a_line(told: dict[str, Any], name: str, what: str) -> None:
    code, _, err = told[name]
    assert (code, err.splitlines()[-1]) == (2, f"Error: {what} {NEVER_ON_WINDOWS}")
    assert "Traceback" not in err


def test_a_refused_command_leaves_nothing_behind(told: dict[str, Any], folder: Path) -> None:
    assert [*(folder / "temporary").iterdir()] == []
    assert not (folder / "q8.gguf").exists()
    assert [path for path in (folder / "cache").rglob("*") if path.suffix in (".gguf", ".part")] == []


def test_the_doctor_says_so_too(told: dict[str, Any]) -> None:
    code, out, err = told["doctor"]
    assert (code, err) == (3, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[lines.index("fix: use WSL") - 1] == "llama.cpp running it does not work on Windows yet"


# What Windows has not


def test_what_only_posix_has_is_imported_inside_of_a_function_in_one_file_each() -> None:
    at_the_top, anywhere = set(), []
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        anywhere += [(name, str(path.relative_to(SOURCE))) for name in sorted(names & only_posix.MODULES)]
        at_the_top |= {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    assert sorted(anywhere) == [("fcntl", "files.py"), ("resource", str(Path("prompts/rendering.py")))]
    assert not at_the_top & only_posix.MODULES


def may_be_missing(node: ast.AST) -> bool:
    """Whether it is tried, and does without where there is no such attribute."""
    return isinstance(node, ast.Try) and any(
        isinstance(name, ast.Name) and name.id == "AttributeError"
        for handler in node.handlers
        for name in ast.walk(handler.type or ast.Pass())
    )


def attributes(node: ast.AST) -> Iterator[ast.Attribute]:
    """Every attribute that the code relies on."""
    if isinstance(node, ast.Attribute):
        yield node
    for child in ast.iter_child_nodes(node):
        if not may_be_missing(child):
            yield from attributes(child)


def test_nothing_is_taken_from_a_module_that_has_it_on_posix_alone() -> None:
    taken = [
        f"{path.relative_to(SOURCE)}:{node.lineno}: {node.value.id}.{node.attr}"
        for path in sorted(SOURCE.rglob("*.py"))
        for node in attributes(ast.parse(path.read_text("utf-8")))
        if isinstance(node.value, ast.Name) and node.attr in only_posix.ATTRIBUTES.get(node.value.id, ())
    ]
    assert taken == []
