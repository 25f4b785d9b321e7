"""Every place in the source that raises an error a user can meet, and those that a command went through."""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import loracheck

if TYPE_CHECKING:
    from collections.abc import Iterator

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


@functools.cache
def raise_sites() -> tuple[Site, ...]:
    """Statements that raise an error of the tree, validators' ValueErrors that become one, and calls that only fail."""
    return tuple(
        site for path in sorted(SOURCE.rglob("*.py")) for site in _sites(path.relative_to(SOURCE).as_posix(), path)
    )


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
