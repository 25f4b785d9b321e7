"""The work every contender does: cases that share one tool surface, base and adapter view, 64 new tokens at most."""

from __future__ import annotations

import json
from pathlib import Path

from loracheck.cases.load import load_pack
from loracheck.demo import adapter_file, find_model
from loracheck.models import chat_template, read_model_header
from loracheck.prompts.chat import render_chat

BASE = find_model()
ADAPTER = adapter_file("toolcaller")
MAX_NEW_TOKENS = 64
SURFACE = 6
"""Tools offered in every prompt."""
OPENINGS = ("", "Quick one: ", "Please help. ", "Now this: ", "For my notes: ", "Hello! ", "One more: ", "Next: ")


def prompts(count: int) -> list[str]:
    """`count` prompts, all with the same tools in front and different questions behind."""
    assert BASE is not None, "the base model is missing: make model"
    template = chat_template(read_model_header(BASE))
    assert template is not None
    cases = load_pack("demo")
    tools = list({case.tool_spec.name: case.tool_spec.spec() for case in cases}.values())[:SURFACE]
    names = {tool["name"] for tool in tools}
    questions = [case.prompt for case in cases if case.tool_spec.name in names]
    spoken = [f"{opening}{question}" for opening in OPENINGS * 8 for question in questions]
    return [render_chat(template, [{"role": "user", "content": text}], tools) for text in spoken[:count]]


def tell(**figures: float) -> None:
    """A contender's result, for run.py."""
    print(json.dumps(figures))


def peak_mb() -> float:
    """The most memory this process has held."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no VmHWM in /proc/self/status")
