"""What a base model file says about itself, and its chat template."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from loracheck.adapters.gguf_file import read_header
from loracheck.adapters.gguf_types import FILE_TYPES
from loracheck.adapters.identify import is_lora, is_model, what_it_is
from loracheck.errors import ModelError
from loracheck.prompts import ChatTemplate

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from loracheck.adapters.gguf_file import GgufFile


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """None is what the file does not say."""

    path: Path
    size: int
    architecture: str
    name: str | None
    quantization: str | None
    tensor_types: Mapping[str, int]
    """How many tensors are stored in each type, the most common first."""
    parameters: int
    n_ctx_train: int | None
    n_layers: int | None
    n_embd: int | None
    n_vocab: int | None
    has_chat_template: bool
    license: str | None
    parts: int
    """Files the model is split over. More than one: the counts above are of this part alone."""


def read_model(path: Path) -> ModelInfo:
    """Everything the header tells about a model file; ModelError when it is not one."""
    header = read_model_header(path)
    architecture = header.text("general.architecture") or ""
    file_type = header.whole_number("general.file_type")
    types = Counter(tensor.type for tensor in header.tensors)
    return ModelInfo(
        path=path,
        size=header.size,
        architecture=architecture,
        name=header.text("general.name"),
        quantization=None if file_type is None else FILE_TYPES.get(file_type),
        tensor_types=dict(types.most_common()),
        parameters=sum(prod(tensor.dims) for tensor in header.tensors),
        n_ctx_train=header.whole_number(f"{architecture}.context_length"),
        n_layers=header.whole_number(f"{architecture}.block_count"),
        n_embd=header.whole_number(f"{architecture}.embedding_length"),
        n_vocab=header.array_length("tokenizer.ggml.tokens") or header.whole_number(f"{architecture}.vocab_size"),
        has_chat_template=bool(header.text("tokenizer.chat_template")),
        license=header.text("general.license"),
        parts=parts_of(header),
    )


def read_model_header(path: Path) -> GgufFile:
    """The header of a file that can serve as a base model."""
    header = read_header(path, ModelError)
    if not is_model(header):
        fix = "give it as --adapter" if is_lora(header) else "name a model in GGUF format"
        raise ModelError(f"{path}: this is {what_it_is(header)}, not a model; {fix}")
    return header


def parts_of(header: GgufFile) -> int:
    return max(1, header.whole_number("split.count") or 1)


def chat_template(header: GgufFile) -> ChatTemplate | None:
    """The model's own template, the one for tools if it has several, and the tokens it may spell out; None without."""
    source = header.text("tokenizer.chat_template.tool_use") or header.text("tokenizer.chat_template")
    if not source:
        return None
    return ChatTemplate(source, _token(header, "bos"), _token(header, "eos"))


def _token(header: GgufFile, which: str) -> str:
    index = header.whole_number(f"tokenizer.ggml.{which}_token_id")
    text = None if index is None else header.array_item("tokenizer.ggml.tokens", index)
    return text if isinstance(text, str) else ""
