"""Option types that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from loracheck.suite.suite import AdapterEntry


if TYPE_CHECKING:
    _ParamType = click.ParamType[AdapterEntry]
    _TextType = click.ParamType[str]
else:
    _ParamType = _TextType = click.ParamType


class AdapterOption(_ParamType):
    """PATH or PATH@SCALE."""

    name = "PATH[@SCALE]"

    def convert(self, value: Any, param: Any, ctx: Any) -> AdapterEntry:
        from loracheck.suite.suite import AdapterEntry

        if isinstance(value, AdapterEntry):
            return value
        text = str(value)
        path, at, scale = text.rpartition("@")
        if not at or Path(text).exists():
            # A file whose own name has an @ in it is a file.
            return AdapterEntry(gguf=Path(text))
        try:
            factor = float(scale)
        except ValueError:
            self.fail(f"{scale!r} in {text!r} is not a scale; write PATH@0.5", param, ctx)
        if not abs(factor) < float("inf"):
            self.fail(f"the scale in {text!r} is not a finite number", param, ctx)
        return AdapterEntry(gguf=Path(path), scale=factor)


class DialectOption(_TextType):
    """auto, or the name of a dialect."""

    name = "NAME"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        from loracheck.scoring.dialects import DIALECTS

        if value != "auto" and value not in DIALECTS:
            self.fail(f"no dialect {value!r}; give auto or one of {', '.join(DIALECTS)}", param, ctx)
        return str(value)


COLOR = click.option(
    "--color/--no-color", default=None, help="Colours.  [default: on a terminal, unless NO_COLOR is set]"
)
OUTPUT = click.Path(dir_okay=False, path_type=Path)
INPUT = click.Path(path_type=Path)
