"""What a file or folder is by its first bytes, so that a message or a shell can tell it from what is wanted."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

_HEAD_BYTES = 4096

# A key, the type of its value (text), the length of the text, and the text, as GGUF writes them.
_ADAPTER_MARK = b"general.type" + (8).to_bytes(4, "little") + (7).to_bytes(8, "little") + b"adapter"
_SUITE_MARK = re.compile(rb"^(models|suite) *:", re.MULTILINE)
_CASES_MARK = re.compile(rb'\s*\{.*"(prompt|messages)" *:')
_REPORT_MARK = b'"loracheck_version"'


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    """Finishes the sentence "this is ..."."""
    way: str
    """What takes it, as a command."""

    def way_for(self, path: Path) -> str:
        return self.way.format(path=shlex.quote(str(path)))


ADAPTER = Kind("a LoRA adapter", "`loracheck check --base MODEL.gguf --adapter {path}` checks it")
PEFT = Kind("a PEFT adapter folder", ADAPTER.way)
MODEL = Kind(
    "a model",
    "`loracheck check --base {path} --adapter ADAPTER.gguf` checks an adapter on it, "
    "`loracheck check --base MODEL.gguf --candidate {path}` the model itself",
)
SUITE = Kind("a suite file", "`loracheck check {path}` reads it")
CASES = Kind("a file of cases", "`loracheck check --base MODEL.gguf --adapter ADAPTER.gguf --cases {path}` asks them")
REPORT = Kind(
    "a report of loracheck", "`loracheck report {path}` shows it, `loracheck check --like {path}` runs it again"
)


def kind_of(path: Path) -> Kind | None:
    """None for what is none of these, or cannot be read; a pipe is left alone."""
    try:
        if path.is_dir():
            return PEFT if (path / "adapter_config.json").is_file() else None
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return kind_of_bytes(file.read(_HEAD_BYTES))
    except (OSError, ValueError):
        # ValueError: a path with a null byte in it.
        return None


def kind_of_bytes(head: bytes) -> Kind | None:
    if head.startswith(b"GGUF"):
        return ADAPTER if _ADAPTER_MARK in head else MODEL
    if _REPORT_MARK in head:
        return REPORT
    if _CASES_MARK.match(head):
        return CASES
    return SUITE if _SUITE_MARK.search(head) else None


def misplaced(path: Path, wanted: str, *allowed: Kind) -> str | None:
    """A message where the file is of a kind that we know, and of none that is allowed."""
    kind = kind_of(path)
    if kind is None or kind in allowed:
        return None
    return f"{path}: this is {kind.name}, not {wanted}; {kind.way_for(path)}"
