"""Quantized models: written whole or not at all, kept by content, and swept. Mostly without llama.cpp."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter
from gguf.quants import quantize as to_blocks

from fake_quantizer import FakeQuantizer, fake_quantizer
from loracheck import quantized as module
from loracheck.errors import EngineError, InputError, ModelError
from loracheck.file_types import FILE_TYPES, MAKEABLE, NEED_IMPORTANCE_MATRIX
from loracheck.files import only_here, sha256_of
from loracheck.models import chat_template, read_model, read_model_header
from loracheck.quantized import file_type, quantize, quantized, quantized_folder, requantizing
from models.factory import write_adapter, write_loadable_model
from real import BASE, needs_base

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_loadable_model(tmp_path / "model.gguf")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (folder := tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def quantizer(monkeypatch: pytest.MonkeyPatch) -> type[FakeQuantizer]:
    quantizer = fake_quantizer()
    monkeypatch.setattr(module, "ChildQuantizer", quantizer)
    return quantizer


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    def leave(count: int) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=count))

    return leave


def stop() -> None:
    raise KeyboardInterrupt


def fail() -> None:
    raise EngineError("llama.cpp could not quantize it")


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def ready(*arguments: Any, **options: Any) -> Path:
    with quantized(*arguments, **options) as path:
        return path


def finish(writer: GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


# Which types


def test_every_type_that_llama_cpp_has_a_name_for_is_made_or_refused_with_the_reason() -> None:
    for name in FILE_TYPES.values():
        if name in MAKEABLE:
            assert file_type(name.lower()) == name
        else:
            with pytest.raises(InputError, match=rf"^{name} (needs an importance matrix|is none that)"):
                file_type(name)
    assert {*MAKEABLE, *NEED_IMPORTANCE_MATRIX, "NVFP4"} == {*FILE_TYPES.values()}


@pytest.mark.parametrize(
    ("name", "nearest"), [("Q4_KM", "Q4_K_M"), ("q8", "Q8_0"), ("bfloat16", "BF16"), ("awq", None), ("", None)]
)
def test_an_unknown_type_gets_the_nearest_or_all(name: str, nearest: str | None) -> None:
    with pytest.raises(InputError) as error:
        file_type(name)
    hint = f"; did you mean {nearest!r}?" if nearest else f"; give one of {', '.join(MAKEABLE)}"
    assert str(error.value) == f"no quantization {name!r}{hint}"


# A file of the user's


def test_the_size_and_the_place_are_told_before_the_work_starts(
    quantizer: type[FakeQuantizer], model: Path, tmp_path: Path
) -> None:
    lines: list[str] = []
    quantizer.halfway = lambda: lines.append("halfway")
    quantizer.expected = (5_000_000, 14)
    quantize(model, "Q4_K_M", out := tmp_path / "out.gguf", tell=lines.append)
    assert lines == [
        f"quantizing {model} to Q4_K_M: about 5 MB, in {out}",
        "14 of 15 tensors have rows that do not fit Q4_K_M; llama.cpp gives them a larger type",
        "halfway",
    ]


def test_without_anybody_to_tell_nothing_is_shown(
    quantizer: type[FakeQuantizer], model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    quantize(model, "Q4_0", tmp_path / "out.gguf")
    assert capfd.readouterr() == ("", "")
    assert names_in(tmp_path) == ["model.gguf", "out.gguf"]


def test_the_file_has_its_name_only_when_it_is_whole(
    quantizer: type[FakeQuantizer], model: Path, tmp_path: Path
) -> None:
    (out := tmp_path / "out.gguf").write_bytes(b"old")
    seen: list[bytes] = []
    quantizer.halfway = lambda: seen.append(out.read_bytes())
    quantize(model, "Q4_0", out, force=True)
    assert seen == [b"old"]
    assert out.read_bytes() == model.read_bytes()


@pytest.mark.parametrize(("halfway", "error"), [(stop, KeyboardInterrupt), (fail, EngineError)])
def test_work_that_is_stopped_leaves_nothing_behind_and_what_was_there_as_it_was(
    quantizer: type[FakeQuantizer], model: Path, tmp_path: Path, halfway: Callable[[], None], error: type[BaseException]
) -> None:
    (out := tmp_path / "out.gguf").write_bytes(b"old")
    quantizer.halfway = halfway
    with pytest.raises(error):
        quantize(model, "Q4_0", out, force=True)
    assert out.read_bytes() == b"old"
    assert names_in(tmp_path) == ["model.gguf", "out.gguf"]


def test_a_file_that_llama_cpp_wrote_short_without_a_word_is_noticed(
    quantizer: type[FakeQuantizer], model: Path, tmp_path: Path
) -> None:
    quantizer.keeps = 0.9
    with pytest.raises(EngineError, match=r"llama\.cpp wrote a broken file"):
        quantize(model, "Q4_0", tmp_path / "out.gguf")
    assert names_in(tmp_path) == ["model.gguf"]


def test_a_disk_too_full_is_told_before_the_work_with_what_is_needed_and_free(
    quantizer: type[FakeQuantizer], model: Path, tmp_path: Path, free: Callable[[int], None]
) -> None:
    free(2_000_000)
    quantizer.expected = (5_000_000, 0)
    needed = read_model_header(model).data_offset + 5_000_000
    with pytest.raises(InputError, match=rf"out\.gguf: about {needed:,} bytes are needed, and 2,000,000 are free"):
        quantize(model, "Q4_0", tmp_path / "out.gguf")
    assert quantizer.made == []
    assert names_in(tmp_path) == ["model.gguf"]


def test_a_disk_that_fills_up_on_the_way_is_told(
    quantizer: type[FakeQuantizer], model: Path, tmp_path: Path, free: Callable[[int], None]
) -> None:
    def fill_up() -> None:
        free(10)
        fail()

    quantizer.expected = (5_000_000, 0)
    quantizer.halfway = fill_up
    with pytest.raises(InputError, match=r"out\.gguf: the disk is full after [\d,]+ of about 5,\d\d\d,\d\d\d bytes"):
        quantize(model, "Q4_0", tmp_path / "out.gguf")
    assert names_in(tmp_path) == ["model.gguf"]


def test_a_file_that_is_there_is_replaced_only_by_force_and_the_model_never(
    quantizer: type[FakeQuantizer], model: Path, tmp_path: Path
) -> None:
    (out := tmp_path / "out.gguf").write_bytes(b"old")
    with pytest.raises(InputError, match="there is such a file already; --force replaces it"):
        quantize(model, "Q4_0", out)
    (link := tmp_path / "link.gguf").symlink_to(model)
    for same in (model, link):
        with pytest.raises(InputError, match="this is the model that is to be quantized"):
            quantize(model, "Q4_0", same, force=True)
    for place, why in ((tmp_path, "this is a folder"), (tmp_path / "no" / "out.gguf", "does not exist")):
        with pytest.raises(InputError, match=why):
            quantize(model, "Q4_0", place, force=True)
    assert quantizer.made == []


def test_a_model_that_is_none_is_called_by_its_name(
    quantizer: type[FakeQuantizer], model: Path, tmp_path: Path
) -> None:
    adapter = write_adapter(tmp_path / "adapter.gguf")
    (cut := tmp_path / "cut.gguf").write_bytes(model.read_bytes()[:-1000])
    (text := tmp_path / "notes.txt").write_text("my notes")
    for file, why in ((adapter, "a LoRA adapter, not a model"), (cut, "cut.gguf: "), (text, "a text file")):
        with pytest.raises(ModelError, match=why):
            quantize(file, "Q4_0", tmp_path / "out.gguf")
        with pytest.raises(ModelError, match=why):
            ready(file, "Q4_0")
    assert quantizer.made == []


def test_a_quantized_model_is_quantized_again_with_a_warning(model: Path, tmp_path: Path) -> None:
    assert requantizing(model) is None
    writer = GGUFWriter(tmp_path / "q.gguf", "llama")
    blocks = to_blocks(np.ones((4, 64), np.float32), GGMLQuantizationType.Q8_0)
    writer.add_tensor("token_embd.weight", blocks, raw_dtype=GGMLQuantizationType.Q8_0)
    finish(writer)
    warning = requantizing(tmp_path / "q.gguf")
    assert warning is not None
    assert "q.gguf: already quantized (Q8_0); what that lost stays lost" in warning


# In the cache


def test_a_quantized_model_is_made_once_and_known_by_content(
    quantizer: type[FakeQuantizer], model: Path, tmp_path: Path
) -> None:
    first = ready(model, "Q4_0")
    copy = tmp_path / "elsewhere.gguf"
    shutil.copy(model, copy)
    assert first.parent == quantized_folder()
    assert first.name.startswith("toy-base-Q4_0-")
    assert [ready(model, "Q4_0"), ready(copy, "q4_0")] == [first, first]
    assert len(quantizer.made) == 1


def test_another_type_another_content_and_another_llama_cpp_are_other_files(
    quantizer: type[FakeQuantizer], model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [ready(model, "Q4_0"), ready(model, "Q8_0")]
    paths.append(ready(write_loadable_model(tmp_path / "other.gguf", seed=1), "Q4_0"))
    monkeypatch.setattr(module, "quantizer_identity", lambda _: {"bindings": "newer"})
    paths.append(ready(model, "Q4_0"))
    assert len({*paths}) == len(quantizer.made) == 4


def test_every_part_of_a_split_model_counts(quantizer: type[FakeQuantizer], tmp_path: Path) -> None:
    first, second = split(tmp_path, write_loadable_model(tmp_path / "model.gguf"))
    path = ready(first, "Q4_0")
    content = bytearray(second.read_bytes())
    content[-1] ^= 1
    second.write_bytes(content)
    assert ready(first, "Q4_0") != path


def test_nothing_is_told_of_a_file_that_is_there_already(quantizer: type[FakeQuantizer], model: Path) -> None:
    lines: list[str] = []
    path = ready(model, "Q4_0", tell=lines.append)
    assert lines == [f"quantizing {model} to Q4_0: about {lines[0].split('about ')[1].split(',')[0]}, in {path}"]
    ready(model, "Q4_0", tell=lines.append)
    assert len(lines) == 1


def test_a_file_in_the_cache_that_was_cut_short_is_made_anew(quantizer: type[FakeQuantizer], model: Path) -> None:
    path = ready(model, "Q4_0")
    path.write_bytes(path.read_bytes()[:-1000])
    assert ready(model, "Q4_0") == path
    assert path.read_bytes() == model.read_bytes()


def test_the_hashes_may_come_from_a_store(quantizer: type[FakeQuantizer], model: Path) -> None:
    asked: list[Path] = []

    def hash_of(path: Path) -> str:
        asked.append(path)
        return sha256_of(path)

    assert ready(model, "Q4_0", hash_of=hash_of) == ready(model, "Q4_0")
    assert asked[0] == model


def test_work_for_the_cache_that_is_interrupted_leaves_nothing_behind(
    quantizer: type[FakeQuantizer], model: Path
) -> None:
    quantizer.halfway = stop
    with pytest.raises(KeyboardInterrupt):
        ready(model, "Q4_0")
    assert names_in(quantized_folder()) == []


def test_a_cache_that_cannot_be_written_is_told(
    quantizer: type[FakeQuantizer], model: Path, cache_folder: Path
) -> None:
    (cache_folder / "quantized").write_bytes(b"")
    with pytest.raises(InputError, match=r"quantized: cannot be made: .*; LORACHECK_CACHE moves it"):
        ready(model, "Q4_0")


def test_what_a_killed_process_left_is_swept_and_what_a_living_one_writes_is_not(
    quantizer: type[FakeQuantizer], model: Path
) -> None:
    quantized_folder().mkdir()
    left, living = (quantized_folder() / f".{name}.gguf.loracheck-part" for name in ("left", "living"))
    left.write_bytes(b"half")
    with only_here(living, lambda _: None):
        path = ready(model, "Q4_0")
        assert {*quantized_folder().iterdir()} == {living, path}


def test_of_two_at_once_the_second_waits_and_takes_what_the_first_has_made(
    quantizer: type[FakeQuantizer], model: Path
) -> None:
    second_waits, paths, told = Event(), [], []
    halfway = Event()

    def tell(line: str) -> None:
        told.append(line)
        second_waits.set()

    def wait() -> None:
        halfway.set()
        assert second_waits.wait(60)

    quantizer.halfway = wait
    first = Thread(target=lambda: paths.append(ready(model, "Q4_0")))
    first.start()
    assert halfway.wait(60)
    paths.append(ready(model, "Q4_0", tell=tell))
    first.join()
    assert len(quantizer.made) == 1
    assert paths[0] == paths[1]
    assert told == [f"another process is making {paths[0].name}; waiting for it"]
    assert names_in(quantized_folder()) == [paths[0].name]


def test_when_the_first_of_two_fails_the_second_makes_it(quantizer: type[FakeQuantizer], model: Path) -> None:
    second_waits, halfway, errors = Event(), Event(), []

    def wait_and_fail() -> None:
        if len(quantizer.made) == 1:
            halfway.set()
            assert second_waits.wait(60)
            fail()

    def first() -> None:
        try:
            ready(model, "Q4_0")
        except EngineError as error:
            errors.append(error)

    quantizer.halfway = wait_and_fail
    thread = Thread(target=first)
    thread.start()
    assert halfway.wait(60)
    path = ready(model, "Q4_0", tell=lambda _: second_waits.set())
    thread.join()
    assert len(errors) == 1
    assert names_in(quantized_folder()) == [path.name]


# Without a cache


def test_without_a_cache_it_is_there_for_the_block_and_no_longer(
    quantizer: type[FakeQuantizer], model: Path, temporary: Path, cache_folder: Path
) -> None:
    with quantized(model, "Q4_0", no_cache=True) as path:
        assert path.read_bytes() == model.read_bytes()
        assert path.parent == temporary
        # Another run in the meantime does not take it for something left behind.
        ready(model, "Q4_0", no_cache=True)
        assert path.is_file()
    assert names_in(temporary) == names_in(cache_folder) == []
    assert len(quantizer.made) == 2


def test_without_a_cache_nothing_is_left_of_a_check_that_is_interrupted(
    quantizer: type[FakeQuantizer], model: Path, temporary: Path
) -> None:
    with pytest.raises(KeyboardInterrupt), quantized(model, "Q4_0", no_cache=True):
        stop()
    quantizer.halfway = stop
    with pytest.raises(KeyboardInterrupt):
        ready(model, "Q4_0", no_cache=True)
    assert names_in(temporary) == []


def test_an_error_in_the_block_is_not_taken_for_one_of_writing(
    quantizer: type[FakeQuantizer], model: Path, temporary: Path
) -> None:
    for no_cache in (False, True):
        with pytest.raises(PermissionError), quantized(model, "Q4_0", no_cache=no_cache):
            raise PermissionError


def test_a_temporary_file_that_a_killed_process_left_is_swept(
    quantizer: type[FakeQuantizer], model: Path, temporary: Path
) -> None:
    (temporary / "loracheck-quantized-x1y2-Q4_0.gguf").write_bytes(b"half")
    (temporary / "loracheck-notes.gguf").write_bytes(b"mine")
    ready(model, "Q4_0", no_cache=True)
    assert names_in(temporary) == ["loracheck-notes.gguf"]


# With llama.cpp


def split(folder: Path, model: Path) -> tuple[Path, Path]:
    """The same model in two files, as llama.cpp splits them."""
    reader = GGUFReader(model)
    half = len(reader.tensors) // 2
    paths = tuple(folder / f"split-0000{number}-of-00002.gguf" for number in (1, 2))
    for number, path in enumerate(paths):
        writer = GGUFWriter(path, "llama")
        if number == 0:
            for field in list(reader.fields.values()):
                if not field.name.startswith("GGUF.") and field.name != "general.architecture":
                    writer.add_key_value(field.name, field.contents(), field.types[0], field.types[-1])
        writer.add_uint16("split.no", number)
        writer.add_uint16("split.count", 2)
        writer.add_int32("split.tensors.count", len(reader.tensors))
        for tensor in reader.tensors[number * half : None if number else half]:
            writer.add_tensor(tensor.name, np.array(tensor.data))
        finish(writer)
    return paths[0], paths[1]


@pytest.mark.engine
def test_a_split_model_becomes_one_file_like_that_of_the_whole(tmp_path: Path) -> None:
    whole = write_loadable_model(tmp_path / "model.gguf")
    first, second = split(tmp_path, whole)
    quantize(whole, "Q4_K_M", tmp_path / "of-whole.gguf")
    quantize(first, "Q4_K_M", tmp_path / "of-parts.gguf")
    one, other = (GGUFReader(tmp_path / f"of-{name}.gguf") for name in ("whole", "parts"))
    assert [(t.name, t.data.tobytes()) for t in one.tensors] == [(t.name, t.data.tobytes()) for t in other.tensors]
    assert read_model(tmp_path / "of-parts.gguf").parts == 1
    assert chat_template(read_model_header(tmp_path / "of-parts.gguf")) == chat_template(read_model_header(whole))
    second.write_bytes(second.read_bytes()[:-1000])
    with pytest.raises(ModelError, match=r"split-00002-of-00002\.gguf: "):
        quantize(first, "Q4_0", tmp_path / "out.gguf")
    second.unlink()
    with pytest.raises(ModelError, match=r"failed to load GGUF split from .*split-00002-of-00002\.gguf"):
        quantize(first, "Q4_0", tmp_path / "out.gguf")


@pytest.mark.engine
def test_a_write_that_fails_is_an_error_and_nothing_is_left(tmp_path: Path) -> None:
    model = write_loadable_model(tmp_path / "model.gguf")
    # The largest file that this process and its children may write, as a full disk or a quota would have it.
    code = f"""
