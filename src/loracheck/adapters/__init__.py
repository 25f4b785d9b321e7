"""GGUF files: LoRA adapters described, checked against a base, and imitated in noise."""

from loracheck.adapters.describe import describe, sha256_of
from loracheck.adapters.fits import check_fits
from loracheck.adapters.gguf_file import GgufFile, TensorInfo, read_header
from loracheck.adapters.lora import AdapterInfo, read_adapter
from loracheck.adapters.model import ModelInfo, chat_template, read_model, read_model_header
from loracheck.adapters.null import write_null
from loracheck.adapters.pairs import Pair

__all__ = [
    "AdapterInfo",
    "GgufFile",
    "ModelInfo",
    "Pair",
    "TensorInfo",
    "chat_template",
    "check_fits",
    "describe",
    "read_adapter",
    "read_header",
    "read_model",
    "read_model_header",
    "sha256_of",
    "write_null",
]
