"""The files of a PEFT adapter folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loracheck.errors import AdapterError

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"

_UNREADABLE = {
    f"{WEIGHTS}.index.json": "the weights are split over several files; save the adapter with PEFT itself, as one",
    "adapter_model.bin": "the weights are a Python pickle, which can run code when it is opened; "
    "save them as safetensors: model.save_pretrained(folder, safe_serialization=True)",
}


def is_peft_folder(path: Path) -> bool:
    return (path / CONFIG).is_file()


def config_file(folder: Path) -> Path:
    if not is_peft_folder(folder):
        raise AdapterError(f"{folder}: there is no {CONFIG} here; name the folder that PEFT saved the adapter to")
    return folder / CONFIG


def weights_file(folder: Path) -> Path:
    if (folder / WEIGHTS).is_file():
        return folder / WEIGHTS
    for name, why in _UNREADABLE.items():
        if (folder / name).exists():
            raise AdapterError(f"{folder / name}: {why}")
    raise AdapterError(f"{folder}: there is no {WEIGHTS} here; save the adapter again, or finish the download")
