"""Every place in the source that raises an error a user can meet, and those that a command went through."""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import loracheck

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

SOURCE = Path(loracheck.__file__).parent

# By the names of the classes as they stand in `raise`; `error` and its like hold one of the tree.
_TREE = {
    "InputError", "SuiteError", "CasesError", "ModelError", "AdapterError", "ReportError", "EngineError",
    "NoEffectError", "UsageError", "BadParameter", "error", "_error", "fail",
}  # fmt: skip


@dataclass(frozen=True, order=True, slots=True)
class Site:
    module: str
    """Relative to the package."""
    line: int
    last_line: int
    code: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.code}"

    def is_in(self, lines: Collection[tuple[str, int]]) -> bool:
        return any((self.module, line) in lines for line in range(self.line, self.last_line + 1))

    @property
    def exempted_by(self) -> str | None:
        """The key in `NOT_FROM_THE_COMMAND_LINE`."""
        spelled = f"{self.module}: {self.code}"
        return next((key for key in NOT_FROM_THE_COMMAND_LINE if key == self.module or spelled.startswith(key)), None)


@functools.cache
def raise_sites() -> tuple[Site, ...]:
    """Statements that raise an error of the tree, validators' ValueErrors that become one, and calls that only fail."""
    return tuple(
        site for path in sorted(SOURCE.rglob("*.py")) for site in _sites(path.relative_to(SOURCE).as_posix(), path)
    )


NOT_FROM_THE_COMMAND_LINE = {
    "api.py": "the command line says it itself, in its own words",
    "pytest_plugin.py": "pytest's own; tests/test_pytest_plugin.py",
    "cluster/desk.py": "on a worker; tests/cluster",
    "cluster/pool.py": "needs a cluster that fails; tests/cluster",
    "engine/adapters.py": "needs llama.cpp; tests/engine, tests/locating",
    "engine/child.py": "needs a llama.cpp that hangs; tests/engine",
    "engine/decode.py": "needs llama.cpp; tests/engine",
    "engine/llama.py": "needs llama.cpp; tests/engine, tests/test_refusals.py",
    "engine/llama_context.py": "needs a llama.cpp that fails; tests/engine",
    "engine/quantize.py": "needs a llama.cpp that fails; tests/engine",
    'locating/__init__.py: raise InputError(f"a budget': "click knows the range of --budget",
    "models/part.py: raise AdapterError": "needs a second writer in the middle of a search; tests/models",
    'models/write_lora.py: raise InputError(f"{out}: this is a folder': "click refuses a folder for a file",
    'quantized.py: raise InputError(f"{out}: this is a folder': "click refuses a folder for a file",
    "outlook.py: raise ModelError": "llama.cpp's memory; tests/test_outlook.py",
    "prompts/rendering.py: raise ModelError(_TOO_MUCH_MEMORY)": "macOS only",
    "prompts/rendering.py: raise ModelError(f\"the model's chat template writes": "in a child; tests/prompts",
    'report/__init__.py: raise InputError(f"{path}: no form': "Report.save; a command has an option for each form",
    "report/locate/__init__.py": "Located.save; a command has an option for each form",
    'report/sweep/json.py: raise ReportError(f"{path}: the report of one': "read_sweep; `report` takes both",
    "suites.py: raise InputError(_BOTH)": "the command line says it itself",
    "suites.py: raise InputError(MISSING)": "the command line says it itself",
}
"""What a command cannot come to, or not without llama.cpp; and why, or where it is tested."""


def _sites(module: str, path: Path) -> Iterator[Site]:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if _raises(module, node):
            assert isinstance(node, ast.stmt)
            code = ast.get_source_segment(source, node) or ""
            yield Site(module, node.lineno, node.end_lineno or node.lineno, " ".join(code.split()))


def _raises(module: str, node: ast.AST) -> bool:
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        name = _name(node.exc.func)
        # What a validator says of a file ends up in a CasesError or SuiteError, word by word.
        return name in _TREE or (name == "ValueError" and module.startswith("cases/"))
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return _name(node.value.func) in _ONLY_FAIL
    return False


# Functions that never return: what they are called with is the message.
_ONLY_FAIL = {"_fail", "fail", "truncated", "_refuse"}


def _name(function: ast.expr) -> str:
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def lines_of(error: BaseException | None) -> Iterator[tuple[str, int]]:
    """Where it was raised and what it passed through; of what it was raised from as well."""
    while error is not None:
        trace = error.__traceback__
        while trace is not None:
            file = Path(trace.tb_frame.f_code.co_filename)
            if SOURCE in file.parents:
                yield file.relative_to(SOURCE).as_posix(), trace.tb_lineno
            trace = trace.tb_next
        # What pydantic has gathered from validators.
        for detail in getattr(error, "errors", lambda: ())():
            yield from lines_of(detail.get("ctx", {}).get("error"))
        error = error.__cause__ or error.__context__
