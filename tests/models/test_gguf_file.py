from __future__ import annotations

import hashlib
import os
import struct
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from gguf import GGUFReader

from loracheck.errors import AdapterError, InputError
from loracheck.files import sha256_of
from loracheck.models.gguf_cursor import LongArray
from loracheck.models.gguf_file import read_header
from loracheck.models.measure import tensor_data
from models.damaged_gguf import DAMAGED, gguf, string, tensor
from models.factory import N_VOCAB, lora_tensors, write_adapter, write_model
from real import BASE, needs_base

if TYPE_CHECKING:
    from pathlib import Path


def refusal(tmp_path: Path, content: bytes) -> str:
    path = tmp_path / "x.gguf"
    path.write_bytes(content)
    with pytest.raises(AdapterError) as caught:
        read_header(path, AdapterError)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    return message


def test_the_header_agrees_with_the_gguf_package(tmp_path: Path) -> None:
    path = write_model(tmp_path / "m.gguf")
    ours, theirs = read_header(path), GGUFReader(path)
    assert [(t.name, list(t.dims), t.type, t.nbytes) for t in ours.tensors] == [
        (t.name, t.shape.tolist(), t.tensor_type.name, int(t.n_bytes)) for t in theirs.tensors
    ]
    assert [ours.data_offset + t.offset for t in ours.tensors] == [int(t.data_offset) for t in theirs.tensors]
    for key, value in ours.metadata.items():
        if not isinstance(value, LongArray):
            assert value == theirs.fields[key].contents()


def test_long_arrays_stay_in_the_file_and_give_single_items(tmp_path: Path) -> None:
    header = read_header(write_model(tmp_path / "m.gguf"))
    assert header.array_length("tokenizer.ggml.tokens") == N_VOCAB
    assert isinstance(header.metadata["tokenizer.ggml.tokens"], LongArray)
    assert header.array_item("tokenizer.ggml.tokens", 0) == "<0>"
    assert header.array_item("tokenizer.ggml.tokens", 99) == "<99>"
    assert header.array_item("tokenizer.ggml.token_type", 99) == 1
    assert header.array_item("tokenizer.ggml.tokens", 100) is None
    assert header.array_item("tokenizer.ggml.tokens", -1) is None
    assert header.array_item("general.name", 0) is None


def test_a_type_nobody_dequantizes_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(gguf(tensors=(tensor(dims=(256,), kind=15),), data=bytes(292)))
    header = read_header(path, AdapterError)
    with pytest.raises(AdapterError, match="t is stored as Q8_K"):
        tensor_data(header, header.tensors[0])


def test_a_file_that_shrinks_after_its_header_was_read_is_an_input_error(tmp_path: Path) -> None:
    path = write_model(tmp_path / "m.gguf")
    header = read_header(path)
    os.truncate(path, 600)
    with pytest.raises(InputError, match="changed while"):
        tensor_data(header, header.tensors[-1])
    with pytest.raises(InputError, match="ends after 600 bytes"):
        header.array_item("tokenizer.ggml.tokens", 99)


def test_a_missing_file_a_folder_and_an_empty_file_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_header(tmp_path / "nowhere.gguf")
    with pytest.raises(InputError, match="this is a folder; name a GGUF file"):
        read_header(tmp_path)
    assert "the file is empty" in refusal(tmp_path, b"")
    with pytest.raises(InputError, match=r"such as x\.gguf"):
        read_header(tmp_path)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="not a regular file"):
        read_header(tmp_path / "pipe")


@pytest.mark.parametrize(("content", "complaint"), DAMAGED)
def test_damage_is_named(tmp_path: Path, content: bytes, complaint: str) -> None:
    assert complaint in refusal(tmp_path, content)


def test_version_two_and_values_that_are_not_utf8_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    value = string(b"k") + struct.pack("<I", 8) + string(b"a\xff")
    path.write_bytes(gguf(value, version=2, tensors=(tensor(),), data=bytes(32)))
    header = read_header(path)
    assert (header.version, header.text("k"), header.tensors[0].nbytes) == (2, "a\ufffd", 32)


def test_zeros_up_to_the_end_of_a_page_are_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(gguf(tensors=(tensor(),), data=bytes(4096)))
    assert len(read_header(path).tensors) == 1


def test_importing_the_package_loads_neither_gguf_nor_numpy() -> None:
    code = (
        "import sys, loracheck.models; print([m for m in ('gguf', 'numpy', 'jinja2', 'llama_cpp') if m in sys.modules])"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert child.stdout.strip() == "[]"


def test_a_tensor_of_every_lora_pair_is_listed_in_file_order(tmp_path: Path) -> None:
    header = read_header(write_adapter(tmp_path / "a.gguf"))
    assert [t.name for t in header.tensors] == list(lora_tensors())


def test_the_digest_is_that_of_the_whole_file(tmp_path: Path) -> None:
    path = write_adapter(tmp_path / "a.gguf")
    assert sha256_of(path) == hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(AdapterError, match="No such file"):
        sha256_of(tmp_path / "b.gguf", AdapterError)


@needs_base
def test_the_vocabulary_of_a_real_model_stays_in_its_file() -> None:
    header = read_header(BASE)
    assert isinstance(header.metadata["tokenizer.ggml.tokens"], LongArray)
    assert header.metadata["llama.embedding_length"] == 576
    assert header.array_length("tokenizer.ggml.tokens") == 49152
    assert len(header.tensors) == 272
    norm = next(t for t in header.tensors if t.name == "blk.0.attn_norm.weight")
    assert tensor_data(header, norm).shape == (576,)
