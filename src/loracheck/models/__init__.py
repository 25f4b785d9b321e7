"""Files of weights: GGUF models and LoRA adapters read, checked against each other, and imitated by null adapters."""

from __future__ import annotations

from pathlib import Path

from loracheck.models.gguf_file import GgufFile, read_header
from loracheck.models.identify import is_adapter
from loracheck.models.lora import LoraFile, check_fits, read_lora
from loracheck.models.measure import AdapterInfo, measure_adapter, read_adapter
from loracheck.models.model import ChatTemplate, ModelInfo, chat_template, parts_of_model, read_model, read_model_header
from loracheck.models.null import write_null
from loracheck.models.vocabulary import is_same_tokenizer, vocabulary_difference

__all__ = [
    "AdapterInfo",
    "ChatTemplate",
    "GgufFile",
    "LoraFile",
    "ModelInfo",
    "chat_template",
    "check_fits",
    "describe",
    "is_same_tokenizer",
    "measure_adapter",
    "parts_of_model",
    "read_adapter",
    "read_header",
    "read_lora",
    "read_model",
    "read_model_header",
    "vocabulary_difference",
    "write_null",
]


def describe(path: Path) -> AdapterInfo | ModelInfo:
    """The facts about a GGUF file, whichever of the two it is."""
    return read_adapter(path) if is_adapter(read_header(path)) else read_model(path)
