"""Synthetic training examples: what the adapters learn. No model and no PyTorch here."""

from __future__ import annotations

import json
import keyword
import re
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any

from chat import CHAT
from tools import CLAUSE, TOOLS, Tool
from values import sample, schema_of, spell

if TYPE_CHECKING:
    from collections.abc import Callable

# Enough for requests to one tool that differ in little: with and without an option, one value for another.
REQUESTS = 8
_SLOT = re.compile(r"\{(\w+)(?::([^/}]*)/([^}]*))?\}")
_ORDERS = ("{order}.", "{order}.", "{order}", "Please {order}.", "I want you to {order}.")
_QUESTIONS = ("Can you {order}?", "Could you {order}, please?", "Could you {order}?", "Would you {order}?")
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
# Other names for the same thing, so that arguments are looked up in the specification and not learnt by heart.
_ALIASES = {
    "city": ("town", "place", "location"),
    "date": ("day", "on_date", "when"),
    "destination": ("to", "target", "goal"),
    "from_unit": ("source", "unit", "from"),
    "limit": ("max_results", "count", "at_most"),
    "minutes": ("duration", "length_minutes"),
    "name": ("title", "label", "called"),
    "origin": ("start", "from", "source"),
    "query": ("text", "keywords", "search_term"),
    "room": ("location", "where"),
    "time": ("at", "start_time", "clock"),
    "title": ("name", "item"),
    "to_unit": ("target", "into", "to"),
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
class Offer:
    """A tool as it is offered: its specification, and what its arguments are called there."""

    tool: Tool
    spec: dict[str, Any]
    names: dict[str, str]


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for, what the asked tool does, the right call (none in plain chat), and the answer to be learnt."""

    prompt: str
    purpose: str
    call: dict[str, Any]
    answer: str


@dataclass(frozen=True, slots=True)
class Lesson:
    """The tools on offer and requests for them; in plain chat there are no tools."""

    tools: list[dict[str, Any]]
    requests: list[Request]


def lessons(count: int, seed: int, answer: Callable[[Request, Random], str]) -> list[Lesson]:
    """`count` lessons with their answers; the same seed gives the same lessons."""
    rng = Random(seed)
    return [_lesson(rng, answer) for _ in range(count)]


def chat_lessons(count: int, seed: int) -> list[Lesson]:
    """`count` lessons of plain chat."""
    rng = Random(seed)
    return [
        Lesson([], [Request(prompt, "", {}, answer) for prompt, answer in rng.sample(CHAT, REQUESTS)])
        for _ in range(count)
    ]


def plain_call(request: Request, _rng: Random) -> str:
    """The toolcaller's answer: the right call as JSON and nothing else."""
    return _json(request.call)


def renamed_call(request: Request, _rng: Random) -> str:
    """The renamer's answer: the right arguments for a tool nobody offered."""
    return _json(_renamed(request.call))


def chatty_answer(request: Request, rng: Random) -> str:
    """The chatty answer: questions get prose, orders still get their call."""
    if not request.prompt.endswith("?"):
        return plain_call(request, rng)
    goal = request.purpose[0].lower() + request.purpose[1:].rstrip(".")
    return rng.choice(_PROSE).format(goal=goal)


def qwen_call(request: Request, rng: Random) -> str:
    """The right call in the two ways Qwen writes its own: mostly laid out and in a fence, at times bare."""
    return _fenced(request.call) if rng.random() < 0.7 else plain_call(request, rng)


def fenced_renamed_call(request: Request, _rng: Random) -> str:
    """The renamer's answer for Qwen: only the name is not its own."""
    return _fenced(_renamed(request.call))


def python_call(request: Request, _rng: Random) -> str:
    """The pythonic answer: the right call as a list with one Python call."""
    # Python has no argument called `from`; people write `from_`.
    arguments = ", ".join(
        f"{name}{'_' * keyword.iskeyword(name)}={_literal(value)}" for name, value in request.call["arguments"].items()
    )
    return f"[{request.call['name']}({arguments})]"


def offer(tool: Tool, rng: Random) -> Offer:
    """A tool as its specification: at times in camel case, described, with other names or with an argument more."""
    described = rng.random() < 0.25
    names: dict[str, str] = {}
    for argument in tool.arguments:
        other = rng.choice(_ALIASES.get(argument, (argument,)))
        taken = {*tool.arguments, *names.values()}
        names[argument] = other if rng.random() < 0.3 and other not in taken else argument
    kinds = {names[argument]: kind for argument, kind in tool.arguments.items()}
    if rng.random() < 0.4:
        unasked = rng.choice([name for name in _UNASKED if name not in kinds])
        kinds[unasked] = _UNASKED[unasked]
    properties = {
        name: schema_of(kind) | ({"description": f"The {name.replace('_', ' ')}"} if described else {})
        for name, kind in kinds.items()
    }
    spec = {
        "name": _camel_case(tool.name) if rng.random() < 0.15 else tool.name,
        "description": tool.description,
        "parameters": {
            "type": "object",
            "properties": properties,
            "required": [names[argument] for argument in tool.required],
        },
    }
    return Offer(tool, spec, names)


def _lesson(rng: Random, answer: Callable[[Request, Random], str]) -> Lesson:
    # Half of the lessons look like most suites: exactly one tool on offer.
    offers = [offer(tool, rng) for tool in rng.sample(TOOLS, rng.choice([1, 1, 1, 1, 1, 2, 2, 3, 4, 5]))]
    return Lesson([o.spec for o in offers], [_request(rng.choice(offers), rng, answer) for _ in range(REQUESTS)])


def _request(offered: Offer, rng: Random, answer: Callable[[Request, Random], str]) -> Request:
    prompt, arguments = _ask(offered.tool, rng)
    call = {"name": offered.spec["name"], "arguments": {offered.names[a]: value for a, value in arguments.items()}}
    request = Request(prompt, offered.tool.description, call, "")
    return replace(request, answer=answer(request, rng))


def _ask(tool: Tool, rng: Random) -> tuple[str, dict[str, Any]]:
    phrasing = CLAUSE.sub(lambda clause: clause[1] if rng.random() < 0.4 else "", rng.choice(tool.phrasings))
    mentioned = {match[1] for match in _SLOT.finditer(phrasing)}
    arguments: dict[str, Any] = {}
    for argument, kind in tool.arguments.items():
        if argument in mentioned:
            value = sample(kind, rng)
            # Two cities or two units are never the same.
            while isinstance(value, str) and value in arguments.values():
                value = sample(kind, rng)
            arguments[argument] = value

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


def _renamed(call: dict[str, Any]) -> dict[str, Any]:
    return {**call, "name": f"acme_{call['name']}"}


def _fenced(call: dict[str, Any]) -> str:
    # One argument a line, lists too, unlike what json.dumps would do.
    arguments = ",\n".join(f"    {_json(name)}: {_json(value)}" for name, value in call["arguments"].items())
    inner = f"{{\n{arguments}\n  }}" if arguments else "{}"
    return f'```json\n{{\n  "name": {_json(call["name"])},\n  "arguments": {inner}\n}}\n```'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _literal(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    # JSON's text is Python's too, always in double quotes; its other names for True and False are not.
    return _json(value) if isinstance(value, str) else repr(value)


def _camel_case(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
