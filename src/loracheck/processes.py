"""Child processes of ours."""

from __future__ import annotations

import sys


def serving(module: str, *arguments: object) -> list[str]:
    """The command for a child that calls `serve(*arguments)` of a module of ours.

    It finds modules where we do, and never in the folder that we happen to be in.
    """
    package, _, name = module.rpartition(".")
    called = f"{name}.serve({', '.join(map(repr, arguments))})"
    return [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; from {package} import {name}; {called}"]
