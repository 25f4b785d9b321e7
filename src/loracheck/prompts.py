"""From a case to the text the model reads: the bare prompt, or the model's own chat template with its tools."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

from jinja2 import TemplateError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from loracheck.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Template

Message = dict[str, Any]
ToolSpec = dict[str, Any]

# Some templates print today's date. A verdict must not change overnight, so theirs is always this one.
TEMPLATE_DATE = datetime(2025, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """A model's chat template as its GGUF file carries it, and the two tokens templates like to spell out."""

    source: str
    bos_token: str = ""
    eos_token: str = ""


def render_chat(template: ChatTemplate, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> str:
    """The conversation as the template writes it, ready for the model's answer.

    A template that does not know tools would hide them from the model: they then go into a system message.
    """
    offered = [{"type": "function", "function": tool} for tool in tools]
    text = _render(template, messages, offered)
    if tools and _ignores_tools(template, messages, text):
        return _render_with_system(template, messages, describe_tools(tools))
    return text


def _ignores_tools(template: ChatTemplate, messages: Sequence[Message], with_tools: str) -> bool:
    try:
        return _render(template, messages, None) == with_tools
    except ModelError:
        # It cannot do without them.
        return False


def describe_tools(tools: Sequence[ToolSpec]) -> str:
    """The system text for templates that ignore tools: the answer we ask for, then one JSON object per tool."""
    listed = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)
    return (
        "You call tools. Answer with one JSON object and nothing else: "
        '{"name": "<tool name>", "arguments": {"<argument>": <value>}}\n'
        f"Tools:\n{listed}"
    )


def _render_with_system(template: ChatTemplate, messages: Sequence[Message], system: str) -> str:
    head, rest = messages[0], list(messages[1:])
    if head["role"] == "system":
        return _render(template, [_prefixed(head, system), *rest], None)
    try:
        text = _render(template, [{"role": "system", "content": system}, *messages], None)
    except ModelError:
        text = ""
    if system in text:
        return text
    # Gemma's template refuses a system message, others drop it: say it in the first turn instead.
    return _render(template, [_prefixed(head, system), *rest], None)


def _prefixed(message: Message, text: str) -> Message:
    return {**message, "content": f"{text}\n\n{message['content']}"}


def _render(template: ChatTemplate, messages: Sequence[Message], tools: list[ToolSpec] | None) -> str:
    try:
        return _compile(template.source).render(
            messages=list(messages),
            tools=tools,
            add_generation_prompt=True,
            bos_token=template.bos_token,
            eos_token=template.eos_token,
        )
    except Exception as error:  # a stranger's program: it may fail in any way
        raise ModelError(
            f"the model's chat template failed: {error}; use --prompt raw to send the prompt text as it is"
        ) from error


@lru_cache(maxsize=8)
def _compile(source: str) -> Template:
    # Templates come from strangers' model files: the sandbox keeps them from Python's internals.
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    env.filters["tojson"] = _tojson
    env.globals["raise_exception"] = _raise_exception
    env.globals["strftime_now"] = TEMPLATE_DATE.strftime
    return env.from_string(source)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """As transformers has it. Jinja's own filter escapes for HTML, which no model was trained to read."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)
