from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest

from loracheck.errors import AdapterError, InputError, ModelError
from loracheck.models import describe, read_adapter, read_header, read_model
from models.factory import write_adapter, write_model

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (
            {"kind": "model", "adapter_type": None},
            "a file of LoRA tensors without general.type 'adapter'",
        ),
        ({"adapter_type": "control_vector"}, "an adapter of type 'control_vector'"),
        ({"adapter_type": None}, "an adapter without adapter.type"),
        ({"kind": "model", "architecture": "controlvector"}, "a control vector"),
        ({"kind": "mmproj", "architecture": "clip"}, r"a multimodal projector \(mmproj\)"),
        ({"kind": "imatrix", "tensors": {}}, "a GGUF file of type 'imatrix'"),
        ({"kind": "model", "tensors": {}}, "a GGUF file without tensors"),
    ],
)
def test_a_file_that_is_neither_says_what_it_is(tmp_path: Path, settings: dict[str, Any], complaint: str) -> None:
    path = write_adapter(tmp_path / "a.gguf", **settings)
    with pytest.raises(AdapterError, match=f"this is {complaint}, not a LoRA adapter"):
        read_adapter(path)
    with pytest.raises(ModelError, match=f"this is {complaint}, not a model"):
        read_model(path)
    with pytest.raises(InputError, match=f"this is {complaint}"):
        describe(path)


def test_model_and_adapter_in_each_others_place_are_sent_back(tmp_path: Path) -> None:
    model, adapter = write_model(tmp_path / "m.gguf"), write_adapter(tmp_path / "a.gguf")
    with pytest.raises(
        AdapterError,
        match=r"a model \(llama, 9 tensors\), not a LoRA adapter; `loracheck check --base .*m.gguf --adapter ADAPTER",
    ):
        read_adapter(model)
    with pytest.raises(
        ModelError,
        match=r"this is a LoRA adapter, not a model; `loracheck check --base MODEL.gguf --adapter .*a.gguf` checks",
    ):
        read_model(adapter)


@pytest.mark.parametrize(
    ("file", "complaint"),
    [("adapter_config.json", "PEFT adapter folder"), ("config.json", "Hugging Face model folder")],
)
def test_a_training_folder_is_recognised(tmp_path: Path, file: str, complaint: str) -> None:
    (tmp_path / file).write_text("{}")
    with pytest.raises(InputError, match=complaint):
        read_header(tmp_path)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (struct.pack("<Q", 2) + b"{}", "this is a safetensors file; llama.cpp needs GGUF"),
        (b"PK\x03\x04rest", "zip archive"),
        (b"\x80\x02}q\x00.", "Python pickle"),
        (b"algg\x01\x00\x00\x00", "GGML file from before GGUF"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b"\n<!DOCTYPE html><html>", "web page"),
        (b'{"r": 8}', "JSON file"),
        ("Grüße\n".encode(), "text file"),
        (("a" * 4095 + "ü").encode(), "text file"),
        (b"\x00\xff\x00\xff", "not a GGUF file"),
        (b"GGU", "text file"),
    ],
)
def test_other_kinds_of_file_are_called_by_their_name(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(content)
    with pytest.raises(AdapterError) as caught:
        read_header(path, AdapterError)
    assert str(caught.value).startswith(f"{path}: ")
    assert complaint in str(caught.value)
