"""What a file is, GGUF or not, so that a message can call a wrong one by its name and show the way out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loracheck.errors import ModelError
from loracheck.file_kinds import PEFT, kind_of, kind_of_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.errors import InputError
    from loracheck.models.gguf_file import GgufFile

_LORA_SUFFIXES = (".lora_a", ".lora_b")

# Architectures of files that llama.cpp uses beside a model.
_NOT_MODELS = {"clip": "a multimodal projector (mmproj)", "controlvector": "a control vector"}

_CONVERT_ADAPTER = "convert it with `loracheck convert`"
_CONVERT_MODEL = "convert it with llama.cpp's convert_hf_to_gguf.py"

# Long before GGUF, llama.cpp wrote these; the letters are in file order.
_OLD_MAGICS = (b"algg", b"lmgg", b"fmgg", b"tjgg")
_ZIP = b"PK\x03\x04"
_PAGE_STARTS = (b"<!doctype", b"<html")


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


def describe_folder(path: Path, wanted: type[InputError]) -> str:
    """What the folder holds and how to get a GGUF file out of it; with `wanted` a ModelError, one of a model."""
    if kind_of(path) is PEFT:
        if wanted is ModelError:
            return f"this is {PEFT.name}, not a model; {PEFT.way_for(path)}"
        return f"this is {PEFT.name}; {_CONVERT_ADAPTER}"
    if (path / "config.json").is_file():
        return f"this is a Hugging Face model folder; {_CONVERT_MODEL}"
    files = sorted(entry.name for entry in path.glob("*.gguf"))
    if files:
        return f"this is a folder; name the file in it, such as {files[0]}"
    return "this is a folder; name a GGUF file"


def describe_bytes(path: Path, head: bytes, size: int) -> str:
    """What a file that starts with `head` looks like, and how to get a GGUF file out of it."""
    if _is_safetensors(head, size):
        return (
            "this is a safetensors file; llama.cpp needs GGUF: "
            f"for an adapter {_CONVERT_ADAPTER}, for a model {_CONVERT_MODEL}"
        )
    if head[:4] in _OLD_MAGICS:
        return "this is a GGML file from before GGUF; convert the original again"
    if head.startswith(_ZIP):
        return "this is a zip archive (or a PyTorch checkpoint); unpack it, or convert it to GGUF"
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "this is a Python pickle (an old PyTorch checkpoint); llama.cpp needs GGUF: convert it"
    if head.startswith(b"version https://git-lfs"):
        return "this is a Git LFS pointer, not the file itself; fetch it with `git lfs pull`"
    if head[:64].lstrip().lower().startswith(_PAGE_STARTS):
        return "this is a web page, not the file; the download link was wrong or needs a login"
    if kind := kind_of_bytes(head):
        return f"this is {kind.name}; {kind.way_for(path)}"
    if head[:32].lstrip().startswith(b"{"):
        return "this is a JSON file; name the GGUF file"
    if _is_text(head):
        return "this is a text file; name the GGUF file"
    return "this is not a GGUF file; name a GGUF file or download it again"


def _is_safetensors(head: bytes, size: int) -> bool:
    # Eight bytes of length, then that many bytes of JSON.
    return head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= size - 8


def _is_text(head: bytes) -> bool:
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        # The head may have cut the last character in two.
        if error.start < len(head) - 3:
            return False
        text = head[: error.start].decode("utf-8")
    return bool(text) and all(char.isprintable() or char in "\t\r\n\f" for char in text)
