"""Small suites, cases and canned answers, made on the spot."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loracheck.cases.case import Case
from loracheck.cases.suite import AdapterEntry, quick_suite
from loracheck.engine.fake import FakeEngine
from models.factory import write_adapter, write_model

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from loracheck.cases.suite import Suite
    from loracheck.engine import Prompt, View

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
    """A suite on the toy files without null adapters; `changes` go into its probe."""
    asked = [make_case(number + 1) for number in range(cases)]
    suite = quick_suite(files.base, [AdapterEntry(gguf=files.adapter)], [], asked)
    return suite.model_copy(update={"entries": tuple(entry.model_copy(update=changes) for entry in suite.entries)})


def call(name: str = "search_web", **arguments: Any) -> str:
    return json.dumps({"name": name, "arguments": arguments or {"query": "x"}})


def answering(
    base: Callable[[Prompt], str] | str | None = None,
    adapter: Callable[[Prompt], str] | str | None = None,
    nulls: Callable[[Prompt], str] | str = "no idea",
    *,
    name: str | None = None,
) -> FakeEngine:
    """An engine whose base and adapter views call the tool, and whose null views do not, unless told otherwise."""
    replies = {"base": call() if base is None else base, "adapter": call() if adapter is None else adapter}

    def reply(view: View, prompt: Prompt) -> str:
        words = replies.get(view.name, nulls)
        return words if isinstance(words, str) else words(prompt)

    return FakeEngine(reply, name=name)


def failing_from(number: int, bad: str = "I cannot do that.") -> Callable[[Prompt], str]:
    """Calls the tool in the first `number - 1` cases and says `bad` in the others."""
    return lambda prompt: call() if int(prompt.id.removeprefix("case")) < number else bad
