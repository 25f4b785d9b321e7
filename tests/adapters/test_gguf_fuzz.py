"""Whatever the bytes are, the only exceptions are ours."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.factory import lora_tensors, write_adapter, write_model
from loracheck.adapters import (
    AdapterInfo,
    chat_template,
    check_fits,
    describe,
    read_header,
    read_model_header,
    write_null,
)
from loracheck.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def adapter_bytes(folder: Path) -> bytes:
    return write_adapter(folder / "good-adapter.gguf", lora_tensors(layers=1)).read_bytes()


@pytest.fixture(scope="module")
def model_bytes(folder: Path) -> bytes:
    template = [("add_string", "tokenizer.chat_template", "{{ messages }}")]
    return write_model(folder / "good-model.gguf", extra=template).read_bytes()


def use_everything(folder: Path, content: bytes) -> bool:
    """Push the bytes through all that reads files; whether they were taken without complaint."""
    path = folder / "bad.gguf"
    path.write_bytes(content)
    try:
        header = read_header(path)
        chat_template(header)
        info = describe(path)
        if isinstance(info, AdapterInfo):
            write_null(path, folder / "null.gguf", seed=1)
            check_fits(info, read_model_header(folder / "good-model.gguf"))
    except InputError as error:
        return complaint_names_the_file(error, path)
    return True


def complaint_names_the_file(error: InputError, path: Path) -> bool:
    assert str(path) in str(error)
    return False


def test_a_file_cut_off_anywhere_is_refused(folder: Path, adapter_bytes: bytes, model_bytes: bytes) -> None:
    for content in (adapter_bytes, model_bytes):
        header_cuts = range(0, 1200, 7)
        data_cuts = range(1200, len(content) - 32, 2003)
        for cut in [*header_cuts, *data_cuts]:
            assert not use_everything(folder, content[:cut]), cut


@pytest.mark.parametrize("which", ["adapter_bytes", "model_bytes"])
def test_flipped_bytes_raise_nothing_but_our_errors(folder: Path, which: str, request: pytest.FixtureRequest) -> None:
    content = request.getfixturevalue(which)
    rng = random.Random(7)
    for _ in range(400):
        broken = bytearray(content)
        end = rng.choice((1500, len(broken)))
        for _ in range(rng.choice((1, 1, 2, 8))):
            broken[rng.randrange(end)] = rng.choice((0, 1, 9, 127, 255))
        use_everything(folder, bytes(broken))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tail=st.binary(max_size=200), counts=st.tuples(st.integers(0, 3), st.integers(0, 3)))
def test_arbitrary_bytes_after_a_good_start_raise_nothing_but_our_errors(
    folder: Path, model_bytes: bytes, tail: bytes, counts: tuple[int, int]
) -> None:
    start = b"GGUF\x03\x00\x00\x00" + b"".join(n.to_bytes(8, "little") for n in counts)
    use_everything(folder, start + tail)
    use_everything(folder, tail)


def test_the_undamaged_files_pass(folder: Path, adapter_bytes: bytes, model_bytes: bytes) -> None:
    assert use_everything(folder, adapter_bytes)
    assert use_everything(folder, model_bytes)
