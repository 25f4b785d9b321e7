"""`loracheck inspect`: what is in an adapter or model file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from loracheck.cli.options import INPUT

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.adapters import AdapterInfo, ModelInfo


@click.command(epilog="\b\nExamples:\n  loracheck inspect adapter.gguf\n  loracheck inspect model.gguf --json")
@click.argument("file", type=INPUT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def inspect(file: Path, as_json: bool) -> None:
    """Show what is in a GGUF adapter or model, and what llama.cpp will ignore."""
    import json

    from loracheck.adapters import AdapterInfo, describe, sha256_of
    from loracheck.report.text import visible

    info = describe(file)
    facts = _adapter_facts(info) if isinstance(info, AdapterInfo) else _model_facts(info)
    facts["sha256"] = sha256_of(file)
    if as_json:
        click.echo(json.dumps(facts, indent=2))
        return
    width = max(map(len, facts))
    for key, value in facts.items():
        click.echo(f"{key.replace('_', ' '):<{width}}  {visible(_shown(value))}")


def _adapter_facts(info: AdapterInfo) -> dict[str, Any]:
    return {
        "file": str(info.path),
        "kind": "LoRA adapter",
        "size_bytes": info.size,
        "name": info.name,
        "architecture": info.architecture,
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


def _model_facts(info: ModelInfo) -> dict[str, Any]:
    return {
        "file": str(info.path),
        "kind": "model",
        "size_bytes": info.size,
        "name": info.name,
        "architecture": info.architecture,
        "quantization": info.quantization,
        "parameters": info.parameters,
        "layers": info.n_layers,
        "embedding": info.n_embd,
        "context": info.n_ctx_train,
        "vocabulary": info.n_vocab,
        "chat_template": info.has_chat_template,
        "license": info.license,
        "tensors": sum(info.tensor_types.values()),
        "tensor_types": dict(info.tensor_types),
        "parts": info.parts,
    }


def _shown(value: Any) -> str:
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
