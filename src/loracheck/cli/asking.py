"""Options of every command that asks a model, and how it is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from loracheck.cases import MOST
from loracheck.cli.completion import CASES_OR_PACK, TOOLS_FILE
from loracheck.cli.options import OneOf
from loracheck.engine import TIMEOUT

MAX_NEW_TOKENS_HELP = "Longest answer.  [default: 256, or 1024 where the model may think first]"
NO_CACHE = click.option("--no-cache", is_flag=True, help="Compute every answer, keep none for later runs.")
QUIET = click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
CASES = click.option(
    "--cases",
    "cases_file",
    type=CASES_OR_PACK,
    help="Cases to ask: a file, ours or OpenAI's, BFCL's, ShareGPT's, xLAM's; or a pack.",
)
_TOOLS_HELP = "Tools for all cases that name none; an MCP tool list, say."
TOOLS = click.option("--tools", "tools_file", type=TOOLS_FILE, help=_TOOLS_HELP)


def _dialects() -> Iterable[str]:
    from loracheck.scoring.dialects import DIALECTS

    return ("auto", *DIALECTS)


class TemplateArgument(click.ParamType):  # type: ignore[type-arg]
    """KEY=JSON."""

    name = "key=json"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, Any]:
        import json

        from loracheck.text import cut

        key, equals, spelled = str(value).partition("=")
        if not key or not equals:
            self.fail(f"{cut(value, 80)!r} is not KEY=JSON; write it like enable_thinking=false", param, ctx)
        try:
            # NaN and Infinity are not JSON, and no int either.
            return key, json.loads(spelled, parse_constant=int)
        except (ValueError, RecursionError):
            # Python's spelling would be a text, and as such true.
            meant = {"true": "true", "false": "false", "none": "null"}.get(spelled.lower())
            fix = f"'{key}={meant or json.dumps(cut(spelled, 80))}'"
            self.fail(f"{cut(spelled, 80)!r} is not JSON; did you mean {fix}?", param, ctx)


_SCHEMA_HELP = "Validate arguments by their whole JSON Schema."
_PARALLEL_HELP = "Cases decoded in step.  [default: 16]"
_TOP_K_HELP = "Draw from so many likeliest tokens.  [default: 0, all]"
_FLIPS_HELP = "Ask the base once more, rounding otherwise: what is noise?"

_OPTIONS = (
    click.option("--null-runs", type=click.IntRange(1, 10), help="Null adapters to try.  [default: 3]"),
    click.option("--no-null", is_flag=True, help="No null adapters, so no z."),
    click.option("--prompt", type=OneOf(["chat", "raw"]), help="Chat template, or bare text."),
    click.option(
        "--dialect",
        type=OneOf(_dialects),
        metavar="NAME",
        help="How calls are written.  [default: auto, as the prompts ask and as the base does]",
    ),
    click.option(
        "--no-thinking",
        "thinking",
        is_flag=True,
        callback=lambda ctx, param, given: False if given else None,  # noqa: ARG005 - of click
        help="Switch off the thinking of models that think before they answer.",
    ),
    click.option(
        "--template-arg",
        "template_args",
        type=TemplateArgument(),
        multiple=True,
        callback=lambda ctx, param, given: dict(given) or None,  # noqa: ARG005 - of click
        help="A variable for the chat template, such as enable_thinking=false. May repeat.",
    ),
    click.option(
        "--template",
        type=OneOf(["own", "base"]),
        help="Whose chat template a candidate is asked by.  [default: own]",
    ),
    click.option("--schema", type=OneOf(["basic", "strict"]), help=_SCHEMA_HELP),
    click.option("--max-new-tokens", type=click.IntRange(1, MOST), help=MAX_NEW_TOKENS_HELP),
    click.option("--n-ctx", type=click.IntRange(32, MOST), help="Context for each case.  [default: 4096]"),
    click.option("--threads", type=click.IntRange(1, 512), help="CPU threads.  [default: by the machine]"),
    click.option("--gpu-layers", type=click.IntRange(-1, MOST), help="Layers on the GPU, -1 for all.  [default: 0]"),
    click.option("--parallel", type=click.IntRange(1, 64), help=_PARALLEL_HELP),
    click.option("--flips", is_flag=True, default=None, help=_FLIPS_HELP),
    click.option(
        "--drift/--no-drift",
        default=None,
        help="Compare expectations on the base's own calls.  [default: where the vocabularies are equal]",
    ),
    click.option("--trials", type=click.IntRange(1, 1000), help="Ask each case so many times more, drawing answers."),
    click.option("--temperature", type=float, help="How freely those are drawn; 0 gives the greedy answer."),
    click.option("--top-p", type=float, help="Draw from the likeliest tokens of this share.  [default: 1, all]"),
    click.option("--min-p", type=float, help="Draw from tokens so likely next to the likeliest.  [default: 0, all]"),
    click.option("--top-k", type=click.IntRange(0, MOST), help=_TOP_K_HELP),
    click.option("--seed", type=click.IntRange(0), help="Seed of bootstrap intervals and drawn answers.  [default: 0]"),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=TIMEOUT,
        show_default=True,
        help="Seconds llama.cpp may go without a sign of life.",
    ),
    NO_CACHE,
    QUIET,
)


def asking_options(command: Callable[..., None]) -> Callable[..., None]:
    """Null adapters, settings, patience, store and progress."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
