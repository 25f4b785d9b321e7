"""What a GGUF file is for, so that a wrong one can be called by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loracheck.adapters.gguf_file import GgufFile

_LORA_SUFFIXES = (".lora_a", ".lora_b")

# Architectures of files that llama.cpp uses beside a model.
_NOT_MODELS = {
    "clip": "a multimodal projector (mmproj)",
    "controlvector": "a control vector",
}


def is_adapter(header: GgufFile) -> bool:
    return header.text("general.type") == "adapter"


def is_lora(header: GgufFile) -> bool:
    return is_adapter(header) and header.text("adapter.type") == "lora"


def is_model(header: GgufFile) -> bool:
    architecture = header.text("general.architecture")
    return (
        bool(header.tensors)
        and header.text("general.type") in (None, "model")
        and architecture not in (None, "", *_NOT_MODELS)
        and not _has_lora_tensors(header)
    )


def what_it_is(header: GgufFile) -> str:
    """A few words that finish the sentence "this file is ..."."""
    kind = header.text("general.type")
    architecture = header.text("general.architecture")
    if is_model(header):
        return f"a model ({architecture}, {len(header.tensors)} tensors)"
    if kind == "adapter":
        adapter = header.text("adapter.type")
        if adapter == "lora":
            return "a LoRA adapter"
        return f"an adapter of type {adapter!r}" if adapter else "an adapter without adapter.type"
    if architecture in _NOT_MODELS:
        return _NOT_MODELS[architecture]
    if _has_lora_tensors(header):
        return "a file of LoRA tensors without general.type 'adapter'"
    if kind not in (None, "model"):
        return f"a GGUF file of type {kind!r}"
    if not header.tensors:
        return "a GGUF file without tensors"
    return "a GGUF file without general.architecture"


def _has_lora_tensors(header: GgufFile) -> bool:
    return any(tensor.name.endswith(_LORA_SUFFIXES) for tensor in header.tensors)
