"""What a user sees when a file is not what it should be, beside the real model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gguf
import numpy as np
import pytest

from loracheck.cli.main import run
from loracheck.engine.fake import FakeEngine
from loracheck.models.null import write_null
from models.factory import write_adapter
from real import BASE, TOOLCALLER, needs_base

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.engine import Engine

pytestmark = needs_base


def changed_copy(path: Path, change: str) -> Path:
    """The shape of the real adapter with every B set to zero, or to NaN in one place."""
    reader = gguf.GGUFReader(TOOLCALLER)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", 8.0)
    for tensor in reader.tensors:
        data = np.array(tensor.data)
        if tensor.name.endswith("lora_b"):
            data[...] = 0
        if change == "nan" and tensor.name.startswith("blk.3.attn_q"):
            data[0, 0] = np.nan
        writer.add_tensor(tensor.name, data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def check(
    adapter: Path, capfd: pytest.CaptureFixture[str], base: Path = BASE, engine: Engine | None = None
) -> tuple[int, str]:
    code = run(["check", "--base", str(base), "--adapter", str(adapter), "--quiet", "--no-null"], engine)
    out, err = capfd.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return code, err


def never_asked() -> FakeEngine:
    """For what is refused before a model would be loaded."""
    engine = FakeEngine(lambda view, prompt: pytest.fail("it was asked"))
    engine.fingerprint = lambda view, text: pytest.fail("it was asked")  # type: ignore[method-assign]
    return engine


@pytest.mark.engine
def test_an_adapter_of_zeros_ends_with_exit_code_4_and_says_what_was_tried(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, err = check(changed_copy(tmp_path / "zero.gguf", "zero"), capfd)
    assert code == 4
    assert "no effect" in err
    assert "210 tensor pairs matched" in err
    assert "scale 1" in err
    assert "norm of the update 0," in err


@pytest.mark.engine
def test_an_adapter_with_nan_is_an_engine_error_that_names_the_view_and_the_tensor(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, err = check(changed_copy(tmp_path / "nan.gguf", "nan"), capfd)
    assert code == 3
    assert "adapter view" in err
    assert "blk.3.attn_q.weight.lora_a" in err


def test_an_adapter_of_another_shape_is_refused_with_both_shapes(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, err = check(write_adapter(tmp_path / "other.gguf"), capfd, engine=never_asked())
    assert code == 2
    assert "blk.0.attn_q.weight is 64x64, the base needs 576x576" in err


def test_a_truncated_adapter_a_text_file_a_missing_file_and_a_model_are_each_called_by_name(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(TOOLCALLER.read_bytes()[:100_000])
    text = tmp_path / "notes.gguf"
    text.write_text("these are my notes")
    for file, says in (
        (cut, "cut.gguf"),
        (text, "text"),
        (tmp_path / "missing.gguf", "missing.gguf"),
        (BASE, "not a LoRA adapter; `loracheck check --base "),
    ):
        code, err = check(file, capfd, engine=never_asked())
        assert code == 2, file
        assert says in err


@pytest.mark.engine
def test_a_damaged_model_is_an_error_with_the_words_of_llama_cpp_or_ours(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut-model.gguf"
    cut.write_bytes(BASE.read_bytes()[:5_000_000])
    code, err = check(TOOLCALLER, capfd, base=cut)
    assert code in (2, 3)
    assert "cut-model.gguf" in err


@pytest.mark.engine
def test_a_null_adapter_can_be_checked_like_any_other(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    null_adapter = write_null(TOOLCALLER, tmp_path / "null.gguf", seed=3)
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"prompt": "Add 2 and 2.", "tool_spec": {"name": "add"}, "max_new_tokens": 8}\n')
    arguments = ["check", "--base", str(BASE), "--adapter", str(null_adapter), "--cases", str(cases), "--no-null", "-q"]
    assert run(arguments) == 0
    assert "WARN  tools_intact  nothing was compared" in capfd.readouterr().out
