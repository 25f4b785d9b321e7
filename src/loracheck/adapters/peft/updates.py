"""The LoRA pairs of a PEFT adapter, each with the tensor of the base that it changes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from loracheck.adapters.fits import OTHER_BASE
from loracheck.adapters.pairs import spell
from loracheck.errors import AdapterError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from loracheck.adapters.peft.base import Base
    from loracheck.adapters.peft.config import PeftConfig
    from loracheck.adapters.peft.safetensors import Weight

Halves = dict[str, "Weight"]

_HALF = re.compile(r"(?P<module>.+)\.lora_(?P<embedding>embedding_)?(?P<half>[AB])(?(embedding)|\.weight)")
_COPY = ".base_layer.weight"
_EMBEDDING = "token_embd.weight"

_NOT_LOW_RANK = "was trained in full and has no place in a GGUF adapter; train without modules_to_save"
_TIED_OUTPUT = "is no tensor of its own in this base, whose output layer is token_embd.weight; train without lm_head"
_WHY_NOT = {
    r"lora_magnitude_vector(\.weight)?": "is a part of DoRA, which llama.cpp cannot apply; train without use_dora",
    r"bias": "is a bias, and llama.cpp's adapters have none; train with bias='none' and without lora_bias",
    r"\w*norm\w*\.weight": "is a norm, whose change llama.cpp would ignore; train without it",
    r"(embed_tokens|lm_head)\.weight": "is a whole embedding, which has no place in a GGUF adapter; "
    "if no tokens were added, save the adapter with save_embedding_layers=False",
}


@dataclass(frozen=True, slots=True)
class Update:
    module: str
    """As PEFT names it."""
    target: str
    """The base tensor, such as blk.0.attn_q.weight."""
    a: Weight
    """(rank, in)"""
    b: Weight
    """(out, rank)"""
    alpha: float
    heads: int | None
    """How many heads B's rows are to be interleaved by; None where they stay as they are."""

    @property
    def rank(self) -> int:
        return self.b.shape[1]

    @property
    def flipped(self) -> bool:
        """Embeddings are looked up by row, and llama.cpp wants their A the other way round."""
        return self.target == _EMBEDDING

    @property
    def dims(self) -> tuple[int, ...]:
        """What the base tensor must measure, in ggml's order."""
        ends = (self.a.shape[1], self.b.shape[0])
        return (*(ends[::-1] if self.flipped else ends), 1, 1)


def find_updates(folder: Path, config: PeftConfig, weights: Mapping[str, Weight], base: Base) -> list[Update]:
    """Every pair of the adapter, sorted by target; AdapterError when one cannot be used on this base."""
    found: dict[str, Update] = {}
    for (module, embedding), halves in _modules(folder, weights).items():
        target = base.target(module)
        if target is None:
            _fail(folder, module, _why_unknown(module, base))
        _check_halves(folder, module, halves, config.rank(module))
        update = Update(module, target, halves["A"], halves["B"], config.alpha(module), base.interleaved_heads(module))
        if embedding is not update.flipped:
            _fail(folder, module, f"cannot change {target} this way; {OTHER_BASE}")
        if target in found:
            _fail(folder, module, f"changes {target}, and so does {found[target].module}; save the adapter again")
        _check_base(folder, update, base)
        found[target] = update
    if not found:
        raise AdapterError(f"{folder}: the adapter has no LoRA pairs; train it and save it again")
    return [found[target] for target in sorted(found)]


def copies_of_the_base(weights: Mapping[str, Weight]) -> tuple[str, ...]:
    """PEFT saves the frozen embedding beside its update: the base has it already."""
    return tuple(sorted(name for name in weights if name.endswith(_COPY)))


def _modules(folder: Path, weights: Mapping[str, Weight]) -> dict[tuple[str, bool], Halves]:
    """The halves of each module, and whether it is an embedding."""
    modules: dict[tuple[str, bool], Halves] = {}
    copied = {_own_name(name).removesuffix(_COPY) for name in copies_of_the_base(weights)}
    for name, weight in weights.items():
        own = _own_name(name)
        if half := _HALF.fullmatch(own):
            halves = modules.setdefault((half["module"], bool(half["embedding"])), {})
            if half["half"] in halves:
                _fail(folder, own, f"is also there as {halves[half['half']].name}; save the adapter again")
            halves[half["half"]] = weight
        elif not own.endswith(_COPY):
            why = next((why for end, why in _WHY_NOT.items() if re.search(rf"(^|\.){end}$", own)), _NOT_LOW_RANK)
            _fail(folder, own, why)
    if alone := copied - {module for module, _ in modules}:
        _fail(folder, min(alone), _NOT_LOW_RANK)
    return modules


def _own_name(name: str) -> str:
    return name.removeprefix("base_model.model.")


def _check_halves(folder: Path, module: str, halves: Halves, rank: int) -> None:
    for half in "AB":
        if half not in halves:
            _fail(folder, module, f"has no lora_{half}; save the adapter again")
    a, b = halves["A"].shape, halves["B"].shape
    if len(a) != 2 or len(b) != 2 or a[0] != b[1] or not all((*a, *b)):
        _fail(folder, module, f"has an A of {list(a)} and a B of {list(b)}, which do not fit; save the adapter again")
    if a[0] != rank:
        _fail(folder, module, f"has rank {a[0]}, adapter_config.json says {rank}; save the two together")


def _check_base(folder: Path, update: Update, base: Base) -> None:
    needed = base.dims.get(update.target)
    if needed is None and not base.split:
        _fail(folder, update.module, _why_missing(update.target, base))
    if needed not in (None, update.dims):
        size = f"is {spell(update.dims)}, the base's {update.target} is {spell(needed or ())}"
        _fail(folder, update.module, f"{size}; {OTHER_BASE}")
    if update.flipped and "output.weight" not in base.dims and not base.split:
        why = "cannot be adapted on this base, whose output layer is the same tensor; train without embed_tokens"
        _fail(folder, update.module, why)
    if update.heads and update.b.shape[0] % (2 * update.heads):
        _fail(folder, update.module, f"has {update.b.shape[0]} rows for {update.heads} heads; {OTHER_BASE}")


def _why_unknown(module: str, base: Base) -> str:
    if module.endswith("lm_head"):
        return _TIED_OUTPUT
    if ".experts." in module:
        return "is one expert of several, which GGUF keeps in one tensor; train without the experts"
    if "vision" in module or "audio" in module:
        return "belongs to the part of the model that sees or hears; train the language model alone"
    return f"is no part of the base {base.path.name} ({base.architecture}, {base.layers} layers); {OTHER_BASE}"


def _why_missing(target: str, base: Base) -> str:
    if target == "output.weight":
        return _TIED_OUTPUT
    fused = re.sub(r"attn_[qkv]\.", "attn_qkv.", target)
    if fused in base.dims:
        return f"would be {target}, but the base has the fused {fused} only; train on qkv_proj, or use another base"
    return f"would be {target}, which the base does not have; {OTHER_BASE}"


def _fail(folder: Path, what: str, why: str) -> NoReturn:
    raise AdapterError(f"{folder}: {what} {why}")
