"""Plain chat without tools, read from chat.txt: a line that somebody says, and indented below it a terse answer."""

from __future__ import annotations

from pathlib import Path


def _read(block: str) -> tuple[str, str]:
    prompt, answer = block.splitlines()
    return prompt, answer.strip()


CHAT = tuple(map(_read, Path(__file__).with_name("chat.txt").read_text(encoding="utf-8").strip().split("\n\n")))
