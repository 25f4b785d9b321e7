"""What a converter must know about the base: the names, sizes and heads of its tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from loracheck.adapters.model import parts_of, read_model_header
from loracheck.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gguf.tensor_mapping import TensorNameMap

    from loracheck.adapters.gguf_file import GgufFile

# In these llama.cpp rotates neighbouring rows of a head, where Transformers rotates rows half a head apart: the GGUF
# file has the rows of q and k in another order. In all the others the rows are as Transformers has them.
INTERLEAVED = ("granite", "llama", "smollm3")
ARCHITECTURES = tuple(sorted((*INTERLEAVED, "gemma", "gemma2", "gemma3", "phi3", "qwen2", "qwen3")))
MAX_LAYERS = 1000


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
        split=parts_of(header) > 1,
        head_count=header.whole_number(f"{name}.attention.head_count"),
        head_count_kv=header.whole_number(f"{name}.attention.head_count_kv"),
    )


def _layers(header: GgufFile, architecture: str) -> int:
    layers = header.whole_number(f"{architecture}.block_count")
    if layers is None or not 0 < layers <= MAX_LAYERS:
        raise ModelError(f"{header.path}: {architecture}.block_count is {layers}; download or convert the model again")
    return layers
