"""`loracheck convert`: a PEFT folder in, a GGUF adapter out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from adapters.factory import N_EMBD, N_VOCAB
from adapters.peft_factory import lora, write_base, write_peft
from loracheck.adapters import read_adapter

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_convert_says_what_it_wrote(loracheck: Any, tmp_path: Path) -> None:
    peft, base = write_peft(tmp_path / "peft", rank_pattern={}), write_base(tmp_path / "base.gguf")
    for extra, dtype in (((), "F32"), (("--outtype", "f16"), "F16")):
        out = tmp_path / "out.gguf"
        done = loracheck("convert", peft, "--base", base, "-o", out, *extra)
        assert done.out == f"wrote {out}: 14 pairs, rank 4, alpha 8, {out.stat().st_size:,} bytes\n"
        assert (done.code, done.err) == (0, "")
        assert read_adapter(out).dtypes == (dtype,)


def test_convert_names_what_it_leaves_out(loracheck: Any, tmp_path: Path) -> None:
    tensors = lora("lm_head", (N_VOCAB, N_EMBD))
    tensors["base_model.model.lm_head.base_layer.weight"] = np.zeros((N_VOCAB, N_EMBD))  # (vocab, embd)
    peft, base = write_peft(tmp_path / "peft", tensors), write_base(tmp_path / "base.gguf", tied=False)
    done = loracheck("convert", peft, "--base", base, "-o", tmp_path / "out.gguf")
    assert done.code == 0
    assert done.err == "left out base_model.model.lm_head.base_layer.weight: a copy of the base's own weights\n"


def test_convert_refuses_by_name_and_writes_nothing(loracheck: Any, tmp_path: Path) -> None:
    peft, base = write_peft(tmp_path / "peft", use_dora=True), write_base(tmp_path / "base.gguf")
    done = loracheck("convert", peft, "--base", base, "-o", tmp_path / "out.gguf")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"Error: {peft / 'adapter_config.json'}: use_dora is true: ")
    assert not (tmp_path / "out.gguf").exists()


def test_convert_speaks_up_when_it_takes_long(loracheck: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from loracheck.adapters.peft import convert

    def slow(*args: Any) -> Any:
        time.sleep(0.3)
        return convert(*args)

    monkeypatch.setattr("loracheck.cli.convert._PATIENCE", 0.05)
    monkeypatch.setattr("loracheck.adapters.peft.convert", slow)
    peft, base = write_peft(tmp_path / "peft"), write_base(tmp_path / "base.gguf")
    done = loracheck("convert", peft, "--base", base, "-o", tmp_path / "out.gguf")
    assert (done.code, done.err) == (0, f"converting {peft} ...\n")


def test_convert_shows_examples(loracheck: Any) -> None:
    assert "loracheck convert my-adapter --base model.gguf -o my-adapter.gguf" in loracheck("convert", "--help").out
