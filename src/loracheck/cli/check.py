"""`loracheck check`: the main job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from loracheck.cli.options import INPUT, OUTPUT, AdapterOption

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.suite.suite import AdapterEntry, Suite

EXIT_CODES = {"pass": 0, "warn": 0, "fail": 1, "skip": 1, "error": 3}

EXAMPLES = """\b
Examples:
  loracheck check tools.yaml
  loracheck check --base model.gguf --adapter mine.gguf
  loracheck check --base model.gguf --base-adapter sft.gguf --adapter mine.gguf@0.5 \\
      --cases my.jsonl --json out.json

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
    help="The adapter to check, a GGUF LoRA; @SCALE sets its strength. Repeat to stack.",
)
@click.option(
    "--base-adapter",
    "base_adapters",
    type=AdapterOption(),
    multiple=True,
    help="An adapter that belongs to the base, on in both views. Repeat to stack.",
)
@click.option("--cases", "cases_file", type=INPUT, help="Cases to ask: JSON lines, or a YAML list.")
@click.option("--json", "json_file", type=OUTPUT, help="Write the whole report here.")
@click.option("--null-runs", type=click.IntRange(1, 10), help="Noise adapters to try.  [default: 3]")
@click.option("--no-null", is_flag=True, help="No noise baseline, so no z.")
@click.option("--prompt", type=click.Choice(["chat", "raw"]), help="Chat template, or bare text.")
@click.option("--max-new-tokens", type=click.IntRange(1), help="Longest answer.  [default: 256]")
@click.option("--n-ctx", type=click.IntRange(32), help="Context for each case.  [default: 4096]")
@click.option("--threads", type=click.IntRange(1), help="CPU threads.  [default: by the machine]")
@click.option("--gpu-layers", type=click.IntRange(-1), help="Layers on the GPU, -1 for all.  [default: 0]")
@click.option("--parallel", type=click.IntRange(1, 64), help="Cases decoded in step.  [default: 8]")
@click.option("--seed", type=click.IntRange(0), help="Seed of the bootstrap interval.  [default: 0]")
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
    json_file: Path | None,
    null_runs: int | None,
    no_null: bool,
    no_cache: bool,
    quiet: bool,
    **defaults: Any,
) -> None:
    """Check whether an adapter still calls tools the way its base does.

    Everything may come from a SUITE file, from options, or from both: options win.
    """
    from loracheck.checking import check as run_check
    from loracheck.cli.keeping import user_store
    from loracheck.cli.progress import progress
    from loracheck.report.json import write_report
    from loracheck.report.terminal import show

    if no_null and null_runs:
        raise click.UsageError("--no-null and --null-runs exclude each other")
    if json_file is not None and not json_file.absolute().parent.is_dir():
        raise click.UsageError(f"--json {json_file}: the folder does not exist")
    work = _suite(suite, base, adapters, base_adapters, cases_file)
    work = work.with_defaults(**{key: value for key, value in defaults.items() if value is not None})
    work = work.without_nulls() if no_null else work.with_nulls(null_runs)
    with user_store(no_cache=no_cache) as store, progress(quiet=quiet) as bar:
        report = run_check(work, progress=bar, store=store)
    if json_file is not None:
        write_report(report, json_file)
    show(report)
    ctx.exit(EXIT_CODES[report.verdict])


def _suite(
    file: Path | None,
    base: Path | None,
    adapters: tuple[AdapterEntry, ...],
    base_adapters: tuple[AdapterEntry, ...],
    cases_file: Path | None,
) -> Suite:
    """The suite file with the command line's models and cases over it, or a suite made from those alone."""
    from loracheck.suite.load import load_cases, load_suite, quick_suite

    cases = load_cases(cases_file) if cases_file else None
    if file is not None:
        suite = load_suite(file).with_models(base, adapters, base_adapters)
        return suite.with_cases(cases) if cases else suite
    if base is None or not adapters:
        raise click.UsageError("give a SUITE file, or both --base MODEL.gguf and --adapter ADAPTER.gguf")
    return quick_suite(base, adapters, base_adapters, cases)
