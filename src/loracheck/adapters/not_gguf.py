"""What a file that should have been GGUF really is, so that the message can name the way out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

CONVERT_ADAPTER = "convert it with `loracheck convert`"
CONVERT_MODEL = "convert it with llama.cpp's convert_hf_to_gguf.py"

# Long before GGUF, llama.cpp wrote these; the letters are in file order.
_OLD_MAGICS = (b"algg", b"lmgg", b"fmgg", b"tjgg")
_ZIP = b"PK\x03\x04"
_PAGE_STARTS = (b"<!doctype", b"<html")


def describe_folder(path: Path) -> str:
    """What the folder holds and how to get a GGUF file out of it."""
    if (path / "adapter_config.json").is_file():
        return f"this is a PEFT adapter folder; {CONVERT_ADAPTER}"
    if (path / "config.json").is_file():
        return f"this is a Hugging Face model folder; {CONVERT_MODEL}"
    files = sorted(entry.name for entry in path.glob("*.gguf"))
    if files:
        return f"this is a folder; name the file in it, such as {files[0]}"
    return "this is a folder; name a GGUF file"


def describe_bytes(head: bytes, size: int) -> str:
    """What a file that starts with `head` looks like, and how to get a GGUF file out of it."""
    if _is_safetensors(head, size):
        return (
            "this is a safetensors file; llama.cpp needs GGUF: "
            f"for an adapter {CONVERT_ADAPTER}, for a model {CONVERT_MODEL}"
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
