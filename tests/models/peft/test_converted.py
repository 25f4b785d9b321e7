"""PEFT folders converted on the fly, kept by content."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from loracheck.errors import AdapterError, InputError
from loracheck.models.peft import convert, converted, source_hashes
from models.peft_factory import every_module, write_base, write_peft

if TYPE_CHECKING:
    from pathlib import Path


def test_the_second_time_the_file_is_there_already(tmp_path: Path, cache_folder: Path) -> None:
    peft, base = write_peft(tmp_path / "peft"), write_base(tmp_path / "base.gguf")
    first = converted(peft, base).gguf
    convert(peft, base, tmp_path / "out.gguf")
    assert first.parent == cache_folder / "converted"
    assert first.read_bytes() == (tmp_path / "out.gguf").read_bytes()
    written = first.stat().st_mtime_ns
    assert (converted(peft, base).gguf, first.stat().st_mtime_ns) == (first, written)


def test_the_files_it_was_made_from_are_known_by_their_digests(tmp_path: Path) -> None:
    peft, base = write_peft(tmp_path / "peft"), write_base(tmp_path / "base.gguf")
    digests = {
        name: hashlib.sha256((peft / name).read_bytes()).hexdigest()
        for name in ("adapter_config.json", "adapter_model.safetensors")
    }
    made, served = converted(peft, base), converted(peft, base)
    assert made.sources == served.sources == source_hashes(peft) == digests


def test_a_retrained_adapter_in_the_same_folder_is_converted_again(tmp_path: Path) -> None:
    base = write_base(tmp_path / "base.gguf")
    paths = {
        converted(write_peft(tmp_path / "peft"), base).gguf,
        converted(write_peft(tmp_path / "peft", lora_alpha=4), base).gguf,
        converted(write_peft(tmp_path / "peft", every_module(rank=2), r=2), base).gguf,
    }
    assert len(paths) == 3


def test_another_kind_of_base_is_another_file(tmp_path: Path) -> None:
    peft = write_peft(tmp_path / "peft")
    bases = [
        write_base(tmp_path / "llama.gguf"),
        write_base(tmp_path / "heads.gguf", heads=(2, 2)),
        write_base(tmp_path / "kv.gguf", heads=(4, 4)),
        write_base(tmp_path / "qwen.gguf", "qwen2"),
    ]
    assert len({converted(peft, base).gguf.read_bytes() for base in bases}) == len(bases)


def test_a_base_that_does_not_fit_is_refused_even_when_another_has_been_served(tmp_path: Path) -> None:
    peft = write_peft(tmp_path / "peft")
    converted(peft, write_base(tmp_path / "llama.gguf"))
    with pytest.raises(AdapterError, match="fused"):
        converted(peft, write_base(tmp_path / "phi.gguf", "phi3"))


def test_a_cache_that_cannot_be_made_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    peft, base = write_peft(tmp_path / "peft"), write_base(tmp_path / "base.gguf")
    monkeypatch.setenv("LORACHECK_CACHE", str(base))
    with pytest.raises(InputError, match="LORACHECK_CACHE moves it"):
        converted(peft, base)
