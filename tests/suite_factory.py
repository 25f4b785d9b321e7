"""Small suites, cases and canned answers, made on the spot."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adapters.factory import write_adapter, write_model
from loracheck.engine.fake import FakeEngine
from loracheck.suite.case import Case
from loracheck.suite.load import quick_suite
from loracheck.suite.suite import AdapterEntry

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from loracheck.engine import Prompt, View
    from loracheck.suite.suite import Suite

SEARCH = {
    "name": "search_web",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}

# Writes its tools, a system message and the turns, as most templates do.
CHAT_TEMPLATE = (
    "{{ bos_token }}{% if tools %}<tools>{{ tools | tojson }}</tools>{% endif %}"
    "{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}<assistant>"
)


@dataclass(frozen=True, slots=True)
class Files:
    """A toy base model and an adapter that fits it."""

    base: Path
    adapter: Path


def write_files(folder: Path, template: str | None = None) -> Files:
    extra = [("add_string", "tokenizer.chat_template", template)] if template is not None else []
    return Files(write_model(folder / "base.gguf", extra=extra), write_adapter(folder / "adapter.gguf"))


def make_case(number: int = 1, **changes: Any) -> Case:
    """A case whose prompt asks for the number `number`."""
    return Case.model_validate(
        {"id": f"case{number}", "prompt": f"Search for {number}.", "tool_spec": SEARCH} | changes
    )


def make_suite(files: Files, cases: int = 4, **changes: Any) -> Suite:
    """A suite on the toy files without a noise baseline; `changes` go into its probe."""
    suite = quick_suite(files.base, [AdapterEntry(gguf=files.adapter)], cases=[make_case(n + 1) for n in range(cases)])
    suite = suite.without_nulls()
    return suite.model_copy(update={"suite": tuple(probe.model_copy(update=changes) for probe in suite.suite)})


def call(name: str = "search_web", **arguments: Any) -> str:
    return json.dumps({"name": name, "arguments": arguments or {"query": "x"}})


def answering(
    base: Callable[[Prompt], str] | str | None = None,
    ft: Callable[[Prompt], str] | str | None = None,
    noise: Callable[[Prompt], str] | str = "no idea",
) -> FakeEngine:
    """An engine whose base and ft views call the tool, and whose noise views do not, unless told otherwise."""
    replies = {"base": call() if base is None else base, "ft": call() if ft is None else ft}

    def reply(view: View, prompt: Prompt) -> str:
        said = replies.get(view.name, noise)
        return said if isinstance(said, str) else said(prompt)

    return FakeEngine(reply)


def failing_from(number: int, bad: str = "I cannot do that.") -> Callable[[Prompt], str]:
    """Calls the tool in the first `number - 1` cases and says `bad` in the others."""
    return lambda prompt: call() if int(prompt.id.removeprefix("case")) < number else bad
