"""From a case to the text the model reads: the bare prompt, or the model's own chat template with its tools."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from loracheck.errors import ModelError
from loracheck.models.model import ChatTemplate

Message = dict[str, Any]
ToolSpec = dict[str, Any]


class Asked(NamedTuple):
    """What is put to a model: a conversation, and the tools on offer."""

    messages: Sequence[Message]
    tools: Sequence[ToolSpec]


WAY_OUT = "use --prompt raw to send the prompt text as it is"
OWN_VARIABLES = ("messages", "tools", "add_generation_prompt", "bos_token", "eos_token")
"""What every template is given by us."""

# Letters of its own that a failing template gets to say.
_MOST_WORDS = 500

TRIAL_NAME, TRIAL_CHOICE = "get_quagga_census", "harmattan"
"""The name of a tool and one of its choices, which no template mentions by itself."""
TRIAL_TOOL: ToolSpec = {
    "name": TRIAL_NAME,
    "description": "Counts the quaggas of a region.",
    "parameters": {
        "type": "object",
        "properties": {
            "region": {"type": "string", "description": "Where to count."},
            "season": {"type": "string", "description": "When to count.", "enum": ["monsoon", TRIAL_CHOICE]},
        },
        "required": ["region"],
    },
}
# One bare turn: a template without tools may refuse their results, or a system message.
TRIAL_TURN: Message = {"role": "user", "content": "Hello"}


class TemplateFailedError(ModelError):
    """A template that failed, and what it said."""

    def __init__(self, words: str, failure: str = "the model's chat template failed") -> None:
        super().__init__(f"{failure}: {words}; {WAY_OUT}")
        self.words = words


def render_chat(
    template: ChatTemplate, messages: Sequence[Message], tools: Sequence[ToolSpec], shown: bool | None = None
) -> str:
    """The conversation as the template writes it, ready for the model's answer.

    A template that does not show tools would hide them from the model: they then go into a system message, and earlier
    calls and their results into the text of the turns. Whether it shows them is `shown`, if that is known already.
    """
    if tools and not (shows_tools(template) if shown is None else shown):
        return _render_with_system(template, in_words(messages), describe_tools(tools))
    return run_template(template, [_with_objects(message) for message in messages], tools)


def shows_tools(template: ChatTemplate) -> bool:
    """Whether the model gets to read the tools: by the text that the template makes of one with an unlikely name.

    A template that fails without tools counts as one that shows them.
    """
    try:
        shown = TRIAL_NAME in run_template(template, [TRIAL_TURN], [TRIAL_TOOL])
    except TemplateFailedError as failure:
        if _works_without_tools(template):
            raise TemplateFailedError(failure.words, "the model's chat template fails when it is given tools") from None
        raise
    return shown or not _works_without_tools(template)


def _works_without_tools(template: ChatTemplate) -> bool:
    try:
        run_template(template, [TRIAL_TURN])
    except TemplateFailedError:
        return False
    return True


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


def describe_tools(tools: Sequence[ToolSpec]) -> str:
    """The system text for templates that do not show tools: the answer we ask for, then one JSON object per tool."""
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
        text = run_template(template, [{"role": "system", "content": system}, *messages])
    except TemplateFailedError:
        text = ""
    if system in text:
        return text
    # Gemma's template refuses a system message, others drop it: say it in the first turn instead.
    told = {**head, "content": f"{system}\n\n{head['content']}"}
    return run_template(template, [told, *rest])


def run_template(template: ChatTemplate, messages: Sequence[Message], tools: Sequence[ToolSpec] | None = None) -> str:
    """What the template makes of the conversation and the tools as they are; TemplateFailedError when it fails."""
    # It brings Jinja, which a process that leaves the rendering to a child has no use for.
    from loracheck.prompts import templates

    with failing_as_templates_do():
        return templates.run(
            template.source,
            **template.arguments,
            messages=list(messages),
            tools=None if tools is None else [{"type": "function", "function": tool} for tool in tools],
            add_generation_prompt=True,
            bos_token=template.bos_token,
            eos_token=template.eos_token,
        )


@contextmanager
def failing_as_templates_do() -> Iterator[None]:
    """A stranger's program may fail in any way: all of them become a TemplateFailedError."""
    try:
        yield
    except MemoryError:
        # No fault of the words it was given: another try would end the same.
        raise
    except Exception as error:
        raise TemplateFailedError(str(error)[:_MOST_WORDS] or type(error).__name__) from error
