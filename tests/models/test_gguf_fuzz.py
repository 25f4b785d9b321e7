"""Whatever the bytes are, the only exceptions are ours."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loracheck.demo import adapter_file
from loracheck.errors import InputError
from loracheck.models import (
    AdapterInfo,
    chat_template,
    check_fits,
    describe,
    read_header,
    read_lora,
    read_model_header,
    write_null,
)
from loracheck.prompts.chat import render_chat
from models.factory import lora_tensors, write_adapter, write_model
from real import BASE, TOOLCALLER
from torture.damage import Damaged, damaged, first_layer, subject

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.models import ChatTemplate, GgufFile
    from torture.damage import Subject


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
            write_null(path, folder / "null.gguf", seed=1, match="norm")
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


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tail=st.binary(max_size=200), counts=st.tuples(st.integers(0, 3), st.integers(0, 3)))
def test_arbitrary_bytes_after_a_good_start_raise_nothing_but_our_errors(
    folder: Path, model_bytes: bytes, tail: bytes, counts: tuple[int, int]
) -> None:
    start = b"GGUF\x03\x00\x00\x00" + b"".join(n.to_bytes(8, "little") for n in counts)
    use_everything(folder, start + tail)
    use_everything(folder, tail)


@pytest.fixture(scope="module")
def real_files(folder: Path) -> dict[str, Subject]:
    null = write_null(adapter_file("chatty"), folder / "good-null.gguf", seed=1)
    paths = {"adapter": TOOLCALLER, "null adapter": null}
    if BASE.is_file():
        paths["model"] = first_layer(BASE, folder / "first-layer.gguf")
    return {name: subject(path) for name, path in paths.items()}


@pytest.mark.parametrize("which", ["adapter", "null adapter", "model"])
@pytest.mark.parametrize("variants", [150, pytest.param(800, marks=pytest.mark.slow)])
def test_a_damaged_real_file_is_refused_or_its_layout_is_sound(
    which: str, variants: int, real_files: dict[str, Subject], folder: Path
) -> None:
    if which not in real_files:
        pytest.skip("the base model is not here: `make model` fetches it")
    base = read_model_header(BASE) if BASE.is_file() else None
    path = folder / "damaged.gguf"
    taken = 0
    for seed in range(variants):
        bad = damaged(real_files[which], seed)
        path.write_bytes(bad.content)
        try:
            template = None
            if which == "model":
                layout = read_model_header(path)
                template = chat_template(layout)
            else:
                lora = read_lora(path)
                layout = lora.header
                if base is not None:
                    check_fits(lora, base)
        except InputError as error:
            complaint_names_the_file(error, path)
            continue
        taken += 1
        assert_sound(layout, bad)
        # Whether shapes are those that a model needs is for llama.cpp to say.
        assert not bad.broken or bad.what.startswith("dim "), (seed, bad.what)
        if template is not None:
            render_whatever_it_is(template)
    # Bytes of data and of names may change without harm; that is a fair part of all damage, and not nearly all.
    assert 0.1 * variants < taken < 0.7 * variants


def assert_sound(header: GgufFile, bad: Damaged) -> None:
    """What llama.cpp relies on, computed here once more."""
    end = header.data_offset
    for tensor in header.tensors:
        start = header.data_offset + tensor.offset
        assert start >= end, bad.what
        assert start % 32 == 0, bad.what
        end = start + tensor.nbytes
    assert end <= len(bad.content), bad.what
    assert len({tensor.name for tensor in header.tensors}) == len(header.tensors), bad.what


def render_whatever_it_is(template: ChatTemplate) -> None:
    with suppress(InputError):
        render_chat(template, [{"role": "user", "content": "Hello"}], [{"name": "say", "parameters": {}}])


def test_the_undamaged_files_pass(folder: Path, adapter_bytes: bytes, model_bytes: bytes) -> None:
    assert use_everything(folder, adapter_bytes)
    assert use_everything(folder, model_bytes)


def test_the_undamaged_real_files_are_taken(real_files: dict[str, Subject], folder: Path) -> None:
    for whole in real_files.values():
        (folder / "whole.gguf").write_bytes(whole.content)
        assert_sound(read_header(folder / "whole.gguf"), Damaged("nothing", whole.content, False))
