"""A command that is refused, in a folder with one of everything, and what came of it."""

from __future__ import annotations

import atexit
import contextlib
import functools
import io
import json
import shlex
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from cli.messages.raise_sites import lines_of
from loracheck import check, sweep
from loracheck.cli.main import cli, run
from loracheck.report import FORMS
from loracheck.report.sweep import SWEEP_FORMS
from models.peft_factory import write_base, write_peft
from suite_factory import SEARCH, answering, make_case, write_files

if TYPE_CHECKING:
    from loracheck.engine.fake import FakeEngine


@dataclass
class World:
    """The folder of one command, where each row puts what is wrong; messages name files as they stand in it."""

    folder: Path
    patch: pytest.MonkeyPatch
    engine: FakeEngine = field(default_factory=answering)
    closing: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    """What is to be put back when the command has ended."""

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path


Prepare = Callable[[World], object]


@dataclass(frozen=True)
class Row:
    command: str
    """What stands behind `loracheck`."""
    says: str
    """A part of what is said on standard error."""
    prepare: Prepare = lambda world: None
    code: int = 2

    def __str__(self) -> str:
        return f"{self.command[:60]} > {self.says[:60]}"


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str
    lines: frozenset[tuple[str, int]]
    """Lines of the source that the error was raised in or passed through."""
    changed: frozenset[str]
    """Files that are new, gone or not what they were."""


def file(name: str, content: str | bytes) -> Prepare:
    return lambda world: world.write(name, content)


def as_json(name: str, value: Any) -> Prepare:
    return file(name, json.dumps(value))


def case_lines(*cases: dict[str, Any]) -> Prepare:
    """my.jsonl; what a case does not say is said for it."""
    return file("my.jsonl", "\n".join(json.dumps({"prompt": "Hi.", "tool_spec": SEARCH} | case) for case in cases))


def case_list(*cases: dict[str, Any]) -> Prepare:
    """my-cases.yaml, likewise."""
    return file("my-cases.yaml", yaml.safe_dump([{"prompt": "Hi.", "tool_spec": SEARCH} | case for case in cases]))


def suite(**changes: Any) -> Prepare:
    """my.yaml, whole but for the changes; None takes a key out."""
    return file(
        "my.yaml", yaml.safe_dump({key: value for key, value in (_SUITE | changes).items() if value is not None})
    )


def probe(**changes: Any) -> dict[str, Any]:
    cases = [{"prompt": "Hi.", "tool_spec": SEARCH}]
    return {"name": "tools", "kind": "tool_use_fidelity", "cases": cases} | changes


_SUITE: dict[str, Any] = {
    "version": 1,
    "models": {"base": {"gguf": "base.gguf"}, "ft": {"adapters": [{"gguf": "adapter.gguf"}]}},
    "suite": [probe()],
}


@functools.cache
def _one_of_everything() -> Path:
    """What every world begins with, made once."""
    folder = Path(tempfile.mkdtemp(prefix="loracheck-messages-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    write_files(folder)
    world = World(folder, pytest.MonkeyPatch())
    suite()(world)
    cases = [make_case(number) for number in (1, 2)]
    world.write("cases.jsonl", "\n".join(case.model_dump_json(exclude_unset=True) for case in cases))
    as_json("tools.json", [SEARCH])(world)
    write_base(folder / "peft-base.gguf")
    write_peft(folder / "peft")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("LORACHECK_CACHE", str(folder / "cache"))
        options: dict[str, Any] = {"base": "base.gguf", "adapter": "adapter.gguf", "cases": cases, "null": False}
        report = check(**options, engine=answering())
        world.write("report.json", FORMS["json"].render(report))
        world.write("sweep.json", SWEEP_FORMS["json"].render(sweep(**options, engine=answering())))
    shutil.rmtree(folder / "cache", ignore_errors=True)
    return folder


@functools.cache
def outcome(row: Row) -> Outcome:
    """Run the command of a row, once in all tests."""
    caught: list[BaseException] = []
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        world = World(Path(folder) / "world", patch)
        shutil.copytree(_one_of_everything(), world.folder)
        patch.chdir(world.folder)
        patch.setenv("LORACHECK_CACHE", str(Path(folder) / "cache"))
        # The default pack takes a tenth of a second to read.
        patch.setattr("loracheck.suites.DEFAULT_PACK", "smoke")
        patch.setattr(cli, "main", _noting(cli.main, caught))
        row.prepare(world)
        before = _contents(world.folder)
        with world.closing, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(shlex.split(row.command), world.engine)
        after = _contents(world.folder)
    lines = frozenset(line for error in caught for line in lines_of(error))
    changed = frozenset(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    return Outcome(code, out.getvalue(), err.getvalue(), lines, changed)


def _noting(main: Callable[..., Any], caught: list[BaseException]) -> Callable[..., Any]:
    def noting(*args: Any, **options: Any) -> Any:
        try:
            return main(*args, **options)
        except Exception as error:
            caught.append(error)
            raise

    return noting


def _contents(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}
