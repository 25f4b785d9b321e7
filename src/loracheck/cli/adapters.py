"""`loracheck inspect`, `convert` and `null`: adapter files looked at, converted and imitated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from loracheck.cli.completion import ADAPTER_FILE, GGUF_FILE, MODEL_FILE, PEFT_FOLDER
from loracheck.cli.options import OUTPUT, OneOf
from loracheck.text import visible

if TYPE_CHECKING:
    from loracheck.models import AdapterInfo, ModelInfo

# A conversion that takes longer says so.
_PATIENCE = 2.0

CONVERT_EXAMPLES = """\b
Examples:
  loracheck convert my-adapter --base model.gguf -o my-adapter.gguf
  loracheck convert outputs/checkpoint-500 --base model.gguf --outtype f16 -o adapter.gguf
"""
NULL_EXAMPLES = """\b
Examples:
  loracheck null --like mine.gguf --seed 1000 --scale 0.02 -o null.gguf
  loracheck null --like mine.gguf --match norm -o null.gguf"""


@click.command(epilog="\b\nExamples:\n  loracheck inspect adapter.gguf\n  loracheck inspect model.gguf --json")
@click.argument("file", type=GGUF_FILE)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def inspect(file: Path, as_json: bool) -> None:
    """Show what is in a GGUF adapter or model, and what llama.cpp will ignore."""
    import json

    from loracheck.files import sha256_of
    from loracheck.models import describe

    facts = {**_facts(describe(file)), "sha256": sha256_of(file)}
    if as_json:
        click.echo(json.dumps(facts, indent=2))
        return
    width = max(map(len, facts))
    for key, value in facts.items():
        click.echo(f"{key.replace('_', ' '):<{width}}  {visible(_in_words(value))}")


def _facts(info: AdapterInfo | ModelInfo) -> dict[str, Any]:
    from loracheck.models import AdapterInfo

    facts = {
        "file": str(info.path),
        "kind": "LoRA adapter" if isinstance(info, AdapterInfo) else "model",
        "size_bytes": info.size,
        "name": info.name,
        "architecture": info.architecture,
    }
    if isinstance(info, AdapterInfo):
        return {
            **facts,
            "rank": list(info.ranks),
            "alpha": info.alpha,
            "target_modules": info.targets,
            "tensors": info.tensor_count,
            "types": list(info.dtypes),
            "update_norm": info.update_norm,
            "largest_value": info.max_abs,
            "ignored_tensors": list(info.ignored),
            "unpaired_tensors": list(info.unpaired),
            "non_finite_tensors": list(info.non_finite),
            "all_zero_pairs": list(info.zero_pairs),
            "activated_lora": info.alora,
        }
    return {
        **facts,
        "quantization": info.quantization,
        "parameters": info.parameters,
        "layers": info.n_layers,
        "embedding": info.n_embd,
        "context": info.n_ctx_train,
        "vocabulary": info.n_vocab,
        "chat_template": info.template is not None,
        **_template_facts(info),
        "license": info.license,
        "tensors": sum(info.tensor_types.values()),
        "tensor_types": dict(info.tensor_types),
        "parts": info.parts,
    }


def _template_facts(info: ModelInfo) -> dict[str, Any]:
    """What is asked of the model through its chat template; None is what a template that fails does not tell."""
    from loracheck.errors import ModelError
    from loracheck.prompts.format import look_at

    keys = ("asked_dialect", "asked_because", "tools_shown", "thinking", "thinking_off", "thinking_less")
    facts: dict[str, Any] = {**dict.fromkeys(keys), "template_defects": []}
    if info.template is None:
        return facts
    try:
        seen = look_at(info.template)
    except ModelError as failure:
        return {**facts, "template_defects": [str(failure)]}
    assert seen.template is not None
    thinking = seen.template.thinking
    return {
        "asked_dialect": seen.asked.name,
        "asked_because": seen.asked.why,
        "tools_shown": seen.template.shows_tools,
        "thinking": None if thinking is None else thinking.on,
        "thinking_off": thinking.switch if thinking and thinking.stops else None,
        "thinking_less": thinking.switch if thinking and not thinking.stops else None,
        "template_defects": list(seen.warnings),
    }


def _in_words(value: Any) -> str:
    """A value for people: no brackets, no None, long lists cut."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{key} ×{count}" for key, count in value.items())
    if isinstance(value, list):
        more = f" and {len(value) - 5} more" if len(value) > 5 else ""
        return ", ".join(map(str, value[:5])) + more if value else "none"
    return str(value)


@click.command(epilog=CONVERT_EXAMPLES)
@click.argument("peft", metavar="PEFT_DIR", type=PEFT_FOLDER)
@click.option("--base", type=MODEL_FILE, required=True, help="The GGUF model that the adapter is for.")
@click.option("-o", "--output", type=OUTPUT, required=True, help="Where to write the GGUF adapter.")
@click.option(
    "--outtype",
    type=OneOf(["f32", "f16"]),
    default="f32",
    show_default=True,
    help="How to store the numbers: f32 loses nothing, f16 takes half the room.",
)
def convert(peft: Path, base: Path, output: Path, outtype: str) -> None:
    """Convert a PEFT LoRA adapter (a folder with adapter_config.json) to GGUF, without PyTorch.

    What a GGUF adapter cannot express, such as DoRA or modules trained in full, is refused by name.
    """
    from threading import Timer

    from loracheck.models.peft import convert

    note = Timer(_PATIENCE, click.echo, [f"converting {peft} ..."], {"err": True})
    note.start()
    try:
        done = convert(peft, base, output, outtype)
    finally:
        note.cancel()
    for name in done.left_out:
        click.echo(f"left out {visible(name)}: a copy of the base's own weights", err=True)
    ranks = ", ".join(map(str, done.ranks))
    facts = f"{len(done.updates)} pairs, rank {ranks}, alpha {done.alpha:g}, {output.stat().st_size:,} bytes"
    click.echo(f"wrote {output}: {facts}")


@click.command(epilog=NULL_EXAMPLES)
@click.option("--like", type=ADAPTER_FILE, required=True, help="The adapter whose shape to take.")
@click.option("-o", "--output", type=OUTPUT, required=True, help="Where to write the null adapter.")
@click.option("--seed", type=int, default=1000, show_default=True, help="Same seed, same bytes.")
@click.option(
    "--match",
    type=OneOf(["scale", "norm"]),
    default="scale",
    show_default=True,
    help="Size the noise by --scale, or give each pair the update norm that it has in the adapter.",
)
@click.option(
    "--scale",
    type=float,
    default=0.02,
    show_default=True,
    help="Standard deviation of the noise; not used with --match norm.",
)
@click.option(
    "--rank-multiplier",
    type=float,
    default=1.0,
    show_default=True,
    help="Noise as strong as that of an adapter with this many times the rank.",
)
def null(
    like: Path, output: Path, seed: int, match: Literal["scale", "norm"], scale: float, rank_multiplier: float
) -> None:
    """Write a null adapter: random noise with the tensors, shapes, rank and alpha of another adapter."""
    from loracheck.models.null import write_null

    write_null(like, output, seed=seed, init_scale=scale, rank_multiplier=rank_multiplier, match=match)
    size = f"the update norms of {like}" if match == "norm" else f"--scale {scale:g}"
    click.echo(f"wrote {output}: noise sized by {size}")
