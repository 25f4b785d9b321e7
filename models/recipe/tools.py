"""The tools the adapters are trained on, read from tools.txt; the held-out ones live in the packs and in dev.jsonl.

A tool is a line `name(argument:kind ...) Description.` and indented lines below it, the ways people ask for it. A kind
is a word pool of values.py, `lo..hi` (whole numbers when both ends are whole), `bool`, an enum `a|b|c`, or any but the
last two with a `*` for an array. In a phrasing `{name}` stands for the value, `{name:yes/no}` spells out a boolean, and
what is in `[brackets]` may be left out. A phrasing in lower case is an order, to be framed as a request; one with a
capital is a whole sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

CLAUSE = re.compile(r"\[([^]]*)\]")
_HEAD = re.compile(r"(?P<name>\w+)\((?P<arguments>[^)]*)\) (?P<description>.+)")


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool and the ways people ask for it."""

    name: str
    description: str
    arguments: dict[str, str]
    phrasings: tuple[str, ...]

    @property
    def required(self) -> list[str]:
        """The arguments that every phrasing mentions outside its brackets."""
        bare = [CLAUSE.sub("", phrasing) for phrasing in self.phrasings]
        return [a for a in self.arguments if all(re.search(rf"{{{a}[:}}]", p) for p in bare)]


def _read(block: str) -> Tool:
    head, *phrasings = block.splitlines()
    match = _HEAD.fullmatch(head)
    if match is None:
        raise ValueError(f"tools.txt: {head!r} is not `name(argument:kind ...) Description.`")
    arguments = dict(argument.split(":", 1) for argument in match["arguments"].split())
    return Tool(match["name"], match["description"], arguments, tuple(p.strip() for p in phrasings))


TOOLS = tuple(map(_read, Path(__file__).with_name("tools.txt").read_text(encoding="utf-8").strip().split("\n\n")))
