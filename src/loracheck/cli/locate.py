"""`loracheck locate`: which part of an adapter breaks tool calling, and what is left without it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from loracheck.cli.check import check
from loracheck.cli.options import OUTPUT

EPILOG = """\b
Examples:
  loracheck locate --base model.gguf --adapter mine.gguf
  loracheck locate --base model.gguf --adapter mine.gguf --cases my.jsonl \\
      --html where.html --write mended.gguf

\b
Exit codes: 0 the adapter passes, or a mended one does on all cases;
            1 it fails, and nothing that was tried passes; 2 bad input or usage,
            3 engine failure, 4 the adapter has no effect, 130 interrupted."""

# What only a check has: other forms of the report, and questions that are not asked here.
_NOT_HERE = {
    "like", "only_plan", "fail_on", "verbose", "json_file", "html_file", "markdown_file", "junit_file",
    "badge_file",
    "candidate", "quantize", "template", "drift", "flips", "trials", "temperature", "top_p", "min_p", "top_k",
}  # fmt: skip


@click.command(epilog=EPILOG)
@click.option("--budget", type=click.IntRange(6), default=24, show_default=True, help="Most views of parts to try.")
@click.option("--write", "mended_file", type=OUTPUT, help="Write a mended adapter here, if it passes on all cases.")
@click.option("--json", "json_file", type=OUTPUT, help="Write everything that was found here.")
@click.option("--html", "html_file", type=OUTPUT, help="Write a page for the browser.")
@click.option("--markdown", "markdown_file", type=OUTPUT, help="Write a summary for a pull request.")
@click.option("--cluster", metavar="ADDRESS", help="Let a Dask cluster answer, such as tcp://host:8786.")
@click.option("--workers", type=click.IntRange(1, 512), help="Start this many workers here, for this search.")
@click.pass_context
def locate(
    ctx: click.Context,
    /,
    suite: Path | None,
    base: Path | None,
    adapters: tuple[str, ...],
    base_adapters: tuple[str, ...],
    cases_file: Path | None,
    tools_file: Path | None,
    budget: int,
    mended_file: Path | None,
    json_file: Path | None,
    html_file: Path | None,
    markdown_file: Path | None,
    cluster: str | None,
    workers: int | None,
    color: bool | None,
    null_runs: int | None,
    no_null: bool,
    timeout: float,
    no_cache: bool,
    quiet: bool,
    **defaults: Any,
) -> None:
    """Find which layers and modules of an adapter break tool calling, and what is left without them.

    Begins with a check. Where that fails, parts of the adapter are left out until the lost calls come back.
    """
    from loracheck.locating import locate as located_by
    from loracheck.progress import progress
    from loracheck.report import write_text
    from loracheck.report.locate import render
    from loracheck.report.locate.terminal import show_located
    from loracheck.store import user_store
    from loracheck.suites import build_suite
    from loracheck.sweeping.clusters import open_cluster

    if cluster and workers:
        raise click.UsageError("--cluster and --workers exclude each other; give one of them")
    if no_null and null_runs:
        raise click.UsageError("--no-null and --null-runs exclude each other; give one of them")
    if not (suite or (base and adapters)):
        raise click.UsageError("give a SUITE file, or both --base MODEL.gguf and --adapter ADAPTER.gguf")
    files = {"json": json_file, "html": html_file, "markdown": markdown_file}
    for form, path in {**files, "write": mended_file}.items():
        # Said before the work, not after it.
        if path is not None and not path.absolute().parent.is_dir():
            raise click.UsageError(f"--{form} {path}: the folder does not exist; make it first")
    tell = partial(click.echo, err=True)
    work = build_suite(
        suite,
        base=base,
        adapter=adapters,
        base_adapter=base_adapters,
        cases=cases_file,
        tools=tools_file,
        null_runs=null_runs,
        null=not no_null,
        tell=tell,
        **defaults,
    )
    gpu_layers = work.defaults.gpu_layers
    with open_cluster(cluster, workers, gpu_layers, tell=None if quiet else tell) as pool:
        if pool and defaults["threads"] is None:
            work = work.with_defaults(threads=pool.threads)
        with user_store(no_cache=no_cache) as store, progress(quiet=quiet) as bar:
            located = located_by(
                work,
                budget=budget,
                write=mended_file,
                engine=ctx.obj,
                progress=bar,
                store=store,
                timeout=timeout,
                cluster=pool,
            )
    for form, path in files.items():
        if path is not None:
            write_text(path, render(located, form))
    show_located(located, color=color)
    ctx.exit(located.exit_code)


# What a check takes is taken here as well, and described in one place.
locate.params[:0] = [option for option in check.params if option.name not in _NOT_HERE]
