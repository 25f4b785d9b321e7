"""What a chat template has written before is not written again: to run a template takes a process of its own."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from loracheck.models.model import ChatTemplate
from loracheck.prompts.chat import Asked
from loracheck.prompts.facts import Facts
from loracheck.prompts.rendering import Rendered, render_apart
from loracheck.store import Store


def render_once(store: Store, template: ChatTemplate, asked: Sequence[Asked], *, no_thinking: bool = False) -> Rendered:
    """`render_apart`, or what came of it last time."""
    if not store.is_on:
        return render_apart(template, asked, no_thinking=no_thinking)
    about = {
        "template": asdict(template),
        "asked": asked,
        "no_thinking": no_thinking,
        # Whatever else has a say in what is written.
        "code": [store.sha256_of(source) for source in sorted(Path(__file__).parent.glob("*.py"))],
        "jinja2": version("jinja2"),
        "python": platform.python_version(),
    }
    kept = store.get("prompts", about)
    if kept is not None:
        return Rendered(kept["prompts"], Facts.from_json(kept["facts"]))
    rendered = render_apart(template, asked, no_thinking=no_thinking)
    store.put("prompts", about, asdict(rendered))
    return rendered
