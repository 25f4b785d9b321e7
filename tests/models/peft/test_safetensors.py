"""safetensors files, sound and damaged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loracheck.errors import AdapterError
from loracheck.models.peft.safetensors import read_weights, values
from models.peft_factory import stored, write_safetensors

if TYPE_CHECKING:
    from pathlib import Path


def header(**entries: Any) -> bytes:
    spelled = json.dumps(entries).encode()
    return len(spelled).to_bytes(8, "little") + spelled


F32 = {"dtype": "F32", "shape": [2]}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "does not fit"),
        (b"\xff" * 8, "does not fit"),
        (b"\x02" + b"\0" * 7 + b"{}x", "its tensors end at byte 10, the file at 11"),
        (b"\x02" + b"\0" * 7 + b"[]", "not a table"),
        (b"\x04" + b"\0" * 7 + b"\xff\xff\xff\xff", "not JSON"),
        (header(x={**F32, "data_offsets": [0, 8]}), "end at byte"),
        (header(x={**F32, "data_offsets": [0, 4]}) + bytes(4), "which is not F32 of shape [2]"),
        (header(x={**F32, "data_offsets": [8, 0]}) + bytes(8), "which is not F32 of shape [2]"),
        (header(x={**F32, "data_offsets": [-8, 0]}) + bytes(8), "malformed"),
        (header(x={**F32, "data_offsets": [0]}) + bytes(8), "malformed"),
        (header(x={**F32, "shape": [2.0], "data_offsets": [0, 8]}) + bytes(8), "malformed"),
        (header(x={**F32, "shape": [True], "data_offsets": [0, 4]}) + bytes(4), "malformed"),
        (header(x=None), "malformed"),
        (header(x={"dtype": "I8", "shape": [2], "data_offsets": [0, 2]}) + bytes(2), "stored as I8"),
        (header(x={**F32, "data_offsets": [4, 12]}) + bytes(12), "starts at byte"),
        (
            header(x={**F32, "data_offsets": [0, 8]}, y={**F32, "data_offsets": [4, 12]}) + bytes(12),
            "the tensor 'y' starts at byte",
        ),
        (b"\x0f" + b"\0" * 7 + b'{"x":1,"x":1  }', "names a tensor twice"),
    ],
)
def test_damaged_safetensors_are_named(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "adapter_model.safetensors"
    path.write_bytes(content)
    with pytest.raises(AdapterError, match=r"adapter_model\.safetensors: ") as caught:
        read_weights(path)
    assert complaint in str(caught.value)


@given(bits=st.lists(st.integers(0, 2**16 - 1), min_size=1, max_size=20))
def test_bfloat16_is_the_upper_half_of_a_float32(tmp_path_factory: pytest.TempPathFactory, bits: list[int]) -> None:
    wide = (np.array(bits, np.uint32) << np.uint32(16)).view(np.float32)
    path = tmp_path_factory.mktemp("bf16") / "weights.safetensors"
    write_safetensors(path, {"x": wide}, "BF16")
    assert values(read_weights(path)["x"]).tobytes() == wide.tobytes()


@given(data=st.data())
def test_whatever_the_bytes_are_there_is_an_answer_or_an_adapter_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "x.safetensors"
    write_safetensors(path, {"a": np.zeros((2, 3)), "b": np.zeros(4)}, "BF16")
    raw = bytearray(path.read_bytes())
    for at in data.draw(st.lists(st.integers(0, len(raw) - 1), max_size=4)):
        raw[at] = data.draw(st.integers(0, 255))
    path.write_bytes(raw[: data.draw(st.integers(0, len(raw)))] if data.draw(st.booleans()) else raw)
    try:
        for weight in read_weights(path).values():
            values(weight)
    except AdapterError as problem:
        assert str(path) in str(problem)  # noqa: PT017


def test_the_factory_cuts_bfloat16_as_the_format_does() -> None:
    assert stored(np.array([1.0, -2.0], np.float32), "BF16") == b"\x80\x3f\x00\xc0"
