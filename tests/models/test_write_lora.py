from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import numpy as np
import pytest

from loracheck.errors import InputError
from loracheck.models import check_fits, read_adapter, read_header
from loracheck.models.write_lora import NewLora, NewTensor, write_lora
from models.factory import lora_tensors, write_model

if TYPE_CHECKING:
    from pathlib import Path

TENSORS = {name: tensor.astype("<f2") for name, tensor in lora_tensors().items()}
LORA = NewLora("llama", "mine", 4.0, tuple(NewTensor(name, tensor.shape, "<f2") for name, tensor in TENSORS.items()))


def test_what_is_written_is_an_adapter_that_fits_its_base(tmp_path: Path) -> None:
    write_lora(tmp_path / "a.gguf", LORA, TENSORS.values(), ())
    info = read_adapter(tmp_path / "a.gguf")
    assert (info.architecture, info.name, info.alpha, info.dtypes) == ("llama", "mine", 4.0, ("F16",))
    assert info.max_abs == max(float(np.abs(tensor).max()) for tensor in TENSORS.values())
    assert not info.alora
    check_fits(info, read_header(write_model(tmp_path / "m.gguf")))


def test_a_pipe_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="this is not a regular file"):
        write_lora(tmp_path / "pipe", LORA, TENSORS.values(), ())
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