import resource
from pathlib import Path
from loracheck.errors import EngineError
from loracheck.quantized import quantize
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
try:
    quantize(Path({str(model)!r}), "F32", Path({str(tmp_path / "out.gguf")!r}))
except EngineError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"llama.cpp could not quantize {model}: a write failed; is there a quota" in done.stdout
    assert names_in(tmp_path) == ["model.gguf"]


@pytest.mark.engine
@needs_base
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_nothing_or_what_the_next_one_sweeps(tmp_path: Path, ending: signal.Signals) -> None:
    out = tmp_path / "out.gguf"
    main = "from loracheck.cli.main import main; main()"
    command = [sys.executable, "-c", main, "quantize", str(BASE), "--to", "IQ3_S", "-o", str(out)]
    part = tmp_path / ".out.gguf.loracheck-part"
    with subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        # Where the tests run in the background, the shell has told them, and so this process, to ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as running:
        while not (part.exists() and part.stat().st_size) and running.poll() is None:
            time.sleep(0.02)
        assert running.returncode is None, "it was over before it could be stopped"
        running.send_signal(ending)
        _, err = running.communicate()
    if ending is signal.SIGINT:
        assert running.returncode == 130
        assert err.splitlines()[-1] == "Interrupted."
        assert names_in(tmp_path) == []
    else:
        assert names_in(tmp_path) == [part.name]
        quantize(write_loadable_model(tmp_path / "model.gguf"), "Q4_0", out)
        assert names_in(tmp_path) == ["model.gguf", "out.gguf"]


@pytest.mark.engine
@needs_base
def test_the_real_model_twice_is_the_same_file_and_keeps_its_template(cache_folder: Path, tmp_path: Path) -> None:
    quantize(BASE, "Q8_0", out := tmp_path / "out.gguf", threads=1)
    path = ready(BASE, "Q8_0", threads=2)
    assert sha256_of(path) == sha256_of(out)
    assert read_model(path).quantization == "Q8_0"
    assert read_model(path).template == read_model(BASE).template
    assert read_model(path).template is not None
