"""`loracheck sweep`: many checks in one table."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from loracheck.cli.asking import CASES, TOOLS, asking_options
from loracheck.cli.completion import ADAPTER_FILE, MODEL_FILE, SUITE_FILE
from loracheck.cli.options import OneOf, SweepOutputs, sweep_output_options
from loracheck.cli.quantize import FileType

if TYPE_CHECKING:
    from loracheck.sweeping.results import Sweep

EXAMPLES = """\b
Examples:
  loracheck sweep --base model.gguf --adapter outputs/ --html sweep.html
  loracheck sweep --base model.gguf --adapter mine.gguf \\
      --scale 0.25 --scale 0.5 --scale 1 --csv sweep.csv
  loracheck sweep --base model.gguf --adapter a.gguf --adapter a.gguf+b.gguf@0.5
  loracheck sweep --base f16.gguf --quantize Q8_0 --quantize Q4_K_M --adapter a.gguf
  loracheck sweep tools.yaml --reports cells --html sweep.html --require any
  loracheck sweep tools.yaml --workers 4
  loracheck sweep tools.yaml --cluster tcp://192.168.1.20:8786

\b
Exit codes: 0 every cell passes (with --require any: one does), 1 one fails,
            2 bad input or usage, 3 a cell could not run, 4 no cell has an
            effect, 130 interrupted."""


@click.command(epilog=EXAMPLES)
@click.argument("suite", type=SUITE_FILE, required=False)
@click.option("--base", "bases", type=MODEL_FILE, multiple=True, help="A base model, a GGUF file. Repeat for several.")
@click.option(
    "--adapter",
    "adapters",
    metavar="PATH[@SCALE]",
    shell_complete=ADAPTER_FILE.shell_complete,
    multiple=True,
    help="A GGUF LoRA, a PEFT folder, or a training output folder with its checkpoint-N folders. "
    "Repeat for alternatives; + joins a stack.",
)
@click.option(
    "--quantize",
    "types",
    type=FileType(),
    multiple=True,
    help="Quantize the base to this type, such as Q4_K_M, and check that against the base as it is. May repeat.",
)
@click.option("--scale", "scales", type=float, multiple=True, help="Multiplies the adapters' scales. May repeat.")
@click.option(
    "--base-adapter",
    "base_adapters",
    metavar="PATH[@SCALE]",
    shell_complete=ADAPTER_FILE.shell_complete,
    multiple=True,
    help="An adapter that belongs to the base, on in every view. Repeat to stack.",
)
@CASES
@TOOLS
@sweep_output_options
@click.option("--reports", type=click.Path(file_okay=False, path_type=Path), help="Write each cell's report here.")
@click.option("--require", type=OneOf(["all", "any"]), default="all", help="How many cells must pass.")
@click.option("--cluster", metavar="ADDRESS", help="Let a Dask cluster answer, such as tcp://host:8786.")
@click.option("--workers", type=click.IntRange(1, 512), help="Start this many workers here, for this sweep.")
@click.option("--yes", is_flag=True, help="Go ahead with more than 200 cells.")
@asking_options
@click.pass_context
def sweep(
    ctx: click.Context,
    /,
    suite: Path | None,
    bases: tuple[Path, ...],
    adapters: tuple[str, ...],
    types: tuple[str, ...],
    scales: tuple[float, ...],
    base_adapters: tuple[str, ...],
    cases_file: Path | None,
    tools_file: Path | None,
    outputs: SweepOutputs,
    reports: Path | None,
    require: str,
    cluster: str | None,
    workers: int | None,
    yes: bool,
    null_runs: int | None,
    no_null: bool,
    timeout: float,
    no_cache: bool,
    quiet: bool,
    **defaults: Any,
) -> None:
    """Check many adapters, checkpoints, scales and quantizations, and show them in one table.

    Every combination is a cell, a check of its own; what cells share is asked once. The axes may come from the `sweep`
    section of a SUITE file, from options, or from both: options win.
    """
    from loracheck.progress import progress
    from loracheck.sweeping.axes import build_cells, confirm_number, in_words, with_threads
    from loracheck.sweeping.clusters import open_cluster
    from loracheck.sweeping.running import sweep as swept
    from loracheck.sweeping.running import sweep_store

    if no_null and null_runs:
        raise click.UsageError("--no-null and --null-runs exclude each other; give one of them")
    if not (suite or (bases and (adapters or types))):
        raise click.UsageError("give a SUITE file, or --base MODEL.gguf and --adapter ADAPTER.gguf or --quantize TYPE")
    if reports and not reports.absolute().parent.is_dir():
        raise click.UsageError(f"--reports {reports}: the folder above it does not exist; make it first")
    if cluster and workers:
        raise click.UsageError("--cluster and --workers exclude each other; give one of them")
    tell = partial(click.echo, err=True)
    cells = build_cells(
        suite,
        base=bases,
        adapter=adapters,
        scale=scales,
        quantize=types,
        base_adapter=base_adapters,
        cases=cases_file,
        tools=tools_file,
        null_runs=null_runs,
        null=not no_null,
        tell=tell,
        **defaults,
    )
    if not quiet:
        tell(in_words(cells))
    confirm_number(cells, yes=yes)
    gpu_layers = cells[0].suite.defaults.gpu_layers
    with open_cluster(cluster, workers, gpu_layers, tell=None if quiet else tell) as pool:
        if pool and defaults["threads"] is None:
            cells = with_threads(cells, pool.threads)
        with sweep_store(no_cache=no_cache) as store, progress(quiet=quiet) as bar:
            result = swept(
                cells,
                engine=ctx.obj,
                store=store,
                progress=bar,
                timeout=timeout,
                no_cache=no_cache,
                tell=None if quiet else tell,
                cluster=pool,
            )
    outputs.write_sweep(result, reports)
    ctx.exit(exit_code(result, require))


def exit_code(sweep: Sweep, require: str) -> int:
    if require == "any" and any(cell.passed for cell in sweep.cells):
        return 0
    if sweep.count("error"):
        return 3
    if not any(cell.has_effect for cell in sweep.cells):
        return 4
    return 0 if all(cell.passed or not cell.has_effect for cell in sweep.cells) else 1
