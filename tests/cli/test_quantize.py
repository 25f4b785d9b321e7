from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fake_quantizer import FakeQuantizer, fake_quantizer
from loracheck.file_types import MAKEABLE, NEED_IMPORTANCE_MATRIX
from models.factory import write_adapter, write_loadable_model

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cli.conftest import Done


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_loadable_model(tmp_path / "model.gguf")


@pytest.fixture(autouse=True)
def quantizer(monkeypatch: pytest.MonkeyPatch) -> type[FakeQuantizer]:
    quantizer = fake_quantizer()
    monkeypatch.setattr("loracheck.quantized.ChildQuantizer", quantizer)
    return quantizer


def test_quantize_tells_size_and_place_first_and_what_it_wrote_last(
    loracheck: Callable[..., Done], model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.gguf"
    done = loracheck("quantize", model, "--to", "q4_k_m", "-o", out)
    assert (done.code, done.out) == (0, f"wrote {out}: Q4_K_M, {out.stat().st_size:,} bytes\n")
    first, *bar = done.err.splitlines()
    assert first.startswith(f"quantizing {model} to Q4_K_M: about ")
    assert first.endswith(f" in {out}")
    assert bar[-1] == "  100%"
    again = loracheck("quantize", model, "--to", "Q4_K_M", "-o", out, "--force", "--quiet")
    assert (again.code, again.err) == (0, "")


def test_help_lists_every_type_that_can_be_made_and_no_other(loracheck: Callable[..., Done]) -> None:
    done = loracheck("quantize", "--help")
    words = {*done.out.replace(",", " ").replace(".", " ").split()}
    assert {*MAKEABLE} <= words
    assert not words & {*NEED_IMPORTANCE_MATRIX}


@pytest.mark.parametrize(
    ("to", "why"),
    [
        ("IQ2_XXS", "IQ2_XXS needs an importance matrix"),
        ("iq1_s", "IQ1_S needs an importance matrix"),
        ("NVFP4", "NVFP4 is none that llama.cpp's quantizer can make"),
        ("Q4_KM", "no quantization 'Q4_KM'; did you mean 'Q4_K_M'?"),
    ],
)
def test_a_type_that_cannot_be_made_is_refused_by_name(
    loracheck: Callable[..., Done], model: Path, tmp_path: Path, to: str, why: str
) -> None:
    done = loracheck("quantize", model, "--to", to, "-o", tmp_path / "out.gguf")
    assert done.code == 2
    assert why in " ".join(done.err.split())


def test_bad_input_ends_with_exit_code_2_and_nothing_is_written(
    loracheck: Callable[..., Done], quantizer: type[FakeQuantizer], model: Path, tmp_path: Path
) -> None:
    (there := tmp_path / "there.gguf").write_bytes(b"mine")
    adapter = write_adapter(tmp_path / "adapter.gguf")
    out = tmp_path / "out.gguf"
    for source, target, why in (
        (model, there, "there.gguf: there is such a file already; --force replaces it"),
        (model, model, "this is the model that is to be quantized"),
        (adapter, out, "this is a LoRA adapter, not a model"),
        (tmp_path / "missing.gguf", out, "there is no such file"),
    ):
        done = loracheck("quantize", source, "--to", "Q4_0", "-o", target)
        assert done.code == 2
        assert why in done.err
    assert quantizer.made == []
    assert there.read_bytes() == b"mine"
    assert not out.exists()


def test_an_interrupt_is_exit_code_130_and_leaves_nothing(
    loracheck: Callable[..., Done], quantizer: type[FakeQuantizer], model: Path, tmp_path: Path
) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    quantizer.halfway = stop
    done = loracheck("quantize", model, "--to", "Q4_0", "-o", tmp_path / "out.gguf")
    assert done.code == 130
    assert done.err.splitlines()[-1] == "Interrupted."
    assert [path.name for path in tmp_path.iterdir()] == ["model.gguf"]
