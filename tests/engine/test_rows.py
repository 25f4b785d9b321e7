from __future__ import annotations

import platform
from pathlib import Path

import pytest

from loracheck.engine.rows import Rows, promised_rows, rows_of
from loracheck.models.gguf_file import GgufFile, TensorInfo


@pytest.mark.parametrize(
    ("live", "rows"), [(1, 8), (7, 8), (8, 8), (9, 12), (12, 12), (13, 16), (16, 16)], ids=lambda number: str(number)
)
def test_a_step_has_whole_tiles_and_eight_rows_at_the_least(live: int, rows: int) -> None:
    assert Rows(8, 4).holding(live, 16) == rows


@pytest.mark.parametrize("width", [1, 3, 6, 7, 10, 15])
def test_a_width_that_is_no_number_of_tiles_never_shrinks(width: int) -> None:
    assert [Rows(8, 4).holding(live, width) for live in range(1, width + 1)] == [width] * width


def test_a_step_never_has_more_rows_than_there_are_streams() -> None:
    assert Rows(2, 1).holding(1, 1) == 1
    assert [Rows(2, 1).holding(live, 4) for live in (1, 2, 3, 4)] == [2, 2, 3, 4]


def a_model(
    *layer_types: str, output: str | None = None, embeddings: str = "Q8_0", architecture: str = "llama"
) -> GgufFile:
    """Its norms are F32, whatever its layers are. Without an output of their own, the embeddings are that too."""
    tensors = [
        TensorInfo("token_embd.weight", (64, 99), embeddings, 0, 1),
        *([TensorInfo("output.weight", (64, 99), output, 0, 1)] if output else []),
        TensorInfo("blk.0.attn_norm.weight", (64,), "F32", 0, 1),
        *(TensorInfo(f"blk.0.matrix{i}.weight", (64, 64), name, 0, 1) for i, name in enumerate(layer_types)),
    ]
    return GgufFile(Path("model.gguf"), 3, {"general.architecture": architecture}, {}, tuple(tensors), 0, 0)


@pytest.fixture
def on_x86(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")


@pytest.mark.usefixtures("on_x86")
@pytest.mark.parametrize(
    ("types", "rows"),
    [
        (("Q4_1",), Rows(2, 1)),
        (("Q4_1", "Q5_1"), Rows(2, 1)),
        (("Q6_K",), Rows(8, 4)),
        (("Q4_K", "Q6_K"), Rows(8, 4)),
        (("Q4_1", "F16"), Rows(8, 4)),
        (("Q8_0",), Rows(8, 4)),
        (("TYPE_OF_TOMORROW",), Rows(8, 4)),
    ],
)
def test_what_the_layers_are_stored_as_decides(types: tuple[str, ...], rows: Rows) -> None:
    assert rows_of(a_model(*types), gpu_layers=0, width=12) == rows


@pytest.mark.usefixtures("on_x86")
@pytest.mark.parametrize(("output", "rows"), [("Q8_0", Rows(2, 1)), ("F16", Rows(2, 1)), ("Q6_K", Rows(8, 4))])
def test_so_does_what_makes_the_logits(output: str, rows: Rows) -> None:
    assert promised_rows(a_model("Q4_1", output=output), gpu_layers=0) == rows
    assert promised_rows(a_model("Q4_1", embeddings=output), gpu_layers=0) == rows
    assert promised_rows(a_model("Q4_1", output="Q8_0", embeddings=output), gpu_layers=0) == Rows(2, 1)


@pytest.mark.usefixtures("on_x86")
@pytest.mark.parametrize("gpu_layers", [1, -1])
def test_a_gpu_promises_nothing_so_its_steps_are_all_alike(gpu_layers: int) -> None:
    rows = rows_of(a_model("Q4_1"), gpu_layers=gpu_layers, width=12)
    assert [rows.holding(live, 12) for live in (1, 5, 12)] == [12, 12, 12]


@pytest.mark.usefixtures("on_x86")
def test_a_model_without_flash_attention_promises_nothing() -> None:
    assert promised_rows(a_model("Q8_0"), gpu_layers=0) == Rows(8, 4)
    assert promised_rows(a_model("Q8_0", architecture="grok"), gpu_layers=0) is None


def test_another_processor_promises_nothing_so_its_steps_are_all_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    rows = rows_of(a_model("Q4_1"), gpu_layers=0, width=8)
    assert [rows.holding(live, 8) for live in (1, 5, 8)] == [8, 8, 8]
