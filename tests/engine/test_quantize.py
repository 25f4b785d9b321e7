"""llama.cpp's own quantizer in a child process, on toy models."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from loracheck.engine.child import ChildQuantizer
from loracheck.errors import EngineError, ModelError
from loracheck.file_types import FILE_TYPES, MAKEABLE, NEED_IMPORTANCE_MATRIX
from loracheck.files import sha256_of
from loracheck.models import chat_template, read_model, read_model_header
from models.factory import write_loadable_model, write_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.engine

NUMBERS = {name: number for number, name in FILE_TYPES.items()}


@pytest.fixture
def quantizer() -> Iterator[ChildQuantizer]:
    with ChildQuantizer(threads=1, timeout=60) as quantizer:
        yield quantizer


@pytest.fixture
def model(tmp_path: Path) -> Path:
    # As wide as the largest blocks, so that every type fits every tensor.
    return write_loadable_model(tmp_path / "model.gguf", width=256)


def test_every_type_that_we_offer_is_made_and_the_file_says_so(
    quantizer: ChildQuantizer, model: Path, tmp_path: Path
) -> None:
    for name in MAKEABLE:
        out = tmp_path / f"{name}.gguf"
        *_, written = quantizer.quantize(model, out, NUMBERS[name])
        assert read_model(out).quantization == name
        assert written == out.stat().st_size


def test_every_other_type_is_refused_by_llama_cpp_itself(
    quantizer: ChildQuantizer, model: Path, tmp_path: Path
) -> None:
    for name in NEED_IMPORTANCE_MATRIX:
        with pytest.raises(EngineError, match="this quantization requires an imatrix"):
            list(quantizer.quantize(model, tmp_path / "out.gguf", NUMBERS[name]))
    for name in {*FILE_TYPES.values()} - {*MAKEABLE, *NEED_IMPORTANCE_MATRIX}:
        with pytest.raises(EngineError, match="invalid output file type"):
            list(quantizer.quantize(model, tmp_path / "out.gguf", NUMBERS[name]))


def test_what_is_expected_is_what_comes(quantizer: ChildQuantizer, model: Path, tmp_path: Path) -> None:
    for name in ("F32", "Q8_0", "Q4_K_M", "Q2_K"):
        expected, fallbacks = quantizer.expect(model, NUMBERS[name])
        list(quantizer.quantize(model, out := tmp_path / f"{name}.gguf", NUMBERS[name]))
        # It is told in hundredths of a MiB.
        assert abs(sum(tensor.nbytes for tensor in read_model_header(out).tensors) - expected) < 0.01 * 2**20
        assert fallbacks == 0


def test_tensors_whose_rows_do_not_fit_are_counted(quantizer: ChildQuantizer, tmp_path: Path) -> None:
    narrow = write_loadable_model(tmp_path / "narrow.gguf", width=64)
    assert quantizer.expect(narrow, NUMBERS["Q4_K_M"])[1] == 14
    assert quantizer.expect(narrow, NUMBERS["Q8_0"])[1] == 0


def test_the_bytes_are_the_same_however_many_threads_made_them(model: Path, tmp_path: Path) -> None:
    hashes = set()
    for number, threads in enumerate((1, 2, 2, 3)):
        with ChildQuantizer(threads=threads, timeout=60) as quantizer:
            list(quantizer.quantize(model, out := tmp_path / f"{number}.gguf", NUMBERS["Q4_K_M"]))
        hashes.add(sha256_of(out))
    assert len(hashes) == 1


def test_slabs_leave_the_bytes_as_they_are(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from loracheck.engine import quantize

    list(quantize.quantize(model, whole := tmp_path / "whole.gguf", NUMBERS["Q2_K"], 2))
    monkeypatch.setattr(quantize, "_SLAB_BYTES", 10_000)
    list(quantize.quantize(model, in_slabs := tmp_path / "slabs.gguf", NUMBERS["Q2_K"], 2))
    assert sha256_of(whole) == sha256_of(in_slabs)


def test_the_chat_template_and_the_tokens_come_along(quantizer: ChildQuantizer, model: Path, tmp_path: Path) -> None:
    list(quantizer.quantize(model, out := tmp_path / "out.gguf", NUMBERS["Q4_0"]))
    before, after = read_model_header(model), read_model_header(out)
    assert chat_template(before) is not None
    assert chat_template(after) == chat_template(before)
    assert after.array_length("tokenizer.ggml.tokens") == before.array_length("tokenizer.ggml.tokens")


@pytest.mark.parametrize(
    ("architecture", "reason"),
    [("nonesuch", "unknown model architecture: 'nonesuch'"), ("llama", "key not found in model: llama.")],
)
def test_a_model_that_llama_cpp_does_not_know_is_refused_before_the_work(
    quantizer: ChildQuantizer, tmp_path: Path, architecture: str, reason: str
) -> None:
    strange = write_model(tmp_path / "strange.gguf", architecture=architecture)
    with pytest.raises(ModelError, match=f"strange.gguf: llama.cpp cannot make Q8_0 of this model: {reason}"):
        quantizer.expect(strange, NUMBERS["Q8_0"])


def test_numbers_that_are_none_are_an_error(quantizer: ChildQuantizer, model: Path, tmp_path: Path) -> None:
    damaged = bytearray(model.read_bytes())
    damaged[-2:] = b"\xff\xff"
    (broken := tmp_path / "broken.gguf").write_bytes(damaged)
    with pytest.raises(EngineError, match=r"could not quantize .*broken\.gguf: "):
        list(quantizer.quantize(broken, tmp_path / "out.gguf", NUMBERS["Q8_0"]))


@pytest.mark.parametrize("death", [signal.SIGABRT, signal.SIGSEGV])
def test_a_quantizer_that_crashes_is_an_error(quantizer: ChildQuantizer, model: Path, death: signal.Signals) -> None:
    quantizer.expect(model, NUMBERS["Q8_0"])
    os.kill(quantizer._child.process.pid, death)
    with pytest.raises(EngineError, match=rf"llama\.cpp crashed \({death.name}\) while looking at .*model\.gguf"):
        quantizer.expect(model, NUMBERS["Q8_0"])


def test_a_quantizer_that_hangs_is_stopped(model: Path, tmp_path: Path) -> None:
    with ChildQuantizer(threads=1, timeout=5) as quantizer:
        quantizer.expect(model, NUMBERS["Q8_0"])
        os.kill(quantizer._child.process.pid, signal.SIGSTOP)
        with pytest.raises(EngineError, match=r"no sign of life for 5 s while quantizing .*model\.gguf"):
            list(quantizer.quantize(model, tmp_path / "out.gguf", NUMBERS["Q8_0"]))


def test_only_a_file_that_grows_is_a_sign_of_life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from loracheck.engine import quantize

    out = tmp_path / "out.gguf"
    looks = iter((b"", b"a", b"a", b"a", b"ab", b"abc", b"abc"))

    class SlowWork:
        def __init__(self, target: Callable[[], None], daemon: bool) -> None:
            self._target = target

        def start(self) -> None:
            self._target()

        def is_alive(self) -> bool:
            content = next(looks, None)
            if content is not None:
                out.write_bytes(content)
            return content is not None

        def join(self, seconds: float) -> None: ...

    monkeypatch.setattr(quantize, "Thread", SlowWork)
    monkeypatch.setattr(quantize, "_call", lambda *_, threads: 0)
    assert list(quantize.quantize(tmp_path / "model.gguf", out, NUMBERS["Q8_0"], 1)) == [0, 1, 2, 3]
