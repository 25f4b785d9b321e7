"""Faults of chat templates, found in what they make of a tool and of a conversation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from loracheck.models.model import ChatTemplate
from loracheck.prompts.chat import (
    TRIAL_CHOICE,
    TRIAL_NAME,
    TRIAL_TOOL,
    TRIAL_TURN,
    Asked,
    Message,
    TemplateFailedError,
    run_template,
)

CALLED_WITH, RESULT = "upper Orange River", "1,867 heads"
# With an id of nine letters, because Mistral's templates refuse others.
CONVERSATION: list[Message] = [
    TRIAL_TURN,
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": "abcdefghi",
                "type": "function",
                "function": {"name": TRIAL_NAME, "arguments": {"region": CALLED_WITH}},
            }
        ],
    },
    {"role": "tool", "name": TRIAL_NAME, "tool_call_id": "abcdefghi", "content": RESULT},
]


@dataclass(frozen=True, slots=True)
class Written:
    """What a template makes of a tool beside one turn, and of a conversation with a call and its result."""

    one_turn: str
    conversation: str | None
    """None when it fails on that."""


@dataclass(frozen=True, slots=True)
class Defect:
    """Something that a template gets wrong."""

    sentence: str
    shows: Callable[[Written], bool]
    concerns: Callable[[Asked], bool] = lambda _: True
    """Whether a prompt suffers from it."""


def _has_calls(asked: Asked) -> bool:
    return any(message.get("tool_calls") for message in asked.messages)


def _has_results(asked: Asked) -> bool:
    return any(message["role"] == "tool" for message in asked.messages)


def _has_choices(asked: Asked) -> bool:
    return '"enum":' in json.dumps(asked.tools)


def _has_no_system_message(asked: Asked) -> bool:
    return asked.messages[0]["role"] not in ("system", "developer")


DEFECTS = {
    "doubled_braces": Defect(
        'it shows calls with doubled braces, {{"…"}}, which is not JSON',
        lambda written: re.search(r'\{\{\s*"', written.one_turn) is not None,
    ),
    "python_tools": Defect(
        "it shows tools as Python writes them, {'name': …}, and not as JSON",
        lambda written: f"'name': '{TRIAL_NAME}'" in written.one_turn,
    ),
    "hidden_tools": Defect(
        "it takes tools, but a prompt without a system message does not show them",
        lambda written: TRIAL_NAME not in written.one_turn,
        _has_no_system_message,
    ),
    "hidden_choices": Defect(
        "it does not show which values a parameter may have (enum)",
        lambda written: TRIAL_NAME in written.one_turn and TRIAL_CHOICE not in written.one_turn,
        _has_choices,
    ),
    "fails_on_calls": Defect(
        "it fails on conversations with earlier calls",
        lambda written: written.conversation is None,
        # Who has such a conversation is told by the failure itself.
        lambda _: False,
    ),
    "drops_calls": Defect(
        "it leaves out the calls of earlier turns",
        lambda written: written.conversation is not None and CALLED_WITH not in written.conversation,
        _has_calls,
    ),
    "drops_results": Defect(
        "it leaves out the results of earlier calls",
        lambda written: written.conversation is not None and RESULT not in written.conversation,
        _has_results,
    ),
}


def find_defects(template: ChatTemplate) -> Iterator[str]:
    """The names of the defects of a template that shows tools."""
    written = Written(run_template(template, [TRIAL_TURN], [TRIAL_TOOL]), _conversation(template))
    return (name for name, defect in DEFECTS.items() if defect.shows(written))


def _conversation(template: ChatTemplate) -> str | None:
    try:
        return run_template(template, CONVERSATION, [TRIAL_TOOL])
    except TemplateFailedError:
        return None
