"""The LoRA pairs of a PEFT adapter, each with the tensor of the base that it changes.

The names, sizes and heads of those tensors are what a converter must know about the base.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from loracheck.errors import AdapterError, ModelError
from loracheck.models.gguf_file import GgufFile
from loracheck.models.lora import OTHER_BASE, spell
from loracheck.models.model import read_model_header, split_count
from loracheck.models.peft.config import PeftConfig
from loracheck.models.peft.safetensors import Weight

if TYPE_CHECKING:
    from gguf.tensor_mapping import TensorNameMap

    Halves = dict[str, Weight]

# In these llama.cpp rotates neighbouring rows of a head, where Transformers rotates rows half a head apart: the GGUF
# file has the rows of q and k in another order. In all the others the rows are as Transformers has them.
INTERLEAVED = ("granite", "llama", "smollm3")
ARCHITECTURES = tuple(sorted((*INTERLEAVED, "gemma", "gemma2", "gemma3", "phi3", "qwen2", "qwen3")))
MAX_LAYERS = 1000

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
class Base:
    path: Path
    architecture: str
    layers: int
    names: TensorNameMap
    dims: Mapping[str, tuple[int, ...]]
    """The size of every tensor, in ggml's order."""
    split: bool
    """Over several files: the others may well have a tensor that this one has not."""
    head_count: int | None
    head_count_kv: int | None

    def target(self, module: str) -> str | None:
        """The tensor that a module of the Transformers model became."""
        # Models that also see or hear keep their text model in a box of its own.
        plain = module.replace("language_model.", "").replace("text_model.", "")
        name: str | None = self.names.get_name(f"{plain}.weight", (".weight",))
        return name

    def interleaved_heads(self, module: str) -> int | None:
        """How many heads a module's rows are interleaved by; None where they are not."""
        if self.architecture not in INTERLEAVED or not module.endswith(("q_proj", "k_proj")):
            return None
        heads = self.head_count if module.endswith("q_proj") else self.head_count_kv or self.head_count
        if not heads or heads < 1:
            key = f"{self.architecture}.attention.head_count"
            raise ModelError(f"{self.path}: {key} is not one number; download or convert the model again")
        return heads


def read_base(path: Path) -> Base:
    import gguf

    header = read_model_header(path)
    name = header.text("general.architecture") or ""
    architecture = next((arch for arch, known in gguf.MODEL_ARCH_NAMES.items() if known == name), None)
    if architecture is None or name not in ARCHITECTURES:
        raise ModelError(
            f"{path}: PEFT adapters for {name} cannot be converted here, only those for "
            f"{', '.join(ARCHITECTURES)}; try llama.cpp's convert_lora_to_gguf.py"
        )
    layers = _layers(header, name)
    return Base(
        path=path,
        architecture=name,
        layers=layers,
        names=gguf.get_tensor_name_map(architecture, layers),
        dims={tensor.name: tuple(tensor.dim(index) for index in range(4)) for tensor in header.tensors},
        split=split_count(header) > 1,
        head_count=header.whole_number(f"{name}.attention.head_count"),
        head_count_kv=header.whole_number(f"{name}.attention.head_count_kv"),
    )


def _layers(header: GgufFile, architecture: str) -> int:
    layers = header.whole_number(f"{architecture}.block_count")
    if layers is None or not 0 < layers <= MAX_LAYERS:
        raise ModelError(f"{header.path}: {architecture}.block_count is {layers}; download or convert the model again")
    return layers


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
    updates: dict[str, Update] = {}
    for (module, embedding), halves in _modules(folder, weights).items():
        target = base.target(module)
        if target is None:
            _fail(folder, module, _why_unknown(module, base))
        _check_halves(folder, module, halves, config.rank(module))
        update = Update(module, target, halves["A"], halves["B"], config.alpha(module), base.interleaved_heads(module))
        if embedding is not update.flipped:
            _fail(folder, module, f"cannot change {target} this way; {OTHER_BASE}")
        if target in updates:
            _fail(folder, module, f"changes {target}, and so does {updates[target].module}; save the adapter again")
        _check_base(folder, update, base)
        updates[target] = update
    if not updates:
        raise AdapterError(f"{folder}: the adapter has no LoRA pairs; train it and save it again")
    return [updates[target] for target in sorted(updates)]


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
