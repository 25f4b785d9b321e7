"""From a case to the text the model reads: the bare prompt, or the model's own chat template with its tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from loracheck.errors import ModelError
from loracheck.models.model import ChatTemplate

Message = dict[str, Any]
ToolSpec = dict[str, Any]

WAY_OUT = "use --prompt raw to send the prompt text as it is"
# Letters of its own that a failing template gets to say.
_MOST_WORDS = 500


def render_chat(template: ChatTemplate, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> str:
    """The conversation as the template writes it, ready for the model's answer.

    A template that does not know tools would hide them from the model: they then go into a system message, and earlier
    calls and their results into the text of the turns.
    """
    offered = [{"type": "function", "function": tool} for tool in tools]
    # Asked with a bare turn: a template without tools may refuse their results, or a system message.
    bare = [{"role": "user", "content": "Hello"}]
    if tools and _ignores_tools(template, bare, _render(template, bare, offered)):
        return _render_with_system(template, in_words(messages), describe_tools(tools))
    return _render(template, [_with_objects(message) for message in messages], offered)


def in_words(messages: Sequence[Message]) -> list[Message]:
    """The conversation as turns of plain text, for those who know no tools; neighbours of one role are one turn."""
    turns: list[Message] = []
    for turn in map(_turn_in_words, messages):
        if turns and turns[-1]["role"] == turn["role"]:
            turns[-1]["content"] += f"\n{turn['content']}"
        else:
            turns.append(turn)
    return turns


def _turn_in_words(message: Message) -> Message:
    content = message.get("content") or ""
    if message["role"] == "tool":
        return {"role": "user", "content": f"Result of {message.get('name', 'the call')}: {content}"}
    made = _with_objects(message).get("tool_calls") or ()
    calls = [json.dumps(call.get("function", call), ensure_ascii=False) for call in made]
    return {"role": message["role"], "content": "\n".join(filter(None, [content, *calls]))}


def _with_objects(message: Message) -> Message:
    """The arguments of earlier calls as objects: OpenAI's format has them as text, which templates would quote."""
    calls = message.get("tool_calls")
    return {**message, "tool_calls": [_with_object(call) for call in calls]} if calls else message


def _with_object(call: dict[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("arguments"), str):
        return call
    try:
        arguments = json.loads(function["arguments"])
    except (ValueError, RecursionError):
        return call
    return {**call, "function": {**function, "arguments": arguments}}


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
    if head["role"] in ("system", "developer"):
        system, head, rest = f"{system}\n\n{head['content']}", rest[0], rest[1:]
        messages = [head, *rest]
    try:
        text = _render(template, [{"role": "system", "content": system}, *messages], None)
    except ModelError:
        text = ""
    if system in text:
        return text
    # Gemma's template refuses a system message, others drop it: say it in the first turn instead.
    told = {**head, "content": f"{system}\n\n{head['content']}"}
    return _render(template, [told, *rest], None)


def _render(template: ChatTemplate, messages: Sequence[Message], tools: list[ToolSpec] | None) -> str:
    # It brings Jinja, which a process that leaves the rendering to a child has no use for.
    from loracheck.prompts import templates

    try:
        return templates.run(
            template.source,
            messages=list(messages),
            tools=tools,
            add_generation_prompt=True,
            bos_token=template.bos_token,
            eos_token=template.eos_token,
        )
    except MemoryError:
        # No fault of the words it was given: another try would end the same.
        raise
    except Exception as error:  # a stranger's program: it may fail in any way
        said = str(error)[:_MOST_WORDS] or type(error).__name__
        raise ModelError(f"the model's chat template failed: {said}; {WAY_OUT}") from error
