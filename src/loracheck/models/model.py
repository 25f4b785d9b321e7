"""A base model: what its file says about itself, its chat template, and the files that it is split over."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

from loracheck.errors import ModelError
from loracheck.file_kinds import ADAPTER
from loracheck.file_types import FILE_TYPES
from loracheck.models.gguf_file import GgufFile, read_header
from loracheck.models.identify import is_lora, is_model, what_it_is

_PART = re.compile(r"(?P<stem>.*)-\d{5}-of-(?P<count>\d{5})\.gguf")


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
    template: ChatTemplate | None
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
        template=chat_template(header),
        license=header.text("general.license"),
        parts=split_count(header),
    )


def read_model_header(path: Path) -> GgufFile:
    """The header of a file that can serve as a base model."""
    header = read_header(path, ModelError)
    if not is_model(header):
        fix = ADAPTER.way_for(path) if is_lora(header) else "name a model in GGUF format"
        raise ModelError(f"{path}: this is {what_it_is(header)}, not a model; {fix}")
    return header


def split_count(header: GgufFile) -> int:
    """How many files the model says that it is split over."""
    return max(1, header.whole_number("split.count") or 1)


def parts_of_model(path: Path) -> list[Path]:
    """The files of a model split by llama.cpp's naming, this one first; else the one file.

    Only those that exist: llama.cpp itself says which part is missing.
    """
    split = _PART.fullmatch(path.name)
    if split is None:
        return [path]
    count = int(split["count"])
    names = (f"{split['stem']}-{number:05}-of-{count:05}.gguf" for number in range(1, count + 1))
    return [path, *(part for name in names if (part := path.with_name(name)) != path and part.is_file())]


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """A model's chat template as its GGUF file carries it, and the two tokens templates like to spell out."""

    source: str
    bos_token: str = ""
    eos_token: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Variables of the user's that it is run with."""


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
