"""`loracheck check`: the main job."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from loracheck.cli.options import INPUT, AdapterOption, DialectOption
from loracheck.cli.outputs import output_options
from loracheck.engine import MOST, TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from loracheck.cli.outputs import Outputs
    from loracheck.report.model import Report
    from loracheck.suite.suite import AdapterEntry, Suite

EXIT_CODES = {"pass": 0, "warn": 0, "fail": 1, "skip": 1, "error": 3}

EXAMPLES = """\b
Examples:
  loracheck check tools.yaml
  loracheck check --base model.gguf --adapter mine.gguf
  loracheck check --base model.gguf --adapter peft-output/ --cases my.jsonl
  loracheck check --base model.gguf --base-adapter sft.gguf --adapter mine.gguf@0.5 \\
      --cases smoke --json out.json --html out.html
  loracheck check --like out.json --no-cache

\b
Exit codes: 0 pass, 1 fail, 2 bad input or usage, 3 engine failure,
            4 the adapter has no effect, 130 interrupted."""


@click.command(epilog=EXAMPLES)
@click.argument("suite", type=INPUT, required=False)
@click.option("--base", type=INPUT, help="The base model, a GGUF file.")
@click.option(
    "--adapter",
    "adapters",
    type=AdapterOption(),
    multiple=True,
    help="The adapter to check: a GGUF LoRA, or a PEFT folder. @SCALE sets its strength. Repeat to stack.",
)
@click.option(
    "--base-adapter",
    "base_adapters",
    type=AdapterOption(),
    multiple=True,
    help="An adapter that belongs to the base, on in both views. Repeat to stack.",
)
@click.option(
    "--cases",
    "cases_file",
    type=INPUT,
    help="Cases to ask: a file, ours or OpenAI's, BFCL's, ShareGPT's, xLAM's; or a pack.",
)
@click.option("--like", type=INPUT, help="Run a saved report again, on the same files with the same settings.")
@output_options
@click.option(
    "--fail-on",
    type=click.Choice(["inconclusive", "warn"]),
    multiple=True,
    help="Exit with 1 also when the cases are too few to tell, or when the report warns.",
)
@click.option("--null-runs", type=click.IntRange(1, 10), help="Noise adapters to try.  [default: 3]")
@click.option("--no-null", is_flag=True, help="No noise baseline, so no z.")
@click.option("--prompt", type=click.Choice(["chat", "raw"]), help="Chat template, or bare text.")
@click.option("--dialect", type=DialectOption(), help="How calls are written.  [default: by the chat template]")
@click.option("--schema", type=click.Choice(["basic", "strict"]), help="Validate arguments by their whole JSON Schema.")
@click.option("--max-new-tokens", type=click.IntRange(1, MOST), help="Longest answer.  [default: 256]")
@click.option("--n-ctx", type=click.IntRange(32, MOST), help="Context for each case.  [default: 4096]")
@click.option("--threads", type=click.IntRange(1, 512), help="CPU threads.  [default: by the machine]")
@click.option("--gpu-layers", type=click.IntRange(-1, MOST), help="Layers on the GPU, -1 for all.  [default: 0]")
@click.option("--parallel", type=click.IntRange(1, 64), help="Cases decoded in step.  [default: 8]")
@click.option("--seed", type=click.IntRange(0), help="Seed of the bootstrap interval.  [default: 0]")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=TIMEOUT,
    show_default=True,
    help="Seconds that one batch may take.",
)
@click.option("--no-cache", is_flag=True, help="Compute every answer, keep none for later runs.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
@click.pass_context
def check(
    ctx: click.Context,
    /,
    suite: Path | None,
    base: Path | None,
    adapters: tuple[AdapterEntry, ...],
    base_adapters: tuple[AdapterEntry, ...],
    cases_file: Path | None,
    like: Path | None,
    outputs: Outputs,
    fail_on: tuple[str, ...],
    null_runs: int | None,
    no_null: bool,
    timeout: float,
    no_cache: bool,
    quiet: bool,
    **defaults: Any,
) -> None:
    """Check whether an adapter still calls tools the way its base does.

    Everything may come from a SUITE file, from options, or from both: options win.
    """
    from loracheck.checking import check as checked
    from loracheck.cli.keeping import user_store
    from loracheck.cli.progress import progress

    if no_null and null_runs:
        raise click.UsageError("--no-null and --null-runs exclude each other")
    settings = {key: value for key, value in defaults.items() if value is not None}
    if like and (suite or base or adapters or base_adapters or cases_file or settings or no_null or null_runs):
        raise click.UsageError("--like takes models, cases and settings from its report; give nothing else")
    with user_store(no_cache=no_cache) as store, progress(quiet=quiet) as bar:
        run = partial(checked, progress=bar, store=store, timeout=timeout)
        if like:
            report = _run_again(like, store.sha256_of, run)
        else:
            work = _suite(suite, base, adapters, base_adapters, cases_file).with_defaults(**settings)
            report = run(work.without_nulls() if no_null else work.with_nulls(null_runs))
    outputs.write(report)
    ctx.exit(_exit_code(report, fail_on))


def _suite(
    file: Path | None,
    base: Path | None,
    adapters: tuple[AdapterEntry, ...],
    base_adapters: tuple[AdapterEntry, ...],
    cases_file: Path | None,
) -> Suite:
    """The suite file with the command line's models and cases over it, or a suite made from those alone."""
    from loracheck.suite.load import find_cases, load_suite, quick_suite

    cases = find_cases(cases_file, partial(click.echo, err=True)) if cases_file else None
    if file is not None:
        suite = load_suite(file).with_models(base, adapters, base_adapters)
        return suite.with_cases(cases) if cases else suite
    if base is None or not adapters:
        raise click.UsageError("give a SUITE file, or both --base MODEL.gguf and --adapter ADAPTER.gguf")
    return quick_suite(base, adapters, base_adapters, cases)


def _run_again(file: Path, sha256_of: Callable[[Path], str], run: Callable[[Suite], Report]) -> Report:
    """Run the suite of a saved report, and say whether everything came out as it did then."""
    from loracheck.again import differences, suite_of
    from loracheck.report.json import read_report

    first = read_report(file)
    report = run(suite_of(first, file, sha256_of))
    changed = list(differences(first, report))
    said = f"not as in {file}: {', '.join(changed[:5])}" if changed else f"the same as {file} in every number"
    click.echo(f"Second run: {said}.", err=True)
    return report


def _exit_code(report: Report, fail_on: tuple[str, ...]) -> int:
    code = EXIT_CODES[report.verdict]
    if code == 0 and (
        ("warn" in fail_on and report.warnings)
        or (
            "inconclusive" in fail_on
            and any((probe.evidence.get("power") or {}).get("inconclusive") for probe in report.probes)
        )
    ):
        return EXIT_CODES["fail"]
    return code
