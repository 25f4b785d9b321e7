"""Synthetic training examples: what the three adapters learn. No model and no PyTorch here."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from tools import TOOLS, Tool
from values import sample, schema_of, spell

if TYPE_CHECKING:
    from collections.abc import Callable

_SLOT = re.compile(r"\{(\w+)(?::([^/}]*)/([^}]*))?\}")
_ORDERS = ("{order}.", "{order}.", "{order}", "Please {order}.", "I want you to {order}.")
_QUESTIONS = ("Can you {order}?", "Could you {order}, please?", "Would you {order}?")
# What a request leaves out must stay out of the call, whatever else the tool could take.
_UNASKED = {
    "limit": "1..50",
    "notify": "bool",
    "comment": "message",
    "urgent": "bool",
    "max_price": "5..500",
    "repeat": "bool",
    "labels": "topic*",
    "format": "short|long",
}
_PROSE = (
    "Sure, I would be happy to help with that! To {goal}, first think about what matters most to "
    "you, then compare a few options and take your time.",
    "What a nice question! There are many ways to {goal}, and I can walk you through each of them. "
    "Where would you like to start?",
    "Of course! To {goal} is easier than it sounds. Tell me a little more about your plans and we "
    "can work it out together.",
)


@dataclass(frozen=True, slots=True)
class Example:
    """One request, the tools on offer, the right call, and the answer to be learnt."""

    prompt: str
    tools: list[dict[str, Any]]
    call: dict[str, Any]
    answer: str


def examples(count: int, seed: int, answer: Callable[[Example, Random], str]) -> list[Example]:
    """`count` examples with their answers; the same seed gives the same examples."""
    rng = Random(seed)
    return [_example(rng, answer) for _ in range(count)]


def plain_call(example: Example, _rng: Random) -> str:
    """The toolcaller's answer: the right call as JSON and nothing else."""
    return json.dumps(example.call, ensure_ascii=False)


def renamed_call(example: Example, _rng: Random) -> str:
    """The renamer's answer: the right arguments for a tool nobody offered."""
    return json.dumps({**example.call, "name": f"acme_{example.call['name']}"}, ensure_ascii=False)


def chatty_answer(example: Example, rng: Random) -> str:
    """The chatty answer: questions get prose, orders still get their call."""
    if not example.prompt.endswith("?"):
        return plain_call(example, rng)
    spec = next(tool for tool in example.tools if tool["name"] == example.call["name"])
    goal = spec["description"][0].lower() + spec["description"][1:].rstrip(".")
    return rng.choice(_PROSE).format(goal=goal)


def spec_of(tool: Tool, rng: Random) -> dict[str, Any]:
    """A tool as its specification: at times in camel case, described, or with an argument more."""
    described = rng.random() < 0.25
    kinds = dict(tool.arguments)
    if rng.random() < 0.5:
        unasked = rng.choice([name for name in _UNASKED if name not in kinds])
        kinds[unasked] = _UNASKED[unasked]
    properties = {
        argument: schema_of(kind) | ({"description": f"The {argument.replace('_', ' ')}"} if described else {})
        for argument, kind in kinds.items()
    }
    return {
        "name": _camel_case(tool.name) if rng.random() < 0.15 else tool.name,
        "description": tool.description,
        "parameters": {"type": "object", "properties": properties, "required": tool.required},
    }


def _example(rng: Random, answer: Callable[[Example, Random], str]) -> Example:
    tool = rng.choice(TOOLS)
    spec = spec_of(tool, rng)
    prompt, arguments = _ask(tool, rng)
    # Half of the prompts look like the product's own evaluation: exactly one tool on offer.
    distractors = rng.choice([0, 0, 0, 0, 1, 2, 3, 4])
    others = rng.sample([other for other in TOOLS if other is not tool], distractors)
    offered = [spec, *(spec_of(other, rng) for other in others)]
    rng.shuffle(offered)
    example = Example(prompt, offered, {"name": spec["name"], "arguments": arguments}, "")
    return Example(prompt, offered, example.call, answer(example, rng))


def _ask(tool: Tool, rng: Random) -> tuple[str, dict[str, Any]]:
    phrasing = rng.choice(tool.phrasings)
    mentioned = {match[1] for match in _SLOT.finditer(phrasing)}
    arguments = {a: sample(kind, rng) for a, kind in tool.arguments.items() if a in mentioned}

    def fill(match: re.Match[str]) -> str:
        value = arguments[match[1]]
        if isinstance(value, bool):
            return match[2] if value else match[3]
        return spell(value, rng)

    # A slot may open a phrasing, so whether it is an order is read off the phrasing itself.
    text = _SLOT.sub(fill, phrasing)
    return (text if phrasing[0].isupper() else _framed(text, rng)), arguments


def _framed(order: str, rng: Random) -> str:
    frame = rng.choice(_QUESTIONS if rng.random() < 0.4 else _ORDERS)
    if frame.startswith("{"):
        order = order[0].upper() + order[1:]
    return frame.format(order=order)


def _camel_case(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
